/* What a forward pass over T rows shows of its inside, in the engine's reals. */
#ifndef TS_TRACE_TAPS_H
#define TS_TRACE_TAPS_H

#include <stdint.h>

typedef struct {
    int64_t n;            /* layers whose output is wanted */
    const int64_t *layer; /* [n], from 0 */
    void *stream;         /* [T][n*C] the residual stream after each of them, side by side */
    void *hidden;         /* [T][C] after the final norm, or NULL */
} ts_taps;

#endif
