/* exp(x) rounded once to f32, the same bits with any libm (docs/contract.md, sampling). */
#ifndef TS_DECODE_EXP_CR_H
#define TS_DECODE_EXP_CR_H

float ts_exp_cr(float x);

#endif
