#include "lanes.h"
#include "op.h"

/* sum_i x_i S_ij in order dot32, one column of the state. x [Dk] */
static ts_real column_dot(const ts_real *x, const ts_real *S, int64_t Dk, int64_t Dv, int64_t j)
{
    ts_real lane[TS_LANES] = {0}, s[TS_LANES];
    for (int64_t i = 0; i < Dk; i += TS_LANES) {
        int64_t n = ts_piece(Dk - i, TS_LANES);
        for (int64_t l = 0; l < n; l++)
            s[l] = S[(i + l) * Dv + j];
        ts_lanes_fma(lane, s, x + i, n);
    }
    return ts_lanes_sum(lane);
}

/* Token t, value head h. */
static void step(const ts_gdn_args *a, int64_t t, int64_t h)
{
    const int64_t kh = h / (a->Hv / a->Hk), Dk = a->Dk, Dv = a->Dv;
    const ts_real *q = a->q + (t * a->Hk + kh) * Dk, *k = a->k + (t * a->Hk + kh) * Dk;
    const ts_real *v = a->v + (t * a->Hv + h) * Dv;
    ts_real *S = a->state + h * Dk * Dv, *o = a->o + (t * a->Hv + h) * Dv;
    const ts_real decay = ts_exp(a->g[t * a->Hv + h]), beta = a->beta[t * a->Hv + h];
    for (int64_t i = 0; i < Dk * Dv; i++)
        S[i] *= decay;
    for (int64_t j = 0; j < Dv; j++) {
        ts_real d = (v[j] - column_dot(k, S, Dk, Dv, j)) * beta;
        for (int64_t i = 0; i < Dk; i++)
            S[i * Dv + j] = ts_fma(d, k[i], S[i * Dv + j]);
        o[j] = column_dot(q, S, Dk, Dv, j);
    }
}

/* gdn_step as ggml orders it: the dots over the key channels are those of a vector, here in order dot32 (ggml's
 * lanes follow the build's vector width). Equations, shapes and the rest of the roundings: as gdn_step.
 * Source: ggml, ggml_compute_forward_gated_delta_net_one_chunk. */
void ts_gdn_step_ggml(const ts_gdn_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hv; h++)
            step(a, t, h);
}
