#include "cpu/portable/pack_a64.h"

#include <string.h>
#include "cpu/portable/widen.h"

enum { LINES = 8 }; /* of 32 codes a row */

static size_t size(const ts_matrix *w)
{
    bool ours = w->format == TS_W_MLX && w->group == TS_A64_GROUP && (w->bits == 4 || w->bits == 8);
    return ours ? (size_t)(ts_a64_block(w) * (w->K / TS_A64_GROUP)) : 0;
}

/* 32 bytes of one row, 4 to a line. */
static void spread(const uint8_t *byte, int row, uint8_t *block)
{
    for (int j = 0; j < LINES; j++)
        memcpy(block + TS_A64_LINE * j + 4 * row, byte + 4 * j, 4);
}

static void pack_codes(const ts_matrix *w, int64_t n, int64_t g, int row, uint8_t *block)
{
    const uint8_t *in = (const uint8_t *)w->data + (n * w->K + g * TS_A64_GROUP) * w->bits / 8;
    uint8_t code[TS_A64_GROUP];
    if (w->bits == 8) {
        spread(in, row, block);
        spread(in + TS_A64_GROUP / 2, row, block + LINES * TS_A64_LINE);
        return;
    }
    for (int i = 0; i < TS_A64_GROUP / 2; i++) {
        code[2 * i] = in[i] & 15;
        code[2 * i + 1] = in[i] >> 4;
    }
    for (int i = 0; i < TS_A64_GROUP / 2; i++)
        code[i] = (uint8_t)(code[i] | code[TS_A64_GROUP / 2 + i] << 4);
    spread(code, row, block);
}

static void pack_aux(const ts_matrix *w, int64_t n, int64_t g, int row, uint8_t *aux)
{
    float scale = ts_widen_scale(w, n, g), bias = ts_widen_bias(w, n, g);
    if (w->aux == TS_BF16) {
        uint32_t both = (ts_bits(scale) & 0xffff0000u) | ts_bits(bias) >> 16;
        memcpy(aux + 4 * row, &both, sizeof both);
    } else {
        memcpy(aux + 4 * row, &scale, sizeof scale);
        memcpy(aux + TS_A64_LINE + 4 * row, &bias, sizeof bias);
    }
}

/* Row by row: the file is read in order. */
static void pack_panel(const ts_matrix *w, int64_t panel, uint8_t *to)
{
    int64_t groups = w->K / TS_A64_GROUP, block = ts_a64_block(w), first = panel * TS_A64_ROWS;
    if (w->N - first < TS_A64_ROWS)
        memset(to, 0, (size_t)(block * groups));
    for (int row = 0; row < TS_A64_ROWS && first + row < w->N; row++)
        for (int64_t g = 0; g < groups; g++) {
            pack_codes(w, first + row, g, row, to + g * block);
            pack_aux(w, first + row, g, row, to + g * block + ts_a64_codes(w));
        }
}

static void pack(const ts_matrix *w, int64_t begin, int64_t end, void *to)
{
    for (int64_t i = begin; i < end; i++)
        pack_panel(w, i, (uint8_t *)to + (size_t)i * size(w));
}

const ts_packing ts_pack_a64 = {.name = "a64-16r.1", .rows = TS_A64_ROWS, .size = size, .pack = pack};
