#include "keys.h"

enum { TILE = 64 };

/* s = (q . k_j) scale, a chain over the channels */
static ts_real score(const ts_attention_args *a, const ts_keys *x, int64_t j)
{
    ts_real s = 0, k[TS_LANES];
    int64_t at = ts_kv_index(&a->kv, a->Hkv, a->D, j, x->kh);
    for (int64_t c = 0; c < a->D; c += TS_LANES) {
        int64_t n = ts_piece(a->D - c, TS_LANES);
        ts_kv_read(&a->kv, a->kv.k, at + c, n, k);
        for (int64_t i = 0; i < n; i++)
            s = ts_fma(x->q[c + i], k[i], s);
    }
    return s * (ts_real)a->scale;
}

/* Keys lo .. hi-1, within one tile, join the row: o and S are scaled if there is a new maximum. */
static void join(const ts_attention_args *a, const ts_keys *x, int64_t lo, int64_t hi, ts_real *M, ts_real *S)
{
    ts_real m = *M, w[TILE];
    double sum = 0;
    for (int64_t j = lo; j < hi; j++) {
        w[j % TILE] = score(a, x, j);
        m = w[j % TILE] > m ? w[j % TILE] : m;
    }
    if (m > *M) {
        ts_real r = ts_exp(*M - m);
        for (int64_t c = 0; c < a->D; c++)
            x->o[c] = x->o[c] * r;
        *S = *S * r;
    }
    *M = m;
    for (int64_t j = lo; j < hi; j++) {
        w[j % TILE] = ts_exp(w[j % TILE] - m);
        sum += (double)w[j % TILE];
    }
    *S = *S + (ts_real)sum;
    for (int64_t j = lo; j < hi; j++)
        ts_keys_gather(a, x, w[j % TILE], j, NULL);
}

static void row(const ts_attention_args *a, int64_t t, int64_t h)
{
    const ts_keys x = ts_keys_of(a, t, h);
    ts_real M = -(ts_real)INFINITY, S = 0;
    for (int64_t j = x.lo, next; j < x.hi; j = next) {
        next = ts_piece(x.hi, (j / TILE + 1) * TILE);
        join(a, &x, j, next, &M, &S);
    }
    const ts_real inverse = S == 0 ? 0 : 1 / S;
    for (int64_t c = 0; c < a->D; c++)
        x.o[c] = x.o[c] * inverse;
}

/* llama.cpp's flash attention on the CPU over an f16 cache for 64 rows and more: keys in tiles of 64 (64p ..
 * 64p+63), q and the weights not rounded. Per tile: M' = max(M, max s); if it grew: r = exp(M - M'), o = o r, S = S
 * r; w_j = exp(s_j - M'), S = S + fl(sum w), o = o + sum_j w_j v_j; at the end o (1 / S). Shapes, keys seen and
 * heads as attention; the inner tensors are not exposed. Rounded: one fma per channel of s (ascending), the product
 * with scale, the difference, exp, o r, S r, the sum of a tile's weights once (ascending in double), the sum with
 * S, one fma per key of o, 1 / S, the product with it. No key: +0. Source: ggml,
 * ggml_compute_forward_flash_attn_ext_tiled. */
void ts_attention_tiled_ggml(const ts_attention_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hq; h++)
            row(a, t, h);
}
