/* BOUND: how far ref32 may be from ref64p, computed for the very input, from
 * the roundings the contract declares and nothing else (docs/contract.md, 6).
 * No tolerance is chosen by hand. */
#ifndef TS_TOOLS_CHECK_BOUND_H
#define TS_TOOLS_CHECK_BOUND_H

#include <stdbool.h>
#include "case/op.h"
#include "num/status.h"

/* Fills bound[ts_field_count] for the output `field` of op: bound[i] >= |ref32 - ref64p| at element i,
 * where ref64p is the double evaluation on these same f32 inputs and codes. Never NaN. 0: the two are equal
 * or of one class (copies; inf, NaN). +inf: f32 may overflow on the way to that element, so nothing can be
 * said of it. For int8 codes, 0 or 1.
 *
 * args: the f32 struct; only its inputs are read. state: the contents of the field `state` before the
 * call (conv1d, gdn_*), else NULL.
 * A recurrence is bounded from ref32's own state: gdn_step takes T = 1, gdn_chunk64 rows of one chunk; the caller
 * replays a sequence piece by piece. More is TS_USAGE, as is a field that is no output. */
ts_status ts_bound(ts_op_id op, const void *args, const float *state, const char *field, double *bound,
                   ts_error *err);

/* The verdict of one element: both NaN, equal, or within the bound. */
bool ts_bound_holds(double x, double ref, double bound);

#endif
