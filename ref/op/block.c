#include "block.h"

#include <string.h>

#include "op.h"

static const ts_block_codec *const codecs[] = {&ts_q4_0,   &ts_q4_1,   &ts_q5_0, &ts_q5_1, &ts_q8_0,
                                               &ts_q8_1,   &ts_q4_k,   &ts_q5_k, &ts_q6_k, &ts_q8_k,
                                               &ts_iq4_nl, &ts_iq4_xs, &ts_mxfp4};

const ts_block_codec *ts_block_codec_of(ts_weight_format format)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i]->format == format)
            return codecs[i];
    return NULL;
}

/* n values of a row: n a multiple of the block's. */
void ts_block_decode(ts_weight_format format, const uint8_t *row, int64_t n, void *x)
{
    const ts_block_codec *c = ts_block_codec_of(format);
    const ts_ggml_type *type = ts_block_type(format);
    for (int64_t i = 0; i < n / type->elements; i++)
        c->decode(row + i * type->bytes, (ts_real *)x + i * type->elements);
}

void ts_block_encode(ts_weight_format format, ts_block_rule rule, const float *x, int64_t n, uint8_t *row)
{
    const ts_block_codec *c = ts_block_codec_of(format);
    const ts_ggml_type *type = ts_block_type(format);
    void (*encode)(const float *, uint8_t *) = c->encode;
    if (rule == TS_BLOCK_FILE && c->encode_file)
        encode = c->encode_file;
    if (rule == TS_BLOCK_X86 && format == TS_W_Q8_0)
        encode = ts_q8_0_encode_x86;
    if (rule == TS_BLOCK_X86 && format == TS_W_Q8_1)
        encode = ts_q8_1_encode_x86;
    for (int64_t i = 0; i < n / type->elements; i++)
        encode(x + i * type->elements, row + i * type->bytes);
}

void ts_block_dot(ts_weight_format format, const uint8_t *w, const uint8_t *a, int64_t n, void *y)
{
    ts_real dot = ts_block_codec_of(format)->dot(w, a, n / ts_block_type(format)->elements);
    memcpy(y, &dot, sizeof dot);
}
