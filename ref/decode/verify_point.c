/* A draft as a point mass: ratio with q_i = 1 at d_i, that is, kept with probability p_i(d_i), else the final token
 * is drawn from p_i without d_i. Lossless however d was chosen, if only the choice did not see u. */
#include "verify_parts.h"

ts_status ts_verify_point(const ts_verify_input *in, ts_round_verdict *out, ts_error *err)
{
    ts_distribution q[TS_MAX_DRAFT];
    int32_t id[TS_MAX_DRAFT];
    double one = 1.0;
    for (int i = 0; i < in->k && i < TS_MAX_DRAFT; i++) {
        id[i] = in->draft[i];
        q[i] = (ts_distribution){.id = &id[i], .weight = &one, .n = 1, .total = 1.0};
    }
    ts_verify_input points = *in;
    points.q = q;
    return ts_verify_ratio(&points, out, err);
}
