#include "case/table.h"

#include "format/byte_map.h"
#include "num/coef.h"
#include "num/dtype.h"
#include "num/generate.h"

static const ts_table tables[] = {
    {"ts_coef_log2e", &ts_coef_log2e, sizeof ts_coef_log2e},
    {"ts_coef_ln2", ts_coef_ln2, sizeof ts_coef_ln2},
    {"ts_coef_exp", ts_coef_exp, sizeof ts_coef_exp},
    {"ts_coef_exp_range", ts_coef_exp_range, sizeof ts_coef_exp_range},
    {"ts_coef_atanh", ts_coef_atanh, sizeof ts_coef_atanh},
    {"ts_coef_softplus", ts_coef_softplus, sizeof ts_coef_softplus},
    {"ts_coef_exp_cr_inv_ln2", &ts_coef_exp_cr_inv_ln2, sizeof ts_coef_exp_cr_inv_ln2},
    {"ts_coef_exp_cr_ln2", ts_coef_exp_cr_ln2, sizeof ts_coef_exp_cr_ln2},
    {"ts_coef_exp_cr", ts_coef_exp_cr, sizeof ts_coef_exp_cr},
    {"ts_coef_rope_ln2", ts_coef_rope_ln2, sizeof ts_coef_rope_ln2},
    {"ts_coef_half_pi", ts_coef_half_pi, sizeof ts_coef_half_pi},
    {"ts_coef_philox_multiplier", ts_coef_philox_multiplier, sizeof ts_coef_philox_multiplier},
    {"ts_coef_philox_weyl", ts_coef_philox_weyl, sizeof ts_coef_philox_weyl},
    {"ts_generate_special", ts_generate_special, sizeof ts_generate_special},
    {"ts_dtype_table", ts_dtype_table, sizeof ts_dtype_table},
    {"ts_byte_map", ts_byte_map, sizeof ts_byte_map},
};

const ts_table *ts_table_at(size_t i)
{
    return i < sizeof tables / sizeof *tables ? &tables[i] : NULL;
}
