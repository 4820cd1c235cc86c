/* Every byte of every tensor and every value of an accepted file is there to be read; what reads them as a config
 * or as a tokenizer survives them. */
#include <stdlib.h>

#include "config/gguf_config.h"
#include "format/gguf.h"
#include "format/tokenizer.h"
#include "fuzz/input.h"

static volatile double sink;

static void read_values(const ts_gguf *g)
{
    for (size_t i = 0; i < ts_gguf_values(g); i++) {
        const ts_gguf_value *v = ts_gguf_value_at(g, i);
        const unsigned char *at = v->data;
        if (ts_gguf_get(g, v->key) != v)
            __builtin_trap();
        for (uint64_t k = 0; k < v->count; k++) {
            size_t n = 0;
            const char *text = v->kind == TS_GGUF_STRING ? ts_gguf_text(&at, &n) : NULL;
            sink = text == NULL ? ts_gguf_number(v, k) : n == 0 ? 0 : text[0] + text[n - 1];
        }
    }
}

static void read_tensors(const ts_gguf *g)
{
    size_t whole;
    const unsigned char *bytes = ts_gguf_bytes(g, &whole);
    for (size_t i = 0; i < ts_gguf_count(g); i++) {
        const ts_tensor *t = ts_gguf_at(g, i);
        const unsigned char *p = t->data;
        if (t->size && (p < bytes || t->size > whole || (size_t)(p - bytes) > whole - t->size))
            __builtin_trap();
        for (size_t k = 0; k < t->size; k++)
            sink = p[k];
        if (ts_gguf_find(g, t->name) != t)
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[TS_INPUT_PATH];
    ts_gguf *g;
    cJSON *config;
    ts_tokenizer *t;
    ts_error err;
    ts_input_file(data, size, path);
    if (ts_gguf_open(path, &g, &err))
        return 0;
    read_values(g);
    read_tensors(g);
    if (ts_gguf_config(g, &config, &err) == TS_OK)
        cJSON_Delete(config);
    if (ts_gguf_dflash_config(g, &(ts_config){.V = 97}, &config, &err) == TS_OK)
        cJSON_Delete(config);
    ts_gguf_close(g);
    if (ts_tokenizer_open(path, &t, &err) == TS_OK)
        ts_tokenizer_close(t);
    return 0;
}
