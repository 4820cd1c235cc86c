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

/* Rows of activations as blocks of 8-bit codes, then the integer dots that go with the weights' format. Codes are
 * f32's in either precision. */
static void blocks(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    const ts_weight_format codes = ts_block_activation(w->format);
    const int64_t row = ts_matrix_row_bytes(w);
    for (int64_t t = 0; t < T; t++) {
        for (int64_t k = 0; k < w->K; k++)
            p->w->row[k] = (float)x[t * w->K + k];
        ts_block_encode(codes, TS_BLOCK_X86, p->w->row, w->K, p->w->blocks);
        for (int64_t n = 0; n < w->N; n++)
            ts_block_dot(w->format, (const uint8_t *)w->data + n * row, p->w->blocks, w->K, &y[t * w->N + n]);
    }
}

/* ggml makes activations what it multiplies weights with: blocks of 8-bit codes, bf16 or f16. */
void ts_linear_ggml(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    ts_real (*narrow)(ts_real) = w->format == TS_W_BF16 ? ts_round_bf16 : ts_round_f16;
    if (ts_matrix_has_blocks(w)) {
        blocks(p, w, x, T, y);
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

void ts_linear(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    p->m->op.linear(p, w, x, T, y);
    p->m->op.store(y, T * w->N);
}
