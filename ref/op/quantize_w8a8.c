#include "w8a8.h"

/* code = clamp(rint(x / sx), -128, 127): the activation codes of W8A8 with one static scale. x [T,K]; code [T,K].
 * Rounded: sx to f32, the quotient in f32 whatever ts_real is, then to the nearest integer, ties to even. +-inf
 * clamps, a NaN is 127. */
void ts_quantize_w8a8(const ts_quantize_w8a8_args *a)
{
    for (int64_t i = 0; i < a->T * a->K; i++)
        a->code[i] = ts_w8a8_code((float)a->x[i] / (float)a->sx);
}
