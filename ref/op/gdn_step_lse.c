#include "gdn_column.h"
#include "lse.h"

/* sum_i x_i S_ij: lane l takes i = l, l+32, ..., the butterfly has masks 1, 2, 4, 8, 16. x [Dk] */
static ts_real column_dot(const ts_real *x, const ts_real *S, int64_t Dk, int64_t Dv, int64_t j)
{
    ts_real lane[TS_LANES] = {0};
    for (int64_t i = 0; i < Dk; i++)
        lane[i % TS_LANES] = ts_fma(S[i * Dv + j], x[i], lane[i % TS_LANES]);
    return ts_butterfly(lane, TS_LANES);
}

/* gdn_step in LSE's wave form: the dots over key channels run in the 32 lanes of a wave. Equations, shapes and the
 * rest of the roundings: as gdn_step. */
void ts_gdn_step_lse(const ts_gdn_args *a)
{
    ts_gdn_columns(a, column_dot, ts_lse_exp);
}
