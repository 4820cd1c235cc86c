/* Start-up canaries: is this binary's arithmetic the one the contract assumes?
 * Round to nearest, no flush to zero, no denormals-are-zero, fmaf fused, and
 * a*b+c not contracted by the compiler. */
#ifndef TS_NUM_CANARY_H
#define TS_NUM_CANARY_H

#include "num/status.h"

ts_status ts_canaries(ts_error *err);

#endif
