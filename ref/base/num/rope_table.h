/* Correctly rounded RoPE tables (docs/contract.md, 4).
 *
 * inv_freq_i = the double nearest to theta^(-2i/R), i = 0..R/2-1
 * angle      = the double product pos * inv_freq_i
 * cos, sin   = of that double angle, correctly rounded to f32 (and, for ref64, to double)
 *
 * These are tables of constants, so ref, fast and devices share them. Computed
 * in double-double arithmetic; no libm accuracy is assumed. */
#ifndef TS_NUM_ROPE_TABLE_H
#define TS_NUM_ROPE_TABLE_H

#include <stdint.h>

/* inv_freq[R/2]. theta > 0, R even, 2 <= R. */
void ts_rope_inv_freq(double theta, int64_t R, double *inv_freq);

/* One row of R/2 entries for position pos (0 <= pos < 2^24). */
void ts_rope_row_f32(const double *inv_freq, int64_t R, int64_t pos, float *c, float *s);
void ts_rope_row_f64(const double *inv_freq, int64_t R, int64_t pos, double *c, double *s);

#endif
