/* Made by `make exhaustive` from golden/own/exhaustive.json: the largest distance of ref32 from the
 * true value over all inputs, in ulp, rounded up. */
#ifndef TS_TOOLS_CHECK_ULP_H
#define TS_TOOLS_CHECK_ULP_H

#define TS_ULP_EXP 1.0129
#define TS_ULP_EXP2 1.1819
#define TS_ULP_SOFTPLUS 0.7903

#endif
