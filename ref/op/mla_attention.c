#include "mla.h"
#include "op.h"

/* s = ([q_nope | q_rope] . [k_nope | kr_j]) scale in order dot32, k_nope_i = latent_j . w row i of head h, itself
 * rounded as matmul_dot32 rounds it */
static ts_real score(const void *args, int64_t t, int64_t h, int64_t j)
{
    const ts_mla_args *a = args;
    int64_t D = a->Dn + a->Dr;
    const ts_real *q = a->q + (t * a->H + h) * D;
    ts_real lane[TS_LANES] = {0}, k[TS_LANES];
    for (int64_t c = 0; c < D; c += TS_LANES) {
        int64_t n = ts_piece(D - c, TS_LANES);
        for (int64_t i = 0; i < n; i++)
            if (c + i < a->Dn)
                k[i] = ts_mla_expand(a, j, h * (a->Dn + a->Dv) + c + i);
            else
                ts_kv_read(&a->kv, a->kv.k, ts_mla_row(a, j) + a->R + c + i - a->Dn, 1, &k[i]);
        ts_lanes_fma(lane, q + c, k, n);
    }
    return ts_lanes_sum(lane) * (ts_real)a->scale;
}

/* v_jc = latent_j . w row Dn + c of head h */
static void value(const void *args, int64_t h, int64_t j, int64_t c0, int64_t n, ts_real *v)
{
    const ts_mla_args *a = args;
    for (int64_t c = 0; c < n; c++)
        v[c] = ts_mla_expand(a, j, h * (a->Dn + a->Dv) + a->Dn + c0 + c);
}

/* Multi-head latent attention as its definition has it (DeepSeek-V2, arXiv 2405.04434, 2.1; Kimi Linear, arXiv
 * 2510.26692): keys and values of every head are made from the latent row of a token,
 *
 *   k_j = [W_k latent_j | kr_j],  v_j = W_v latent_j,  o = softmax(q k^T scale) v, causal,
 *
 * and the softmax is split128's. kr, the part of the key that all heads share, and the last Dr channels of q come
 * as they are: a model that rotates them does so before, Kimi Linear does not.
 *
 * q [T,H,Dn+Dr]; w [H*(Dn+Dv),R], of each head Dn rows for keys, then Dv for values; kv.k one row [latent R | kr
 * Dr] a token, kv.v unused; o [T,H,Dv]; inner m, l [T,H,parts], acc [T,H,parts,Dv]. Rounded: every element of k
 * and v as a dot32 of widened weights, then as in attention. */
void ts_mla_attention(const ts_mla_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->H; h++) {
            ts_split_row r = {.args = a, .t = t, .h = h, .D = a->Dv, .exp = ts_exp, .score = score, .value = value};
            ts_mla_attend(a, &r, a->o);
        }
}
