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

/* As other engines make them, pair i of a row; each rounded to f32 once.
 * hf:   freq_i = fl(1 / fl(theta^(2i/R))), of the angle fl(pos freq_i); cos and sin then rounded to bf16.
 * ggml: freq_i = fl(theta^(-2/R)) for every i, of the angle pos times that, i times, each product rounded. */
void ts_rope_freq_hf(double theta, int64_t R, double *freq);
void ts_rope_freq_ggml(double theta, int64_t R, double *freq);
void ts_rope_pair_hf(const double *freq, int64_t i, int64_t pos, float *c, float *s);
void ts_rope_pair_ggml(const double *freq, int64_t i, int64_t pos, float *c, float *s);

#endif
