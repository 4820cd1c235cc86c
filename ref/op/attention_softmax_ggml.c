#include "keys.h"

static ts_real score(const ts_attention_args *a, const ts_keys *x, int64_t j)
{
    return ts_keys_dot(a, x, j, ts_round_f16) * (ts_real)a->scale;
}

/* Scores are evaluated three times, so that nothing of the length of the context is kept. */
static void row(const ts_attention_args *a, int64_t t, int64_t h)
{
    const ts_keys x = ts_keys_of(a, t, h);
    ts_real m = -(ts_real)INFINITY;
    double l = 0;
    for (int64_t j = x.lo; j < x.hi; j++) {
        ts_real s = score(a, &x, j);
        m = s > m ? s : m;
    }
    for (int64_t j = x.lo; j < x.hi; j++)
        l += (double)ts_exp(score(a, &x, j) - m);
    const ts_real inverse = (ts_real)(1 / l);
    for (int64_t j = x.lo; j < x.hi; j++)
        ts_keys_gather(a, &x, ts_round_f16(ts_exp(score(a, &x, j) - m) * inverse), j, NULL);
}

/* llama.cpp's attention without flash attention (MUL_MAT, SOFT_MAX, MUL_MAT), f16 = round_f16: s_j = (f16(q) . k_j)
 * scale, p_j = f16(exp(s_j - max s) / sum_j exp(s_j - max s)), o = sum_j p_j v_j: what multiplies an f16 cache is
 * rounded to f16. Shapes, keys seen and heads as attention; the inner tensors are not exposed. Rounded: f16(q),
 * dot32, the product with scale, s - max, exp, the sum of weights (ascending in double) once as its reciprocal, the
 * product with that and f16, one fma per key of o (keys ascending). No key: +0.
 * Source: ggml, ggml_compute_forward_soft_max_f32 and the activation type of F16 weights. */
void ts_attention_softmax_ggml(const ts_attention_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hq; h++)
            row(a, t, h);
}
