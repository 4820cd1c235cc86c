#include "config/lse.h"
#include "format/block.h"
#include "model.h"
#include "op.h"

void ts_linear_dot32(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    (void)p;
    ts_matmul_dot32(&(ts_matmul_args){.T = T, .N = w->N, .K = w->K, .x = x, .w = w, .y = y});
}

void ts_linear_a64s8(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    ts_work *b = p->w;
    if (!ts_matrix_is_a64s8(w)) {
        ts_linear_dot32(p, w, x, T, y);
        return;
    }
    ts_quantize_a64(
        &(ts_quantize_a64_args){.T = T, .K = w->K, .x = x, .code = b->code, .step = b->step, .sum = b->sum});
    ts_matmul_a64s8(&(ts_matmul_a64s8_args){
        .T = T, .N = w->N, .K = w->K, .code = b->code, .step = b->step, .sum = b->sum, .w = w, .y = y});
}

/* ggml makes activations what it multiplies weights with: blocks of 8-bit codes (`product`), bf16 or f16. */
static void linear_ggml(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y,
                        void (*product)(const ts_matmul_ggml_args *))
{
    ts_real (*narrow)(ts_real) = w->format == TS_W_BF16 ? ts_round_bf16 : ts_round_f16;
    if (ts_matrix_has_blocks(w)) {
        product(&(ts_matmul_ggml_args){
            .T = T, .N = w->N, .K = w->K, .B = ts_block_row_bytes(w), .x = x, .w = w, .block = p->w->code, .y = y});
        return;
    }
    if (w->format != TS_W_BF16 && w->format != TS_W_F16) {
        ts_linear_dot32(p, w, x, T, y);
        return;
    }
    for (int64_t i = 0; i < T * w->K; i++)
        p->w->narrow[i] = narrow(x[i]);
    ts_linear_dot32(p, w, p->w->narrow, T, y);
}

void ts_linear_ggml(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    linear_ggml(p, w, x, T, y, ts_matmul_ggml_x86);
}

void ts_linear_ggml_generic(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    linear_ggml(p, w, x, T, y, ts_matmul_ggml);
}

void ts_linear_mlx(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    (void)p;
    (w->format == TS_W_MLX ? ts_matmul_mlx : ts_matmul_dot32)(
        &(ts_matmul_args){.T = T, .N = w->N, .K = w->K, .x = x, .w = w, .y = y});
}

void ts_linear_mlx_bf16(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    (void)p;
    (w->format == TS_W_MLX ? ts_matmul_mlx_bf16 : ts_matmul_dot32)(
        &(ts_matmul_args){.T = T, .N = w->N, .K = w->K, .x = x, .w = w, .y = y});
}

static void linear_a8(const ts_work *b, const ts_matrix *w, const ts_real *x, int64_t T, int64_t S, ts_real *y)
{
    ts_quantize_lse_a8(
        &(ts_quantize_lse_a8_args){.T = T, .K = w->K, .x = x, .code = b->code, .step = b->step, .sum = b->sum});
    ts_matmul_lse_a8(&(ts_matmul_lse_a8_args){
        .T = T, .N = w->N, .K = w->K, .S = S, .code = b->code, .step = b->step, .sum = b->sum, .w = w, .y = y});
}

static void linear_a64(const ts_work *b, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    ts_quantize_a64(
        &(ts_quantize_a64_args){.T = T, .K = w->K, .x = x, .code = b->code, .step = b->step, .sum = b->sum});
    ts_matmul_lse_a64(&(ts_matmul_a64s8_args){
        .T = T, .N = w->N, .K = w->K, .code = b->code, .step = b->step, .sum = b->sum, .w = w, .y = y});
}

/* LSE: the number of rows picks the numerics of 4-bit codes; other weights are widened. */
static void linear_lse(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_lse_era era,
                       ts_real *y)
{
    const ts_lse_numerics class = ts_lse_class(T, w->N, w->K, era);
    const int64_t S = ts_lse_splits(ts_lse_rows(T, w->N, w->K), w->K);
    if (!ts_matrix_is_a64s8(w) || w->bits != 4)
        ts_linear_dot32(p, w, x, T, y);
    else if (class == TS_LSE_A8 && S > 0)
        linear_a8(p->w, w, x, T, S, y);
    else if (class == TS_LSE_A64)
        linear_a64(p->w, w, x, T, y);
    else if (class == TS_LSE_F16)
        ts_matmul_lse_f16(&(ts_matmul_lse_f16_args){
            .T = T, .N = w->N, .K = w->K, .S = ts_lse_slices(T, w->N, w->K), .x = x, .w = w, .y = y});
    else
        ts_matmul_lse_ex(&(ts_matmul_args){.T = T, .N = w->N, .K = w->K, .x = x, .w = w, .y = y});
}

void ts_linear_lse_a(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    linear_lse(p, w, x, T, TS_LSE_ERA_A, y);
}

void ts_linear_lse_b(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    linear_lse(p, w, x, T, TS_LSE_ERA_B, y);
}

void ts_linear(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    p->m->op.linear(p, w, x, T, y);
    p->m->op.store(y, T * w->N);
}
