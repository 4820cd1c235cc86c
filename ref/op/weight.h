/* Widening a run of one weight row at a time. */
#ifndef TS_OP_WEIGHT_H
#define TS_OP_WEIGHT_H

#include "op.h"

/* out[i] = weight (n, k + i) widened: bf16, f16, f32, or MLX fma(scale, code, bias); i < count */
void ts_weight_run(const ts_matrix *w, int64_t n, int64_t k, int64_t count, ts_real *out);

#endif
