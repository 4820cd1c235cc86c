/* Bounds of what reads a weight matrix, and of the A64 activation codec. */
#include <string.h>

#include "check/bound_op.h"
#include "num/convert.h"

/* Element i of an array in a floating dtype: widening is exact. */
static ts_err widened(const void *data, ts_dtype dtype, int64_t i)
{
    if (dtype == TS_F32)
        return ts_err_exact(((const float *)data)[i]);
    uint16_t h = ((const uint16_t *)data)[i];
    return ts_err_exact(dtype == TS_BF16 ? ts_bf16_to_f32(h) : ts_f16_to_f32(h));
}

/* Weight (n,k): exact, or for MLX the one rounding of fma(scale, code, bias). */
static ts_err weight(const ts_matrix *w, int64_t n, int64_t k)
{
    static const ts_dtype dtype[] = {[TS_W_BF16] = TS_BF16, [TS_W_F16] = TS_F16, [TS_W_F32] = TS_F32};
    if (w->format != TS_W_MLX)
        return widened(w->data, dtype[w->format], n * w->K + k);
    int64_t group = n * (w->K / w->group) + k / w->group;
    ts_err code = ts_err_exact((float)ts_mlx_code(w, n, k));
    return ts_err_fma(widened(w->scales, w->aux, group), code, widened(w->biases, w->aux, group));
}

void ts_bound_embed(const ts_embed_args *a, double *bound)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t c = 0; c < a->C; c++)
            bound[t * a->C + c] = ts_err_bound(weight(a->w, a->id[t], c));
}

void ts_bound_matmul_dot32(const ts_matmul_args *a, double *bound)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            ts_err_dot32 d = {0};
            for (int64_t k = 0; k < a->K; k++)
                ts_err_dot32_term(&d, k, ts_err_exact(a->x[t * a->K + k]), weight(a->w, n, k));
            bound[t * a->N + n] = ts_err_bound(ts_err_dot32_sum(&d));
        }
}

/* max |x| over a run, NaN ignored: exact */
static float run_amax(const float *x)
{
    float amax = 0;
    for (int i = 0; i < 64; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    return amax;
}

static ts_err run_step(const float *x)
{
    return ts_err_mul(ts_err_exact(run_amax(x)), ts_err_exact(0x1.020408p-7f));
}

/* Four slices of 16, each ascending from its first element, then ascending. */
static ts_err run_sum(const float *x)
{
    ts_err total = {0, 0};
    for (int i = 0; i < 64; i += 16) {
        ts_err s = ts_err_exact(x[i]);
        for (int j = 1; j < 16; j++)
            s = ts_err_add(s, ts_err_exact(x[i + j]));
        total = i == 0 ? s : ts_err_add(total, s);
    }
    return total;
}

/* The code may differ by one where the product is within its error of a half-integer, only there. */
static double code_bound(float x, float amax)
{
    ts_err inv = ts_err_div(ts_err_exact(127), ts_err_exact(fmaxf(amax, 1e-30f)));
    ts_err c = ts_err_mul(ts_err_exact(x), inv);
    if (!isfinite(c.v))
        return 0;
    return fabs(c.v - floor(c.v) - 0.5) <= ts_err_bound(c) ? 1 : 0;
}

void ts_bound_quantize_a64(const ts_quantize_a64_args *a, const char *field, double *bound)
{
    for (int64_t run = 0; run < a->T * (a->K / 64); run++) {
        const float *x = a->x + run * 64;
        if (strcmp(field, "step") == 0)
            bound[run] = ts_err_bound(run_step(x));
        else if (strcmp(field, "sum") == 0)
            bound[run] = ts_err_bound(run_sum(x));
        else
            for (int i = 0; i < 64; i++)
                bound[run * 64 + i] = code_bound(x[i], run_amax(x));
    }
}

/* o = fma(b, sum, fma(s step, D, o)) over groups first .. end-1 of row t and output n; D is exact. */
static ts_err slice(const ts_matmul_a64s8_args *a, int64_t t, int64_t n, int64_t first, int64_t end)
{
    int64_t G = a->K / 64;
    ts_err o = {0, 0};
    for (int64_t g = first; g < end; g++) {
        int32_t dot = 0;
        for (int64_t k = g * 64; k < g * 64 + 64; k++)
            dot += (int32_t)ts_mlx_code(a->w, n, k) * a->code[t * a->K + k];
        ts_err s = widened(a->w->scales, a->w->aux, n * G + g), b = widened(a->w->biases, a->w->aux, n * G + g);
        ts_err step = ts_err_exact(a->step[t * G + g]), sum = ts_err_exact(a->sum[t * G + g]);
        o = ts_err_fma(b, sum, ts_err_fma(ts_err_mul(s, step), (ts_err){dot, 0}, o));
    }
    return o;
}

void ts_bound_matmul_a64s8(const ts_matmul_a64s8_args *a, double *bound)
{
    int64_t G = a->K / 64, S = G >= 8 ? 8 : G >= 4 ? 4 : G >= 2 ? 2 : 1;
    for (int64_t i = 0; i < a->T * a->N; i++) {
        ts_err o[8];
        for (int64_t z = 0; z < S; z++)
            o[z] = slice(a, i / a->N, i % a->N, z * G / S, (z + 1) * G / S);
        for (int64_t half = 1; half < S; half *= 2)
            for (int64_t z = 0; z < S; z += 2 * half)
                o[z] = ts_err_add(o[z], o[z + half]);
        bound[i] = ts_err_bound(o[0]);
    }
}
