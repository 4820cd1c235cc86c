#include "w8a8.h"

/* quantize_w8a8 with the quotient rounded to f16 before it is rounded to an integer: the graph read literally, as
 * quotients near a half-integer then fall on it. */
void ts_quantize_w8a8_f16div(const ts_quantize_w8a8_args *a)
{
    for (int64_t i = 0; i < a->T * a->K; i++)
        a->code[i] = ts_w8a8_code((float)ts_round_f16((ts_real)((float)a->x[i] / (float)a->sx)));
}
