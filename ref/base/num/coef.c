#include "num/coef.h"

const float ts_coef_log2e = 0x1.715476p+0f;
const float ts_coef_ln2[2] = {0x1.62e400p-1f, 0x1.7f7d1cp-20f};

/* (exp(r) - 1 - r) / r^2 on |r| <= ln2/2: the Cephes minimax set. */
const float ts_coef_exp[6] = {
    0x1.a0d2cep-13f, 0x1.6e879cp-10f, 0x1.111210p-7f, 0x1.555382p-5f, 0x1.555554p-3f, 0x1p-1f,
};
const float ts_coef_exp_range[2] = {-104.0f, 0x1.633334p+6f};

/* (atanh(s)/s - 1) / z, z = s^2 in [0, 1/9]: interpolated at the Chebyshev nodes,
 * relative error of the whole function below 1.1e-9. */
const float ts_coef_atanh[5] = {
    0x1.dba57ap-4f, 0x1.bc8c5ep-4f, 0x1.24c92cp-3f, 0x1.9998d4p-3f, 0x1.555556p-2f,
};
const float ts_coef_softplus[2] = {20.0f, -15.0f};
