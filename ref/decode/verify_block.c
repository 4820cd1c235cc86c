/* Block verification (Sun et al. 2403.10444): prefixes are judged as a whole, and more of them are kept.
 *
 *   P_0 = 1;  P_i = min(P_{i-1} p_i(d_i) / q_i(d_i), 1)
 *   R_i = sum_x max(P_i p_{i+1}(x) - q_{i+1}(x), 0);  h_i = R_i / (R_i + 1 - P_i) for i < k,  h_k = P_k
 *   a = max { i : u_i < h_i }, 0 if there is none; all i are tested
 *   a < k: final ~ max(P_a p_{a+1} - q_{a+1}, 0);  a = k: final ~ p_{k+1}
 *
 * Published with u <= h; "<" never keeps at h = 0, and is the same law. 0/0, where P_i = 1 and p_{i+1} = q_{i+1},
 * is taken as 0: P_{i+1} is then 1 as well, so that some longer prefix is kept with certainty. */
#include <math.h>

#include "verify_parts.h"

/* R_i / (R_i + 1 - P) for the laws of the next position. */
static double threshold(const ts_distribution *p, const ts_distribution *q, double P)
{
    double R = 0.0;
    for (int64_t x = 0; x < p->n; x++)
        R += fmax(P * (p->weight[x] / p->total) - ts_probability(q, p->id[x]), 0.0);
    return R > 0.0 ? R / (R + 1.0 - P) : 0.0;
}

ts_status ts_verify_block(const ts_verify_input *in, ts_verdict *out, ts_error *err)
{
    double P = 1.0, P_a = 1.0, residual[TS_MAX_DRAFT] = {0.0};
    ts_status status = ts_verify_begin(in, true, out, err);
    for (int i = 1; status == TS_OK && i <= in->k; i++) {
        status = ts_verify_uniforms(in, i, &out->u[i - 1], &residual[i - 1], err);
        out->p_d[i - 1] = ts_probability(&in->p[i - 1], in->draft[i - 1]);
        P = fmin(P * out->p_d[i - 1] / out->q_d[i - 1], 1.0);
        double h = i < in->k ? threshold(&in->p[i], &in->q[i], P) : P;
        ts_verify_slack(fabs(out->u[i - 1] - h), out);
        if (out->u[i - 1] < h) {
            out->a = i;
            P_a = P;
        }
        out->tested = i;
    }
    if (status != TS_OK)
        return status;
    ts_verify_margin(in, out);
    if (out->a == in->k)
        return ts_verify_bonus(in, out, err);
    return ts_verify_residual(&in->p[out->a], &in->q[out->a], P_a, residual[out->a], out, err);
}
