#include "block.h"

#include <string.h>

/* Q8_K (activations), 256 values in 292 bytes: f32 d, 256 signed codes, 16 sums of 16 codes as i16. x = q d. */
static void decode(const uint8_t *b, ts_real *x)
{
    float d;
    memcpy(&d, b, sizeof d);
    for (int j = 0; j < TS_SUPER; j++)
        x[j] = (ts_real)(int8_t)b[4 + j] * (ts_real)d;
}

/* inverse = -127 / max, max the first value of the largest magnitude; q = min(127, nearest(inverse x)), ties to
 * even; d = 1 / inverse, often negative. A block of zeros is zeros throughout (ggml leaves its sums as they were).
 */
static void encode(const float *x, uint8_t *b)
{
    float amax, max = ts_block_largest(x, TS_SUPER, &amax);
    memset(b, 0, 292);
    if (amax == 0)
        return;
    float inverse = -127 / max, d = 1 / inverse;
    memcpy(b, &d, sizeof d);
    for (int g = 0; g < TS_SUPER / 16; g++) {
        int16_t sum = 0;
        for (int j = 16 * g; j < 16 * g + 16; j++) {
            int q = ts_block_nearest(inverse * x[j]);
            b[4 + j] = (uint8_t)(q < 127 ? q : 127);
            sum = (int16_t)(sum + (int8_t)b[4 + j]);
        }
        memcpy(b + 4 + TS_SUPER + 2 * g, &sum, sizeof sum);
    }
}

const ts_block_codec ts_q8_k = {.format = TS_W_Q8_K, .decode = decode, .encode = encode};
