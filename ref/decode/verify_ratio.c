/* Speculative sampling (Leviathan et al. 2211.17192, Chen et al. 2302.01318):
 *
 *   for i = 1..k:  keep d_i iff u_i q_i(d_i) < p_i(d_i), else a = i - 1 and final ~ max(p_i - q_i, 0) / sum
 *   all kept:      a = k, final ~ p_{k+1}
 *
 * u in [0,1) and "<" never keep a token with p = 0. The probability of keeping is sum_x min(p, q). Quotients weight
 * / total and the product are double. The residual runs in the target's order. */
#include <math.h>

#include "verify_parts.h"

ts_status ts_verify_ratio(const ts_verify_input *in, ts_round_verdict *out, ts_error *err)
{
    double residual = 0.0;
    bool kept = true;
    ts_status status = ts_verify_begin(in, true, out, err);
    while (status == TS_OK && kept && out->a < in->k) {
        int i = out->tested++;
        status = ts_verify_uniforms(in, i + 1, TS_DRAW_ACCEPT, &out->u[i], &residual, err);
        out->p_d[i] = ts_probability(&in->p[i], in->draft[i]);
        double scaled = out->u[i] * out->q_d[i];
        ts_verify_slack(fabs(scaled - out->p_d[i]), out);
        kept = scaled < out->p_d[i];
        out->a += kept;
    }
    if (status != TS_OK)
        return status;
    ts_verify_margin(in, out);
    if (kept)
        return ts_verify_bonus(in, out, err);
    return ts_verify_residual(&in->p[out->a], &in->q[out->a], 1.0, residual, out, err);
}
