/* An accepted order names every tensor of the file, once. */
#include <stdlib.h>

#include "fuzz/input.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[TS_INPUT_PATH];
    ts_safetensors *f;
    const char **names;
    size_t n;
    ts_error err;
    ts_input_file(data, size, path);
    if (ts_safetensors_open(path, &f, &err))
        return 0;
    if (ts_trace_order(f, &names, &n, &err) == TS_OK) {
        if (n != ts_safetensors_count(f))
            __builtin_trap();
        for (size_t i = 0; i < n; i++)
            if (!ts_safetensors_find(f, names[i]))
                __builtin_trap();
        free(names);
    }
    ts_safetensors_close(f);
    return 0;
}
