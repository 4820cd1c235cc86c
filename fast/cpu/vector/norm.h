/* What the norms share. */
#ifndef TS_FAST_VECTOR_NORM_H
#define TS_FAST_VECTOR_NORM_H

#include <math.h>
#include "cpu/vector/dot32.h"

/* 1 / sqrt(x.x / n + eps), or without the mean. */
static inline float v_mean_norm(const float *x, int64_t n, double eps)
{
    return 1.0f / sqrtf(v_dot32(x, x, n) / (float)n + (float)eps);
}

static inline float v_sum_norm(const float *x, int64_t n, double eps)
{
    return 1.0f / sqrtf(v_dot32(x, x, n) + (float)eps);
}

#endif
