/* What the verifiers share. */
#ifndef TS_DECODE_VERIFY_PARTS_H
#define TS_DECODE_VERIFY_PARTS_H

#include "verifier.h"

/* Checks the input, and the laws q if they are used, and empties *out. */
ts_status ts_verify_begin(const ts_verify_input *in, bool with_q, ts_round_verdict *out, ts_error *err);

/* accept (the purpose given) and residual numbers of draft i = 1..k, both taken whether needed or not. */
ts_status ts_verify_uniforms(const ts_verify_input *in, int i, uint32_t purpose, double *accept, double *residual,
                             ts_error *err);

/* max(scale p - q, 0) in p's order, ids borrowed from p, weight malloc'd; may be all zero. */
ts_status ts_verify_rest(const ts_distribution *p, const ts_distribution *q, double scale, ts_distribution *out,
                         ts_error *err);
/* final ~ max(scale p - q, 0) in p's order; ~ p where that is all zero, which only rounding makes. */
ts_status ts_verify_residual(const ts_distribution *p, const ts_distribution *q, double scale, double u,
                             ts_round_verdict *out, ts_error *err);
/* final ~ row k, with the number of plain sampling there. */
ts_status ts_verify_bonus(const ts_verify_input *in, ts_round_verdict *out, ts_error *err);

void ts_verify_slack(double distance, ts_round_verdict *out);
/* min_margin of rows 0..a. */
void ts_verify_margin(const ts_verify_input *in, ts_round_verdict *out);

#endif
