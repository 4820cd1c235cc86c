#include "keys.h"

static void row(const ts_attention_args *a, int64_t t, int64_t h)
{
    const ts_keys x = ts_keys_of(a, t, h);
    ts_real M = -(ts_real)INFINITY, S = 0;
    for (int64_t j = x.lo; j < x.hi; j++) {
        ts_real s = ts_keys_dot(a, &x, j, ts_round_f16) * (ts_real)a->scale, r = 1, w = 1;
        if (s > M) {
            r = ts_exp(M - s);
            M = s;
            for (int64_t c = 0; c < a->D; c++)
                x.o[c] = ts_round_f16(x.o[c] * r);
        } else {
            w = ts_exp(s - M);
        }
        ts_keys_gather(a, &x, w, j, ts_round_f16);
        S = ts_fma(S, r, w);
    }
    const ts_real inverse = S == 0 ? 0 : 1 / S;
    for (int64_t c = 0; c < a->D; c++)
        x.o[c] = x.o[c] * inverse;
}

/* llama.cpp's flash attention on the CPU over an f16 cache, rows one by one (it does so for less than 64 rows),
 * f16 = round_f16; keys ascending, M the maximum so far:
 *   s_j = (f16(q) . k_j) scale;  a new maximum: r = exp(M - s_j), w = 1, o = f16(o r), M = s_j
 *                                otherwise:     r = 1, w = exp(s_j - M)
 *   o = f16(o + w v_j),  S = S r + w;  at the end o (1 / S)
 * The running output is f16 throughout. Shapes, keys seen and heads as attention; the inner tensors are not
 * exposed. Rounded: f16(q), dot32, the product with scale, the difference, exp, o r, the fma of o and of S, 1 / S,
 * the product with it. No key: +0. Source: ggml, ggml_compute_forward_flash_attn_ext_f16_one_chunk. From 512 cells
 * of cache on ggml cuts the keys of one row among its threads; that is not replayed. */
void ts_attention_flash_ggml(const ts_attention_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hq; h++)
            row(a, t, h);
}
