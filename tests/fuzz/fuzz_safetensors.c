/* Every byte of every tensor of an accepted file is there to be read. */
#include <string.h>

#include "format/safetensors.h"
#include "fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[TS_INPUT_PATH];
    ts_safetensors *f;
    ts_error err;
    ts_input_file(data, size, path);
    if (ts_safetensors_open(path, &f, &err))
        return 0;
    size_t whole, covered = 0;
    const unsigned char *bytes = ts_safetensors_bytes(f, &whole);
    volatile unsigned char sink = 0;
    for (size_t i = 0; i < ts_safetensors_count(f); i++) {
        const ts_tensor *t = ts_safetensors_at(f, i);
        const unsigned char *p = t->data;
        if (t->size && (p < bytes || t->size > whole || (size_t)(p - bytes) > whole - t->size))
            __builtin_trap();
        for (size_t k = 0; k < t->size; k++)
            sink = (unsigned char)(sink ^ p[k]);
        covered += t->size;
        if (ts_safetensors_find(f, t->name) != t)
            __builtin_trap();
    }
    if (whole != size || covered > whole || memcmp(bytes, data, size) != 0)
        __builtin_trap();
    ts_safetensors_meta(f, "order");
    ts_safetensors_close(f);
    return 0;
}
