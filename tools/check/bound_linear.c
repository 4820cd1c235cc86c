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

ts_err ts_err_mlx_scale(const ts_matrix *w, int64_t n, int64_t group)
{
    return widened(w->scales, w->aux, n * (w->K / w->group) + group);
}

ts_err ts_err_mlx_bias(const ts_matrix *w, int64_t n, int64_t group)
{
    return widened(w->biases, w->aux, n * (w->K / w->group) + group);
}

/* Weight (n,k): exact, or for MLX the one rounding of fma(scale, code, bias). */
ts_err ts_err_weight(const ts_matrix *w, int64_t n, int64_t k)
{
    static const ts_dtype dtype[] = {[TS_W_BF16] = TS_BF16, [TS_W_F16] = TS_F16, [TS_W_F32] = TS_F32};
    if (ts_matrix_has_blocks(w))
        return ts_err_block_weight(w, n, k);
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
            bound[t * a->C + c] = ts_err_bound(ts_err_weight(a->w, a->id[t], c));
}

void ts_bound_matmul_dot32(const ts_matmul_args *a, double *bound)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            ts_err_dot32 d = {0};
            for (int64_t k = 0; k < a->K; k++)
                ts_err_dot32_term(&d, k, ts_err_exact(a->x[t * a->K + k]), ts_err_weight(a->w, n, k));
            bound[t * a->N + n] = ts_err_bound(ts_err_dot32_sum(&d));
        }
}

/* The largest |x| of a run, NaN ignored: no rounding of its own. */
static ts_err run_amax(const ts_err *x, int n)
{
    ts_err amax = {0, 0};
    for (int i = 0; i < n; i++) {
        amax.v = fmax(amax.v, fabs(x[i].v));
        amax.e = fmax(amax.e, x[i].e);
    }
    return amax;
}

/* Four slices of 16, each ascending from its first element, then ascending. */
static ts_err run_sum(const ts_err *x)
{
    ts_err total = {0, 0};
    for (int i = 0; i < 64; i += 16) {
        ts_err s = x[i];
        for (int j = 1; j < 16; j++)
            s = ts_err_add(s, x[i + j]);
        total = i == 0 ? s : ts_err_add(total, s);
    }
    return total;
}

/* The code may differ by one where the product is within its error of a half-integer, by more where the error is.
 */
static double code_bound(ts_err x, ts_err amax)
{
    amax.v = fmax(amax.v, (double)1e-30f);
    ts_err c = ts_err_mul(x, ts_err_div(ts_err_exact(127), amax));
    if (!isfinite(c.v))
        return isinf(c.e) ? (double)INFINITY : 0;
    return fabs(c.v - floor(c.v) - 0.5) <= ts_err_bound(c) ? 1 + floor(ts_err_bound(c)) : 0;
}

void ts_bound_codec_run(const ts_err *x, int n, const char *field, double *bound)
{
    ts_err amax = run_amax(x, n);
    if (strcmp(field, "step") == 0)
        *bound = ts_err_bound(ts_err_mul(amax, ts_err_exact(0x1.020408p-7f)));
    else
        for (int i = 0; i < n; i++)
            bound[i] = code_bound(x[i], amax);
}

/* One run: code[64], or *step, or *sum, as the field says. */
static void run_bound(const ts_err *x, const char *field, double *bound)
{
    if (strcmp(field, "sum") == 0)
        *bound = ts_err_bound(run_sum(x));
    else
        ts_bound_codec_run(x, 64, field, bound);
}

void ts_bound_quantize_a64(const ts_quantize_a64_args *a, const char *field, double *bound)
{
    bool code = strcmp(field, "code") == 0;
    for (int64_t run = 0; run < a->T * (a->K / 64); run++) {
        ts_err x[64];
        for (int i = 0; i < 64; i++)
            x[i] = ts_err_exact(a->x[run * 64 + i]);
        run_bound(x, field, bound + run * (code ? 64 : 1));
    }
}

void ts_bound_rmsnorm_a64(const ts_rmsnorm_a64_args *a, const char *field, double *bound)
{
    bool per_element = strcmp(field, "code") == 0 || strcmp(field, "y") == 0;
    for (int64_t t = 0; t < a->T; t++) {
        const float *x = a->x + t * a->n;
        ts_err r = ts_err_root_mean(x, a->n, a->eps), y[64];
        for (int64_t i = 0; i < a->n; i += 64) {
            double *to = bound + (t * a->n + i) / (per_element ? 1 : 64);
            for (int64_t j = 0; j < 64; j++)
                y[j] = ts_err_normed(r, x[i + j], a->w[i + j], a->centred);
            for (int64_t j = 0; j < 64 && field[0] == 'y'; j++)
                to[j] = ts_err_bound(y[j]);
            if (field[0] != 'y')
                run_bound(y, field, to);
        }
    }
}

double ts_err_codes(const ts_matrix *w, int64_t n, const int8_t *code, int64_t k, int64_t count)
{
    int32_t dot = 0;
    for (int64_t i = k; i < k + count; i++)
        dot += (int32_t)ts_mlx_code(w, n, i) * code[i];
    return dot;
}

/* o = fma(b, sum, fma(s step, D, o)) over groups first .. end-1 of row t and output n; D is exact. */
ts_err ts_err_a64_slice(const ts_matmul_a64s8_args *a, int64_t t, int64_t n, int64_t first, int64_t end)
{
    int64_t G = a->K / 64;
    ts_err o = {0, 0};
    for (int64_t g = first; g < end; g++) {
        ts_err D = {ts_err_codes(a->w, n, a->code + t * a->K, g * 64, 64), 0};
        ts_err s = widened(a->w->scales, a->w->aux, n * G + g), b = widened(a->w->biases, a->w->aux, n * G + g);
        ts_err step = ts_err_exact(a->step[t * G + g]), sum = ts_err_exact(a->sum[t * G + g]);
        o = ts_err_fma(b, sum, ts_err_fma(ts_err_mul(s, step), D, o));
    }
    return o;
}

/* Row t times output n. */
static ts_err product(const ts_matmul_a64s8_args *a, int64_t t, int64_t n)
{
    int64_t G = a->K / 64, S = G >= 8 ? 8 : G >= 4 ? 4 : G >= 2 ? 2 : 1;
    ts_err o[8];
    for (int64_t z = 0; z < S; z++)
        o[z] = ts_err_a64_slice(a, t, n, z * G / S, (z + 1) * G / S);
    for (int64_t half = 1; half < S; half *= 2)
        for (int64_t z = 0; z < S; z += 2 * half)
            o[z] = ts_err_add(o[z], o[z + half]);
    return o[0];
}

void ts_bound_matmul_a64s8(const ts_matmul_a64s8_args *a, double *bound)
{
    for (int64_t i = 0; i < a->T * a->N; i++)
        bound[i] = ts_err_bound(product(a, i / a->N, i % a->N));
}

void ts_bound_gate_up_a64s8(const ts_gate_up_a64s8_args *a, const char *field, double *bound)
{
    ts_matmul_a64s8_args gate = {a->T, a->I, a->K, a->code, a->step, a->sum, a->gate, NULL}, up = gate;
    up.w = a->up;
    for (int64_t i = 0; i < a->T * a->I; i++) {
        ts_err g = product(&gate, i / a->I, i % a->I), u = product(&up, i / a->I, i % a->I);
        bound[i] = ts_err_bound(field[0] == 'g' ? g : field[0] == 'u' ? u : ts_err_swiglu(g, u));
    }
}

/* What channel c of the convolution reads at token `from`: before the first, the state. */
static ts_err conv_input(const ts_qkv_conv_a64s8_args *a, const float *state, int64_t from, int64_t c)
{
    ts_matmul_a64s8_args m = {a->T, a->C, a->K, a->code, a->step, a->sum, a->w, NULL};
    return from >= 0 ? product(&m, from, c) : ts_err_exact(state[c * a->W + a->W + from]);
}

static ts_err conv_output(const ts_qkv_conv_a64s8_args *a, const float *state, int64_t t, int64_t c)
{
    ts_err acc = {0, 0};
    for (int64_t j = 0; j < a->W; j++)
        acc = ts_err_fma(ts_err_exact(a->taps[c * a->W + j]), conv_input(a, state, t - a->W + 1 + j, c), acc);
    return ts_err_silu(acc);
}

void ts_bound_qkv_conv_a64s8(const ts_qkv_conv_a64s8_args *a, const float *state, const char *field, double *bound)
{
    for (int64_t c = 0; strcmp(field, "state") == 0 && c < a->C; c++)
        for (int64_t j = 0; j < a->W; j++)
            bound[c * a->W + j] = ts_err_bound(conv_input(a, state, a->T - a->W + j, c));
    for (int64_t i = 0; strcmp(field, "state") != 0 && i < a->T * a->C; i++)
        bound[i] = ts_err_bound(field[0] == 'y' ? conv_output(a, state, i / a->C, i % a->C)
                                                : conv_input(a, state, i / a->C, i % a->C));
}
