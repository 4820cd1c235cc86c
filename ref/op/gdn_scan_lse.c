#include "gdn_column.h"
#include "lse.h"

/* Half of the key channels, first .. last-1: partial sum x takes every fourth of them, then (P0 + P1) + (P2 + P3).
 */
static ts_real half_dot(const ts_real *x, const ts_real *S, int64_t first, int64_t last, int64_t Dv, int64_t j)
{
    ts_real P[4] = {0};
    for (int64_t i = first; i < last; i++)
        P[(i - first) % 4] = ts_fma(S[i * Dv + j], x[i], P[(i - first) % 4]);
    return (P[0] + P[1]) + (P[2] + P[3]);
}

/* Two lanes a row of LSE's state, half of the key channels each (of an odd number the first has one more). */
static ts_real column_dot(const ts_real *x, const ts_real *S, int64_t Dk, int64_t Dv, int64_t j)
{
    const int64_t half = (Dk + 1) / 2;
    return half_dot(x, S, 0, half, Dv, j) + half_dot(x, S, half, Dk, Dv, j);
}

/* gdn_step in LSE's row-scan form, which v0.5.4 and later run for 16 rows and more: the dots over key channels are
 * four chains in each of two lanes. Equations, shapes and the rest of the roundings: as gdn_step_lse. The engine
 * fills its last block of 16 tokens with steps of decay 1 and beta 0, which leave a state as it is but for the sign
 * of a zero: that is not replayed. It has 128 key channels; other numbers are cut likewise. */
void ts_gdn_scan_lse(const ts_gdn_args *a)
{
    ts_gdn_columns(a, column_dot, ts_lse_exp);
}
