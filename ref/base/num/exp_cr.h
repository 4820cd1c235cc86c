/* exp(x) rounded once to f32, the same bits with any libm (docs/contract.md, section 4): of the sampler and
 * replays. */
#ifndef TS_NUM_EXP_CR_H
#define TS_NUM_EXP_CR_H

/* The double before its rounding: within 0.6 ulp of exp(x) where the f32 is neither 0 nor infinite. */
double ts_exp_unrounded(float x);
float ts_exp_cr(float x);

#endif
