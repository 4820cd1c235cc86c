#include "gdn_column.h"
#include "lanes.h"

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

/* gdn_step as ggml orders it: the dots over the key channels are those of a vector, here in order dot32 (ggml's
 * lanes follow the build's vector width). Equations, shapes and the rest of the roundings: as gdn_step.
 * Source: ggml, ggml_compute_forward_gated_delta_net_one_chunk. */
void ts_gdn_step_ggml(const ts_gdn_args *a)
{
    ts_gdn_columns(a, column_dot, ts_exp);
}
