#include "sweep/function.h"

#include <math.h>
#include <string.h>
#include "num/exp_cr.h"
#include "num/convert.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

/* The threshold at 20 is not part of the truth: it costs less than 0.002 ulp. */
static double softplus(double x)
{
    return isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double itself(double x)
{
    return x;
}

static void mpfr_exponential(mpfr_t y, const mpfr_t x)
{
    mpfr_exp(y, x, MPFR_RNDN);
}

static void mpfr_power_of_two(mpfr_t y, const mpfr_t x)
{
    mpfr_exp2(y, x, MPFR_RNDN);
}

/* y = numerator / (1 + exp(-x)) */
static void over_one_plus_exp(mpfr_t y, const mpfr_t numerator, const mpfr_t x)
{
    mpfr_neg(y, x, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_add_ui(y, y, 1, MPFR_RNDN);
    mpfr_div(y, numerator, y, MPFR_RNDN);
}

static void mpfr_sigmoid(mpfr_t y, const mpfr_t x)
{
    mpfr_t one;
    mpfr_init2(one, 2);
    mpfr_set_ui(one, 1, MPFR_RNDN);
    over_one_plus_exp(y, one, x);
    mpfr_clear(one);
}

static void mpfr_silu(mpfr_t y, const mpfr_t x)
{
    over_one_plus_exp(y, x, x);
}

static void mpfr_softplus(mpfr_t y, const mpfr_t x)
{
    mpfr_abs(y, x, MPFR_RNDN);
    mpfr_neg(y, y, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_log1p(y, y, MPFR_RNDN);
    if (mpfr_nan_p(x) || mpfr_sgn(x) > 0)
        mpfr_add(y, y, x, MPFR_RNDN);
}

/* Not mpfr_rec_sqrt: 1 / sqrt(-0) is -inf. */
static void mpfr_rsqrt(mpfr_t y, const mpfr_t x)
{
    mpfr_sqrt(y, x, MPFR_RNDN);
    mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

static void mpfr_itself(mpfr_t y, const mpfr_t x)
{
    mpfr_set(y, x, MPFR_RNDN);
}

static void exp_cr(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = ts_exp_cr(x[i]);
}

static void to_bf16(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = ts_bf16_to_f32(ts_f32_to_bf16(x[i]));
}

static void to_f16(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = ts_f16_to_f32(ts_f32_to_f16(x[i]));
}

#define F32           \
    {                 \
        24, -126, 127 \
    }
#define ALL (-INFINITY)

static const ts_sweep_function table[] = {
    {"exp", TS_OP_EXP, NULL, exp, mpfr_exponential, F32, 1, ALL},
    {"exp2", TS_OP_EXP2, NULL, exp2, mpfr_power_of_two, F32, 1, ALL},
    {"sigmoid", TS_OP_SIGMOID, NULL, sigmoid, mpfr_sigmoid, F32, 2, -88.72f},
    {"silu", TS_OP_SILU, NULL, silu, mpfr_silu, F32, 2, -88.72f},
    {"softplus", TS_OP_SOFTPLUS, NULL, softplus, mpfr_softplus, F32, 1, ALL},
    {"rsqrt", TS_OP_RSQRT, NULL, rsqrt, mpfr_rsqrt, F32, 1, ALL},
    {"exp_cr", TS_OP_COUNT, exp_cr, exp, mpfr_exponential, F32, 0, ALL},
    {"f32_to_bf16", TS_OP_COUNT, to_bf16, itself, mpfr_itself, {8, -126, 127}, 0, ALL},
    {"f32_to_f16", TS_OP_COUNT, to_f16, itself, mpfr_itself, {11, -14, 15}, 0, ALL},
};

const ts_sweep_function *ts_sweep_at(int i)
{
    return i >= 0 && (size_t)i < sizeof table / sizeof *table ? &table[i] : NULL;
}

const ts_sweep_function *ts_sweep_find(const char *name)
{
    for (int i = 0; ts_sweep_at(i); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}
