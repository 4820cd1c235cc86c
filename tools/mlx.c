#include "mlx.h"

#include <stdlib.h>
#include <string.h>

#include "num/convert.h"

ts_mlx_encoder *ts_mlx_encoder_find(const char *name)
{
    if (strcmp(name, "mlx-cpu") == 0)
        return ts_ref32.mlx_encode;
    if (strcmp(name, "mlx-metal") == 0)
        return ts_ref32.mlx_encode_metal;
    return strcmp(name, "lse") == 0 ? ts_ref32.lse_encode : NULL;
}

void ts_mlx_pack(const uint8_t *code, int64_t K, int bits, uint32_t *word)
{
    memset(word, 0, (size_t)(K * bits / 32) * sizeof *word);
    for (int64_t k = 0; k < K; k++) {
        int64_t bit = k * bits;
        uint64_t two = (uint64_t)code[k] << (bit % 32);
        word[bit / 32] |= (uint32_t)two;
        if (two >> 32)
            word[bit / 32 + 1] |= (uint32_t)(two >> 32);
    }
}

static void widen_row(const ts_matrix *w, int64_t n, float *row)
{
    for (int64_t i = n * w->K, k = 0; k < w->K; i++, k++)
        row[k] = w->format == TS_W_F32    ? ((const float *)w->data)[i]
                 : w->format == TS_W_BF16 ? ts_bf16_to_f32(((const uint16_t *)w->data)[i])
                                          : ts_f16_to_f32(((const uint16_t *)w->data)[i]);
}

/* Rounds to bf16; false if a value is or becomes infinite or NaN. */
static bool narrow(const float *x, int64_t n, uint16_t *y)
{
    bool finite = true;
    for (int64_t i = 0; i < n; i++) {
        y[i] = ts_f32_to_bf16(x[i]);
        finite &= (y[i] & 0x7f80) != 0x7f80;
    }
    return finite;
}

int64_t ts_mlx_quantize(ts_mlx_encoder *encode, const ts_matrix *w, int bits, int group, uint32_t *words,
                        uint16_t *scales, uint16_t *biases)
{
    int64_t groups = w->K / group, bad = -1;
    float *row = malloc((size_t)w->K * sizeof *row), *scale = malloc((size_t)groups * 2 * sizeof *scale);
    uint8_t *code = malloc((size_t)w->K);
    if (!row || !scale || !code)
        bad = -2;
    for (int64_t n = 0; n < w->N && bad == -1; n++) {
        widen_row(w, n, row);
        encode(row, w->K, bits, group, code, scale, scale + groups);
        ts_mlx_pack(code, w->K, bits, words + n * (w->K * bits / 32));
        if (!narrow(scale, groups, scales + n * groups) || !narrow(scale + groups, groups, biases + n * groups))
            bad = n;
    }
    free(row);
    free(scale);
    free(code);
    return bad;
}
