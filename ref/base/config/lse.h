/* What the R9700 engine LSE picks by the number of rows: which numerics a product of 4-bit weights (MLX, group 64,
 * bf16 scales and biases) runs in, and the parameters of their orders. Names and shapes only; the numerics
 * themselves are operations (ref/op/matmul_lse_*.c). */
#ifndef TS_CONFIG_LSE_H
#define TS_CONFIG_LSE_H

#include <stdint.h>

typedef enum {
    TS_LSE_A8,  /* quantize_lse_a8, matmul_lse_a8: int8 activations, a step per 8 values */
    TS_LSE_A64, /* quantize_a64, matmul_lse_a64: a step per 64 values */
    TS_LSE_EX,  /* matmul_lse_ex: f32 */
    TS_LSE_F16, /* matmul_lse_f16: a tiled product of f16 operands */
} ts_lse_numerics;

/* The builds: v0.4.1x to v0.4.23; v0.5.4; those after it, whose tiled product begins at 9 rows instead of 16. */
typedef enum { TS_LSE_ERA_A, TS_LSE_ERA_B, TS_LSE_ERA_B9 } ts_lse_era;

/* The class of M >= 1 rows times a matrix [N,K]. */
ts_lse_numerics ts_lse_class(int64_t M, int64_t N, int64_t K, ts_lse_era era);

/* Class A8: rows a workgroup shares, 1, 2, 4 or 8. The engine weighs traffic against occupancy; what it is known
 * to pick for the two shapes of the FFN is here, elsewhere the largest power of two <= M. */
int64_t ts_lse_rows(int64_t M, int64_t N, int64_t K);
/* Class A8: the splits S of K, the fewest of 1, 2, 4 for which the staging of that many rows fits 64 KiB; 0 if none
 * does. K a multiple of 64. */
int64_t ts_lse_splits(int64_t rows, int64_t K);
/* Bytes of that staging with K in S splits. */
int64_t ts_lse_staging(int64_t rows, int64_t K, int64_t S);

/* Class F16: the slices of K, 1, 2, 4 or 8. K a multiple of 64. */
int64_t ts_lse_slices(int64_t M, int64_t N, int64_t K);

#endif
