#include <math.h>
#include <string.h>

#include "block.h"

/* Weighted sums over one group. */
typedef struct {
    float w, x; /* sum w, sum w x */
} totals;

typedef struct {
    float scale, min;
} grid;

static void quantise(const float *x, float inverse, float min, int levels, uint8_t *code)
{
    for (int i = 0; i < TS_BLOCK; i++)
        code[i] = (uint8_t)ts_block_clamp(ts_block_nearest(inverse * (x[i] - min)), 0, levels);
}

/* sum w (scale q + min - x)^2 */
static float error(const float *x, const float *weight, grid g, const uint8_t *code)
{
    float sum = 0;
    for (int i = 0; i < TS_BLOCK; i++) {
        float diff = g.scale * (float)code[i] + g.min - x[i];
        sum += weight[i] * (diff * diff);
    }
    return sum;
}

/* The least-squares grid for given codes, min <= 0; false if the codes do not determine one. */
static int solve(const float *x, const float *weight, totals t, const uint8_t *code, grid *g)
{
    float l = 0, l2 = 0, xl = 0;
    for (int i = 0; i < TS_BLOCK; i++) {
        float q = (float)code[i];
        l += weight[i] * q;
        l2 += weight[i] * q * q;
        xl += weight[i] * q * x[i];
    }
    float det = t.w * l2 - l * l;
    if (!(det > 0))
        return 0;
    g->scale = (t.w * xl - t.x * l) / det;
    g->min = (l2 * t.x - l * xl) / det;
    if (g->min > 0) {
        g->min = 0;
        g->scale = xl / l2;
    }
    return 1;
}

float ts_block_fit_range(const float *x, const float *weight, int levels, float first, int steps, uint8_t *code,
                         float *minimum)
{
    grid best;
    float max;
    totals t = {weight[0], weight[0] * x[0]};
    for (int i = 1; i < TS_BLOCK; i++) {
        t.w += weight[i];
        t.x += weight[i] * x[i];
    }
    ts_block_range(x, TS_BLOCK, &best.min, &max);
    best.min = best.min > 0 ? 0 : best.min;
    *minimum = -best.min;
    memset(code, 0, TS_BLOCK);
    if (max == best.min)
        return 0;
    float inverse = (float)levels / (max - best.min);
    best.scale = 1 / inverse;
    quantise(x, inverse, best.min, levels, code);
    float least = error(x, weight, best, code);
    for (int step = 0; step <= steps; step++) {
        uint8_t other[TS_BLOCK];
        grid g;
        quantise(x, (first + 0.1f * (float)step + (float)levels) / (max - best.min), best.min, levels, other);
        if (!solve(x, weight, t, other, &g))
            continue;
        float e = error(x, weight, g, other);
        if (e < least) {
            memcpy(code, other, TS_BLOCK);
            least = e;
            best = g;
        }
    }
    *minimum = -best.min;
    return best.scale;
}

const int8_t ts_block_table[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

uint8_t ts_block_table_index(float x)
{
    int above = 0;
    while (above < 15 && !(x < ts_block_table[above]))
        above++;
    if (above == 0)
        return 0;
    if (x >= ts_block_table[15])
        return 15;
    return (uint8_t)(x - ts_block_table[above - 1] < ts_block_table[above] - x ? above - 1 : above);
}

/* sum w q x and sum w q q for the codes nearest to inverse x. */
static void table_sums(const float *x, float inverse, uint8_t *code, float *qx, float *q2)
{
    *qx = *q2 = 0;
    for (int j = 0; j < TS_BLOCK; j++) {
        code[j] = ts_block_table_index(inverse * x[j]);
        float q = ts_block_table[code[j]], w = x[j] * x[j];
        *qx += w * q * x[j];
        *q2 += w * q * q;
    }
}

float ts_block_fit_table(const float *x, int tries, uint8_t *code)
{
    float amax, max = ts_block_largest(x, TS_BLOCK, &amax), qx, q2;
    const float low = ts_block_table[0];
    if (amax < 1e-15f)
        return 0;
    float d = tries > 0 ? -max / low : max / low;
    table_sums(x, 1 / d, code, &qx, &q2);
    d = qx / q2;
    float best = d * qx;
    for (int t = -tries; t <= tries; t++) {
        uint8_t other[TS_BLOCK];
        table_sums(x, ((float)t + low) / max, other, &qx, &q2);
        if (q2 > 0 && qx * qx > best * q2) {
            d = qx / q2;
            best = d * qx;
        }
    }
    return d;
}
