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

const double ts_coef_exp_cr_inv_ln2 = 0x1.71547652b82fep+0;
const double ts_coef_exp_cr_ln2[2] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
const double ts_coef_exp_cr[TS_EXP_CR_LAST + 1] = {
    1.0 / 1,       1.0 / 1,        1.0 / 2,         1.0 / 6,          1.0 / 24,
    1.0 / 120,     1.0 / 720,      1.0 / 5040,      1.0 / 40320,      1.0 / 362880,
    1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200,
};

const double ts_coef_rope_ln2[3] = {0x1.62e42fefa2p-1, 0x1.9ef35793c6p-41, 0x1.673007e5ed5e8p-81};
const double ts_coef_half_pi[3] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};

const uint32_t ts_coef_philox_multiplier[2] = {0xd2511f53, 0xcd9e8d57};
const uint32_t ts_coef_philox_weyl[2] = {0x9e3779b9, 0xbb67ae85};

const uint64_t ts_coef_splitmix[3] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb};
const uint64_t ts_coef_lse_salt[3] = {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0};
