#include "keys.h"

enum { WINDOW = 256 };

/* What the matrix unit takes of a number: bf16, or f16 for a cache of f16. */
static ts_real operand(const ts_attention_args *a, ts_real x)
{
    return a->kv.dtype == TS_KV_F16 ? ts_round_f16(x) : ts_round_bf16(x);
}

/* One chain over the channels, ascending: 16 a step, each step's sum the next one's accumulator */
static ts_real score(const ts_attention_args *a, const ts_keys *x, int64_t j)
{
    ts_real s = 0, k[TS_LANES];
    int64_t at = ts_kv_index(&a->kv, a->Hkv, a->D, j, x->kh);
    for (int64_t c = 0; c < a->D; c += TS_LANES) {
        int64_t n = ts_piece(a->D - c, TS_LANES);
        ts_kv_read(&a->kv, a->kv.k, at + c, n, k);
        for (int64_t i = 0; i < n; i++)
            s = ts_fma(operand(a, x->q[c + i]), k[i], s);
    }
    return s * (ts_real)a->scale;
}

/* o = o alpha + sum_j p_j v_j over the keys lo .. hi-1 of a window, p already an operand */
static void gather(const ts_attention_args *a, const ts_keys *x, int64_t lo, int64_t hi, const ts_real *p,
                   ts_real alpha)
{
    ts_real v[TS_LANES], sum[TS_LANES];
    for (int64_t c = 0; c < a->D; c += TS_LANES) {
        int64_t n = ts_piece(a->D - c, TS_LANES);
        for (int64_t i = 0; i < n; i++)
            sum[i] = 0;
        for (int64_t j = lo; j < hi; j++) {
            ts_kv_read(&a->kv, a->kv.v, ts_kv_index(&a->kv, a->Hkv, a->D, j, x->kh) + c, n, v);
            for (int64_t i = 0; i < n; i++)
                sum[i] = ts_fma(p[j - lo], v[i], sum[i]);
        }
        for (int64_t i = 0; i < n; i++)
            x->o[c + i] = ts_fma(x->o[c + i], alpha, sum[i]);
    }
}

/* Keys lo .. hi-1 of one window join the running maximum M and denominator L. */
static void window(const ts_attention_args *a, const ts_keys *x, int64_t lo, int64_t hi, ts_real *M, ts_real *L)
{
    ts_real p[WINDOW], m = *M, sum = 0;
    for (int64_t j = lo; j < hi; j++) {
        p[j - lo] = score(a, x, j);
        m = p[j - lo] > m ? p[j - lo] : m;
    }
    ts_real alpha = ts_exp(*M - m);
    for (int64_t j = lo; j < hi; j++) {
        ts_real w = ts_exp(p[j - lo] - m);
        sum = sum + w;
        p[j - lo] = operand(a, w);
    }
    *M = m;
    *L = ts_fma(*L, alpha, sum);
    gather(a, x, lo, hi, p, alpha);
}

/* Attention of a matrix unit that multiplies 16-bit operands and adds in f32, keys in windows of 256 at multiples
 * of 256, ascending, h = operand (round_bf16, or round_f16 for a cache of f16), per window s_j = (h(q) . k_j)
 * scale,  m = max(M, s_j),  alpha = exp(M - m),  w_j = exp(s_j - m) L = L alpha + sum_j w_j,   O = O alpha + sum_j
 * h(w_j) v_j,   M = m;      at the end o = O / L The denominator has the weights as they are, the values meet them
 * rounded. A step of the unit is d = c + 16 products, one fma each, ascending (what silicon does inside a step is
 * not documented: this is the definition, and steps of 16 in a row are one chain). A window without keys, and
 * masked keys, are absent.
 *
 * Shapes, keys seen and heads as attention, a pool of bf16 or f16; the inner tensors are not exposed. Rounded:
 * h(q), every fma of the chain from +0, the product with scale, M - m, s - m, exp, every sum of w from +0, the fma
 * of L, h(w), every fma of the values from +0, the fma of O, the quotient. No key: +0. Source: the prefill of the
 * R9700 engine LSE, tiles of 16 rows and windows of 256 keys (described in its notes; the order inside is this
 * project's). */
void ts_attention_wmma(const ts_attention_args *a)
{
    for (int64_t i = 0; i < a->T * a->Hq; i++) {
        const ts_keys x = ts_keys_of(a, i / a->Hq, i % a->Hq);
        ts_real M = -(ts_real)INFINITY, L = 0;
        for (int64_t j = x.lo, next; j < x.hi; j = next) {
            next = ts_piece(x.hi, (j / WINDOW + 1) * WINDOW);
            window(a, &x, j, next, &M, &L);
        }
        for (int64_t c = 0; c < a->D && L != 0; c++)
            x.o[c] = x.o[c] / L;
    }
}
