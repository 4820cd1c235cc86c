/* philox4x32-10 (Salmon et al., SC11): the one source of randomness.
 * Counter based, so any draw can be replayed alone. */
#ifndef TS_NUM_PHILOX_H
#define TS_NUM_PHILOX_H

#include <stdint.h>

void ts_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* What a draw is for; never reuse a purpose (docs/contract.md, sampler). */
enum { TS_DRAW_SAMPLE = 0, TS_DRAW_DRAFT = 1, TS_DRAW_ACCEPT = 2, TS_DRAW_RESIDUAL = 3, TS_DRAW_INPUT = 16, TS_DRAW_SYNTH = 17 };

/* Uniform in [0,1) with 53 bits: key = seed, counter = (position lo, position hi, purpose, 0),
 * u = ((x0<<32|x1)>>11) * 2^-53. */
double ts_uniform(uint64_t seed, uint64_t position, uint32_t purpose);

#endif
