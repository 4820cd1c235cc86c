#include "model.h"
#include "op.h"

/* Class A64S8 wants codes of 4 or 8 bits in groups of 64; every other matrix is widened (docs/contract.md, 2).
 */
static bool in_a64s8(const ts_profile *p, const ts_matrix *w)
{
    return p->codes && w->format == TS_W_MLX && w->group == 64 && (w->bits == 4 || w->bits == 8);
}

void ts_linear(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    if (!in_a64s8(p->m->profile, w)) {
        ts_matmul_dot32(&(ts_matmul_args){.T = T, .N = w->N, .K = w->K, .x = x, .w = w, .y = y});
        return;
    }
    ts_work *b = p->w;
    ts_quantize_a64(
        &(ts_quantize_a64_args){.T = T, .K = w->K, .x = x, .code = b->code, .step = b->step, .sum = b->sum});
    ts_matmul_a64s8(&(ts_matmul_a64s8_args){
        .T = T, .N = w->N, .K = w->K, .code = b->code, .step = b->step, .sum = b->sum, .w = w, .y = y});
}
