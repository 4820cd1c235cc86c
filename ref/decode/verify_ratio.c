/* Speculative sampling (Leviathan et al. 2211.17192, Chen et al. 2302.01318):
 *
 *   for i = 1..k:  keep d_i iff u_i q_i(d_i) < p_i(d_i), else a = i - 1 and final ~ max(p_i - q_i, 0) / sum
 *   all kept:      a = k, final ~ p_{k+1}
 *
 * u in [0,1) and "<" never keep a token with p = 0. The probability of keeping is sum_x min(p, q). Quotients weight
 * / total and the product are double. The residual runs in the target's order. */
#include <math.h>

#include "verify_parts.h"

/* Draft i + 1; *residual is the number of the final token if it is not kept. */
static ts_status judge(const ts_verify_input *in, int i, double *residual, ts_round_verdict *out, ts_error *err)
{
    double u = 0.0;
    ts_status status = ts_verify_uniforms(in, i + 1, TS_DRAW_ACCEPT, &u, residual, err);
    if (status != TS_OK)
        return status;
    double scaled = u * out->q_d[i];
    out->u[i] = u;
    out->p_d[i] = ts_probability(&in->p[i], in->draft[i]);
    out->tested++;
    ts_verify_slack(fabs(scaled - out->p_d[i]), out);
    out->a += scaled < out->p_d[i];
    return TS_OK;
}

ts_status ts_verify_ratio(const ts_verify_input *in, ts_round_verdict *out, ts_error *err)
{
    double residual = 0.0;
    ts_status status = ts_verify_begin(in, true, out, err);
    for (int i = 0; status == TS_OK && i < in->k && i == out->a; i++)
        status = judge(in, i, &residual, out, err);
    if (status != TS_OK)
        return status;
    ts_verify_margin(in, out);
    if (out->a == in->k)
        return ts_verify_bonus(in, out, err);
    return ts_verify_residual(&in->p[out->a], &in->q[out->a], 1.0, residual, out, err);
}
