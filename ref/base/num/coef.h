/* Coefficient tables of the elementary functions. The sequences that use them
 * are written down in docs/contract.md, and coded once in ref/op, once in fast.
 *
 * exp(x):   n = rint(x*log2e), r = x - n*ln2 (two fma), exp(r) = 1 + r + r^2 P(r)
 * softplus: log1p(e) = 2 atanh(e/(2+e)) = 2 (s + s z Q(z)), s = e/(2+e), z = s^2 */
#ifndef TS_NUM_COEF_H
#define TS_NUM_COEF_H

#include <stdint.h>

extern const float ts_coef_log2e;
extern const float ts_coef_ln2[2];       /* hi, lo: hi has trailing zeros, n*hi is exact */
extern const float ts_coef_exp[6];       /* P, highest power first */
extern const float ts_coef_exp_range[2]; /* below: +0; above: +inf */
extern const float ts_coef_atanh[5];     /* Q, highest power first */
extern const float ts_coef_softplus[2];  /* above [0]: x itself; below [1]: two-term log1p */

/* exp in double, rounded once to f32 (the sampler's exp_cr). */
enum { TS_EXP_CR_LAST = 14 };
extern const double ts_coef_exp_cr_inv_ln2;
extern const double ts_coef_exp_cr_ln2[2];              /* hi, lo */
extern const double ts_coef_exp_cr[TS_EXP_CR_LAST + 1]; /* 1/i! */

/* RoPE tables in double-double: non-overlapping parts. The first two parts of ln 2 have 40 bits, so that
 * their products with |k| < 2^13 are exact. */
extern const double ts_coef_rope_ln2[3], ts_coef_half_pi[3];

/* philox4x32: the constants of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3". */
extern const uint32_t ts_coef_philox_multiplier[2], ts_coef_philox_weyl[2];

/* splitmix64: Weyl step and the two multipliers of its mix (Steele, Lea, Flood 2014). Profile `lse` salts its seed for
 * draft, accept and residual with the first 192 bits of pi's fraction. */
extern const uint64_t ts_coef_splitmix[3], ts_coef_lse_salt[3];

#endif
