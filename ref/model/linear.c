#include "model.h"
#include "op.h"

void ts_linear(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y)
{
    if (!p->m->profile->codes || !ts_matrix_is_a64s8(w)) { /* is widened (docs/contract.md, 2) */
        ts_matmul_dot32(&(ts_matmul_args){.T = T, .N = w->N, .K = w->K, .x = x, .w = w, .y = y});
        return;
    }
    ts_work *b = p->w;
    ts_quantize_a64(
        &(ts_quantize_a64_args){.T = T, .K = w->K, .x = x, .code = b->code, .step = b->step, .sum = b->sum});
    ts_matmul_a64s8(&(ts_matmul_a64s8_args){
        .T = T, .N = w->N, .K = w->K, .code = b->code, .step = b->step, .sum = b->sum, .w = w, .y = y});
}
