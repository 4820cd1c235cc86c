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
#include <stdlib.h>

#include "verify_parts.h"

/* R / (R + 1 - P) for the laws of the next position. */
static ts_status threshold(const ts_distribution *p, const ts_distribution *q, double P, double *h, ts_error *err)
{
    ts_distribution rest;
    ts_status status = ts_verify_rest(p, q, P, &rest, err);
    if (status != TS_OK)
        return status;
    *h = rest.total > 0.0 ? rest.total / (rest.total + 1.0 - P) : 0.0;
    free(rest.weight);
    return TS_OK;
}

/* Prefix i = 1..k: its P from the one before, and whether u_i keeps it. */
static ts_status judge(const ts_verify_input *in, int i, double *P, ts_round_verdict *out, ts_error *err)
{
    int d = i - 1;
    out->p_d[d] = ts_probability(&in->p[d], in->draft[d]);
    *P = fmin(*P * out->p_d[d] / out->q_d[d], 1.0);
    double h = *P;
    ts_status status = i < in->k ? threshold(&in->p[i], &in->q[i], *P, &h, err) : TS_OK;
    if (status != TS_OK)
        return status;
    ts_verify_slack(fabs(out->u[d] - h), out);
    out->tested = i;
    if (out->u[d] < h)
        out->a = i;
    return TS_OK;
}

ts_status ts_verify_block(const ts_verify_input *in, ts_round_verdict *out, ts_error *err)
{
    double P = 1.0, P_a = 1.0, residual[TS_MAX_DRAFT] = {0.0};
    ts_status status = ts_verify_begin(in, true, out, err);
    for (int i = 1; status == TS_OK && i <= in->k; i++) {
        status = ts_verify_uniforms(in, i, ts_draw_in_block(TS_DRAW_ACCEPT, i), &out->u[i - 1], &residual[i - 1],
                                    err);
        if (status == TS_OK)
            status = judge(in, i, &P, out, err);
        P_a = out->a == i ? P : P_a;
    }
    if (status != TS_OK)
        return status;
    ts_verify_margin(in, out);
    if (out->a == in->k)
        return ts_verify_bonus(in, out, err);
    return ts_verify_residual(&in->p[out->a], &in->q[out->a], P_a, residual[out->a], out, err);
}
