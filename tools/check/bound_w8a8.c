/* Bounds of W8A8. Codes, integer sums and the exact form are the same numbers in either precision. */
#include <stdlib.h>
#include <string.h>

#include "check/bound_op.h"

static void nothing(int64_t n, double *bound)
{
    for (int64_t i = 0; i < n; i++)
        bound[i] = 0;
}

void ts_bound_quantize_w8a8(const ts_quantize_w8a8_args *a, double *bound)
{
    nothing(a->T * a->K, bound);
}

/* An integer sum in f32: rounded beyond 2^24. */
static ts_err integer(int64_t acc)
{
    const double size = fabs((double)acc);
    return (ts_err){(double)acc, size > 0x1p24 ? TS_ERR_U * size : 0};
}

static int64_t sum(const ts_matmul_w8a8_args *a, int64_t t, int64_t n)
{
    int64_t acc = 0;
    for (int64_t k = 0; k < a->K; k++)
        acc += a->code[t * a->K + k] * a->w[n * a->K + k];
    return acc;
}

/* h(acc (sx sw) + bias) */
void ts_bound_matmul_w8a8(const ts_matmul_w8a8_args *a, bool bias, const char *field, double *bound)
{
    nothing(a->T * a->N, bound);
    for (int64_t i = 0; i < a->T * a->N && strcmp(field, "y") == 0; i++) {
        int64_t n = i % a->N;
        ts_err s = ts_err_mul(ts_err_exact((float)a->sx), ts_err_exact(a->sw[n % a->S]));
        ts_err y = ts_err_mul(integer(sum(a, i / a->N, n)), s);
        bound[i] = ts_err_bound(ts_err_f16(bias ? ts_err_add(y, ts_err_exact(a->bias[n])) : y));
    }
}

void ts_bound_matmul_w8a8_unfused(const ts_matmul_w8a8_args *a, double *bound)
{
    nothing(a->T * a->N, bound);
}

/* h(a b); a product that is an f32 number is not rounded before it. */
static ts_err narrow(float a, int8_t b)
{
    const double p = (double)a * (double)b;
    return ts_err_f16((double)(float)p == p ? (ts_err){p, 0} : ts_err_mul(ts_err_exact(a), (ts_err){b, 0}));
}

/* x y, exact in f32 if both are f16 numbers */
static ts_err product(ts_err x, ts_err y)
{
    return x.e == 0 && y.e == 0 ? (ts_err){x.v * y.v, 0} : ts_err_mul(x, y);
}

/* h of a chain of sums of exact products */
void ts_bound_matmul_w8a8_unfused_chain(const ts_matmul_w8a8_args *a, double *bound)
{
    for (int64_t i = 0; i < a->T * a->N; i++) {
        const int64_t t = i / a->N, n = i % a->N;
        ts_err sum = {0, 0};
        for (int64_t k = 0; k < a->K; k++) {
            ts_err x = narrow((float)a->sx, a->code[t * a->K + k]);
            ts_err w = narrow(a->sw[n % a->S], a->w[n * a->K + k]);
            sum = ts_err_add(sum, product(x, w));
        }
        bound[i] = ts_err_bound(ts_err_f16(sum));
    }
}
