/* Where the random numbers of a round come from: counters, a record, or the streams of another engine. */
#ifndef TS_DECODE_UNIFORMS_H
#define TS_DECODE_UNIFORMS_H

#include <stdint.h>
#include "num/philox.h"
#include "num/status.h"

/* The number in [0,1) for the token at `position` and that purpose (TS_DRAW_SAMPLE for plain and bonus tokens,
 * DRAFT, ACCEPT, RESIDUAL). A verifier asks for accept and residual of every position it tests, needed or not, in
 * order. */
typedef struct {
    ts_status (*draw)(void *ctx, uint64_t position, uint32_t purpose, double *u, ts_error *err);
    void *ctx;
} ts_uniforms;

/* Block verification lets the numbers of positions behind the final token decide, and the next round decides these
 * positions anew. Its draft i and the acceptance of it take numbers of their own: this purpose instead. (The ratio
 * test never looks behind the final token, so that a position's number can serve the round that reaches it.) */
uint32_t ts_draw_in_block(uint32_t purpose, int i);

/* philox by (position, purpose): no order, no state; *seed must outlive it. The default. */
ts_uniforms ts_uniforms_philox(const uint64_t *seed);

/* A recorded round: u[i] is the number that decided the draft of position first + i (of its acceptance, or for
 * match of the draw), final_u the residual's or the bonus's. TS_BAD for what the record has not, and for a number
 * outside [0,1). */
typedef struct {
    uint64_t first; /* position of draft 1: n + 1 */
    const double *u;
    int n_u;
    const double *final_u; /* NULL: not recorded */
} ts_recorded_uniforms;

ts_uniforms ts_uniforms_recorded(ts_recorded_uniforms *record);

/* Profile `lse`: three splitmix64 streams, position ignored; a number is consumed by every call, and the bonus
 * takes the residual stream's. */
typedef struct {
    uint64_t draft, accept, residual; /* states */
} ts_lse_streams;

ts_lse_streams ts_lse_streams_of(uint64_t seed);
ts_uniforms ts_uniforms_lse(ts_lse_streams *streams);

#endif
