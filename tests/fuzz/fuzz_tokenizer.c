/* What is accepted encodes any text, and decodes to ids' bytes. The file itself
 * is the text: it holds every token of its own vocabulary. */
#include <stdlib.h>

#include "format/tokenizer.h"
#include "fuzz/input.h"

static void encode(const ts_tokenizer *t, const char *text, size_t size)
{
    int32_t *ids = NULL;
    size_t n = 0, bytes;
    ts_error err;
    if (ts_tokenizer_encode(t, text, size, &ids, &n, &err))
        return;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= ts_tokenizer_size(t) || !ts_tokenizer_bytes(t, ids[i], &bytes))
            __builtin_trap();
    free(ids);
}

static void stream(const char *bytes, size_t size)
{
    ts_utf8_stream s = {{0}, 0};
    char *out = malloc(3 * size + 8);
    if (!out)
        return;
    size_t n = 0, half = size / 2;
    n += ts_utf8_push(&s, bytes, half, out);
    n += ts_utf8_push(&s, bytes + half, size - half, out + n);
    ts_utf8_flush(&s, out + n);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[TS_INPUT_PATH];
    ts_tokenizer *t;
    ts_error err;
    size_t text = size < 4096 ? size : 4096;
    ts_input_file(data, size, path);
    stream((const char *)data, text);
    if (ts_tokenizer_open(path, &t, &err))
        return 0;
    encode(t, (const char *)data, text);
    encode(t, "a\xcc\x81 <|im_start|>\n1234  b", 24);
    ts_tokenizer_find(t, "<|im_start|>");
    ts_tokenizer_close(t);
    return 0;
}
