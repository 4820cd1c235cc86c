/* A config that is accepted has only sizes that the loaders may multiply. */
#include "config/config.h"
#include "fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[TS_INPUT_PATH];
    ts_config c;
    ts_error err;
    ts_input_file(data, size, path);
    if (ts_config_load_file(path, &c, &err))
        return 0;
    if (c.layers < 1 || c.layers > TS_MAX_LAYERS || c.n_stop < 0 || c.n_stop > TS_MAX_STOPS || c.R > c.D ||
        c.V < 1 || c.C < 1 || c.I < 1)
        __builtin_trap();
    for (int i = 0; i < c.n_stop; i++)
        if (!ts_config_is_stop(&c, c.stop[i]))
            __builtin_trap();
    return 0;
}
