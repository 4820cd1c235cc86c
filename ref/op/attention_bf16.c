#include "keys.h"

/* m(m(q . k_j) scale), m = round_bf16 */
static ts_real score(const ts_attention_args *a, const ts_keys *x, int64_t j)
{
    return ts_round_bf16(ts_round_bf16(ts_keys_dot(a, x, j, NULL)) * (ts_real)a->scale);
}

/* Scores are evaluated three times (for the maximum, the sum and the weights), so that nothing of the length of the
 * context is kept. */
static void row(const ts_attention_args *a, int64_t t, int64_t h)
{
    const ts_keys x = ts_keys_of(a, t, h);
    ts_real m = -(ts_real)INFINITY, l = 0;
    for (int64_t j = x.lo; j < x.hi; j++) {
        ts_real s = score(a, &x, j);
        m = s > m ? s : m;
    }
    for (int64_t j = x.lo; j < x.hi; j++)
        l = l + ts_exp(score(a, &x, j) - m);
    for (int64_t j = x.lo; j < x.hi; j++)
        ts_keys_gather(a, &x, ts_round_bf16(ts_exp(score(a, &x, j) - m) / l), j, NULL);
}

/* Eager attention of torch in bf16, m = round_bf16: s_j = m(m(q . k_j) scale), p_j = m(exp(s_j - max s) / sum_j
 * exp(s_j - max s)), o = sum_j p_j v_j. Shapes, keys seen and heads as attention; the inner tensors are not
 * exposed. Rounded: dot32 and m, the product with scale and m, s - max, exp, every sum of l (keys ascending, from
 * +0), the quotient and m, one fma per key of o. No key: +0. Source: transformers 5.17, eager_attention_forward. */
void ts_attention_bf16(const ts_attention_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hq; h++)
            row(a, t, h);
}
