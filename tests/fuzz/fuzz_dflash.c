/* A drafter's config that is accepted has only sizes that the loader may multiply, and reads layers that there are.
 */
#include "config/draft.h"
#include "fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ts_config target = {.V = 2048, .C = 256, .layers = 8, .max_positions = 32768};
    char path[TS_INPUT_PATH];
    ts_config c;
    ts_error err;
    ts_input_file(data, size, path);
    if (ts_config_load_dflash(path, &target, &c, &err))
        return 0;
    const ts_dflash_config *d = &c.dflash;
    if (c.layers < 1 || c.layers > TS_MAX_LAYERS || c.R != c.D || c.R % 2 != 0 || c.Hq % c.Hkv != 0 ||
        d->taps < 1 || d->block < 2 || d->block > TS_MOST_BLOCK || d->mask < 0 || d->mask >= c.V)
        __builtin_trap();
    if (d->slots > 0 && (d->conv_taps < 1 || d->conv_group < 1 || c.C % d->conv_group != 0 || d->rank < 1))
        __builtin_trap();
    for (int64_t i = 0; i < d->taps; i++)
        if (d->tap[i] < 0 || d->tap[i] >= target.layers)
            __builtin_trap();
    return 0;
}
