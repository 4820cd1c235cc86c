#include "num/convert.h"
#include "w8a8.h"

/* A sum of products of f16 values is a whole number of 2^-48, below 2^98 of them for K <= 131071: two words. */
typedef struct {
    int64_t high;
    uint64_t low;
} wide;

/* An f16 value as a whole number of 2^-24. */
static int64_t units(ts_real x)
{
    return (int64_t)((double)x * 0x1p24);
}

/* s += a b */
static void add_product(wide *s, int64_t a, int64_t b)
{
    const bool negative = (a < 0) != (b < 0);
    const uint64_t x = (uint64_t)(a < 0 ? -a : a), y = (uint64_t)(b < 0 ? -b : b), mask = 0xFFFFFFFFu;
    const uint64_t low = (x & mask) * (y & mask), cross = (x >> 32) * (y & mask), other = (x & mask) * (y >> 32);
    const uint64_t middle = cross + other; /* x, y < 2^40: no carry out */
    wide p = {(int64_t)((x >> 32) * (y >> 32) + (middle >> 32)), low + (middle << 32)};
    p.high += p.low < low;
    if (negative) {
        p.high = ~p.high + (p.low == 0);
        p.low = ~p.low + 1;
    }
    s->low += p.low;
    s->high += p.high + (s->low < p.low);
}

/* s 2^-48, rounded to odd to a double: what is rounded to f16 after it is rounded once. */
static double to_odd(wide s)
{
    const bool negative = s.high < 0;
    if (negative) {
        s.high = ~s.high + (s.low == 0);
        s.low = ~s.low + 1;
    }
    uint64_t x = s.low, sticky = 0;
    int shift = 0;
    for (uint64_t high = (uint64_t)s.high; high != 0; high >>= 1, shift++) {
        sticky |= x & 1;
        x = x >> 1 | high << 63;
    }
    for (; x >> 52 > 1; x >>= 1, shift++)
        sticky |= x & 1;
    double y = ldexp((double)(x | sticky), shift - 48);
    return negative ? -y : y;
}

/* y = h(sum_k h(sx code_k) h(sw_n w_k)): the graph of the layer read literally, on a unit that adds products
 * exactly and rounds once. Shapes as in matmul_w8a8. Rounded: the two products to f16, the sum to f16; both
 * precisions give the same. Infinite products are added as infinities are. */
void ts_matmul_w8a8_unfused(const ts_matmul_w8a8_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            wide sum = {0, 0};
            double special = 0;
            for (int64_t k = 0; k < a->K; k++) {
                ts_real x = ts_round_f16((ts_real)(float)a->sx * (ts_real)a->code[t * a->K + k]);
                ts_real w = ts_round_f16(ts_w8a8_scale(a, n) * (ts_real)a->w[n * a->K + k]);
                if (isfinite(x) && isfinite(w))
                    add_product(&sum, units(x), units(w));
                else
                    special += (double)x * (double)w;
            }
            double y = special == 0 ? to_odd(sum) : special;
            a->y[t * a->N + n] = (ts_real)ts_f16_to_f32(ts_f64_to_f16(y));
        }
}
