/* Bounds of the products of the R9700 engine LSE and of its activation codec A8. */
#include <string.h>

#include "check/bound_op.h"

enum { CHUNK = 8, GROUP = 64, LANES = 32 };

void ts_bound_matmul_lse_a64_fma(const ts_matmul_a64s8_args *a, double *bound)
{
    for (int64_t i = 0; i < a->T * a->N; i++)
        bound[i] = ts_err_bound(ts_err_a64_slice(a, i / a->N, i % a->N, 0, a->K / GROUP));
}

/* o = fma(s step, D, o) + b sum over all groups; D is exact. */
static ts_err a64(const ts_matmul_a64s8_args *a, int64_t t, int64_t n)
{
    ts_err o = {0, 0};
    for (int64_t g = 0; g < a->K / GROUP; g++) {
        int64_t run = t * (a->K / GROUP) + g;
        ts_err term = ts_err_mul(ts_err_mlx_scale(a->w, n, g), ts_err_exact(a->step[run]));
        ts_err bias = ts_err_mul(ts_err_mlx_bias(a->w, n, g), ts_err_exact(a->sum[run]));
        ts_err D = {ts_err_codes(a->w, n, a->code + t * a->K, g * GROUP, GROUP), 0};
        o = ts_err_add(ts_err_fma(term, D, o), bias);
    }
    return o;
}

void ts_bound_matmul_lse_a64(const ts_matmul_a64s8_args *a, double *bound)
{
    for (int64_t i = 0; i < a->T * a->N; i++)
        bound[i] = ts_err_bound(a64(a, i / a->N, i % a->N));
}

/* Lanes added neighbour to neighbour. */
static ts_err tree(ts_err *lane, int n)
{
    for (int half = 1; half < n; half *= 2)
        for (int l = 0; l < n; l += 2 * half)
            lane[l] = ts_err_add(lane[l], lane[l + half]);
    return lane[0];
}

/* The sum of a group: eight chunks, each ascending from its first element, added as a tree. */
static ts_err group_sum(const float *x)
{
    ts_err s[GROUP / CHUNK];
    for (int c = 0; c < GROUP / CHUNK; c++) {
        s[c] = ts_err_exact(x[c * CHUNK]);
        for (int i = 1; i < CHUNK; i++)
            s[c] = ts_err_add(s[c], ts_err_exact(x[c * CHUNK + i]));
    }
    return tree(s, GROUP / CHUNK);
}

void ts_bound_quantize_lse_a8(const ts_quantize_lse_a8_args *a, const char *field, double *bound)
{
    bool sums = strcmp(field, "sum") == 0;
    for (int64_t g = 0; sums && g < a->T * a->K / GROUP; g++)
        bound[g] = ts_err_bound(group_sum(a->x + g * GROUP));
    for (int64_t c = 0; !sums && c < a->T * a->K / CHUNK; c++) {
        ts_err x[CHUNK];
        for (int i = 0; i < CHUNK; i++)
            x[i] = ts_err_exact(a->x[c * CHUNK + i]);
        ts_bound_codec_run(x, CHUNK, field, bound + c * (field[0] == 'c' ? CHUNK : 1));
    }
}

/* Chunks c .. c+count-1 of row t and output n, summed with their steps; D is exact. */
static ts_err piece(const ts_matmul_lse_a8_args *a, int64_t t, int64_t n, int64_t c, int64_t count)
{
    ts_err p = {0, 0};
    for (int64_t i = c; i < c + count; i++) {
        ts_err D = {ts_err_codes(a->w, n, a->code + t * a->K, i * CHUNK, CHUNK), 0};
        p = ts_err_fma(ts_err_exact(a->step[t * (a->K / CHUNK) + i]), D, p);
    }
    return p;
}

/* The chunks cb .. ce-1 and the biases of their groups join the lanes: whole 128s four chunks a lane, then one. */
static void split(const ts_matmul_lse_a8_args *a, int64_t t, int64_t n, int64_t cb, int64_t ce, ts_err *lane)
{
    int64_t rest = cb + (ce - cb) / 128 * 128;
    for (int64_t c = cb, count; c < ce; c += count) {
        ts_err *to = &lane[c < rest ? (c - cb) % 128 / 4 : (c - rest) % LANES];
        count = c < rest ? 4 : 1;
        *to = ts_err_fma(ts_err_mlx_scale(a->w, n, c / 8), piece(a, t, n, c, count), *to);
    }
    for (int64_t g = cb / 8; g < ce / 8; g++) {
        ts_err *to = &lane[(g - cb / 8) % LANES], sum = ts_err_exact(a->sum[t * (a->K / GROUP) + g]);
        *to = ts_err_fma(ts_err_mlx_bias(a->w, n, g), sum, *to);
    }
}

static ts_err a8(const ts_matmul_lse_a8_args *a, int64_t t, int64_t n)
{
    ts_err lane[LANES] = {{0, 0}};
    for (int64_t q = 0, size = a->K / CHUNK / a->S; q < a->S; q++)
        split(a, t, n, q * size, (q + 1) * size, lane);
    return tree(lane, LANES);
}

void ts_bound_matmul_lse_a8(const ts_matmul_lse_a8_args *a, double *bound)
{
    for (int64_t i = 0; i < a->T * a->N; i++)
        bound[i] = ts_err_bound(a8(a, i / a->N, i % a->N));
}

/* silu_lse is silu with an exp that errs less. */
void ts_bound_gate_up_lse_a8(const ts_gate_up_lse_a8_args *a, const char *field, double *bound)
{
    ts_matmul_lse_a8_args gate = {a->T, a->I, a->K, a->S, a->code, a->step, a->sum, a->gate, NULL}, up = gate;
    up.w = a->up;
    for (int64_t i = 0; i < a->T * a->I; i++) {
        ts_err g = a8(&gate, i / a->I, i % a->I), u = a8(&up, i / a->I, i % a->I);
        bound[i] = ts_err_bound(field[0] == 'g' ? g : field[0] == 'u' ? u : ts_err_swiglu(g, u));
    }
}

void ts_bound_matmul_lse_ex(const ts_matmul_args *a, double *bound)
{
    int64_t size = 32 / a->w->bits, rest = a->K / size / 128 * 128;
    for (int64_t i = 0; i < a->T * a->N; i++) {
        ts_err lane[LANES] = {{0, 0}};
        for (int64_t k = 0; k < a->K; k++) {
            int64_t c = k / size;
            ts_err *to = &lane[c < rest ? c % 128 / 4 : c % LANES], x = ts_err_exact(a->x[i / a->N * a->K + k]);
            *to = ts_err_fma(x, ts_err_weight(a->w, i % a->N, k), *to);
        }
        bound[i] = ts_err_bound(tree(lane, LANES));
    }
}

/* Both operands are the same f16 in either precision. */
static ts_err f16_weight(const ts_matrix *w, int64_t n, int64_t k)
{
    ts_err s = ts_err_f16(ts_err_mlx_scale(w, n, k / GROUP)), b = ts_err_f16(ts_err_mlx_bias(w, n, k / GROUP));
    double u = ts_mlx_code(w, n, k);
    return ts_err_f16((ts_err){ts_err_f16((ts_err){u * s.v, 0}).v + b.v, 0});
}

static ts_err f16_slice(const ts_matmul_lse_f16_args *a, int64_t t, int64_t n, int64_t first, int64_t end)
{
    static const int order[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    ts_err sum = {0, 0};
    for (int64_t i = first; i < end; i++) {
        int64_t k = i / 8 * 8 + order[i % 8];
        sum = ts_err_fma(ts_err_f16(ts_err_exact(a->x[t * a->K + k])), f16_weight(a->w, n, k), sum);
    }
    return sum;
}

void ts_bound_matmul_lse_f16(const ts_matmul_lse_f16_args *a, double *bound)
{
    int64_t size = a->K / a->S;
    for (int64_t i = 0; i < a->T * a->N; i++) {
        ts_err y = f16_slice(a, i / a->N, i % a->N, 0, size);
        for (int64_t z = 1; z < a->S; z++)
            y = ts_err_add(y, f16_slice(a, i / a->N, i % a->N, z * size, (z + 1) * size));
        bound[i] = ts_err_bound(y);
    }
}
