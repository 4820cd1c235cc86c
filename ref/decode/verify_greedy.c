/* Greedy verification: t_j = first entry of row j, the largest logit and of equals the lowest id;
 *
 *   a = length of the longest prefix with d_i == t_{i-1};  final = t_a
 *
 * No random number. */
#include "verify_parts.h"

ts_status ts_verify_greedy(const ts_verify_input *in, ts_round_verdict *out, ts_error *err)
{
    ts_status status = ts_verify_begin(in, false, out, err);
    if (status != TS_OK)
        return status;
    while (out->a < in->k && in->draft[out->a] == in->p[out->a].id[0])
        out->a++;
    out->final = in->p[out->a].id[0];
    ts_verify_margin(in, out);
    return TS_OK;
}
