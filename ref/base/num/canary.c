#include "num/canary.h"

#include <fenv.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "num/convert.h"

/* Operands are volatile, so that the processor computes each answer, and the
 * compiler does not. Results are compared as bits: under denormals-are-zero a
 * comparison of values would itself be wrong. */

static uint64_t bits64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static int same32(float x, float y)
{
    return ts_bits(x) == ts_bits(y);
}

static int same64(double x, double y)
{
    return bits64(x) == bits64(y);
}

static int rounding_mode(void)
{
    return fegetround() == FE_TONEAREST;
}

/* fegetround may look at another control word than the one these sums obey. */
static int nearest32(void)
{
    volatile float one = 1, odd = 1 + 0x1p-23f, quarter = 0x1p-25f, tie = 0x1p-24f;
    float up = one + quarter, down = one - 0x1p-1f * quarter, under = -one - quarter;
    float even = one + tie, away = odd + tie;
    return same32(up, 1) && same32(down, 1) && same32(under, -1) && same32(even, 1) && same32(away, 1 + 0x1p-22f);
}

static int nearest64(void)
{
    volatile double one = 1, odd = 1 + 0x1p-52, quarter = 0x1p-54, tie = 0x1p-53;
    double up = one + quarter, down = one - 0x1p-1 * quarter, under = -one - quarter;
    double even = one + tie, away = odd + tie;
    return same64(up, 1) && same64(down, 1) && same64(under, -1) && same64(even, 1) && same64(away, 1 + 0x1p-51);
}

static int no_excess(void)
{
    volatile float one = 1, tie = 0x1p-24f;
    volatile double wide = 1, small = 0x1p-53;
    float x = one + tie - one;
    double y = wide + small - wide;
    return same32(x, 0) && same64(y, 0);
}

static int no_ftz(void)
{
    volatile float x = 0x1p-126f, half = 0.5f;
    volatile double y = 0x1p-1022, half64 = 0.5;
    float narrow = x * half;
    double wide = y * half64;
    return ts_bits(narrow) == 0x00400000 && bits64(wide) == 0x0008000000000000;
}

static int no_daz(void)
{
    volatile float x = 0x1p-149f, scale = 0x1p100f;
    volatile double y = 0x1p-1074, scale64 = 0x1p1000;
    float narrow = x * scale;
    double wide = y * scale64;
    return same32(narrow, 0x1p-49f) && same64(wide, 0x1p-74);
}

/* (1+2^-12)^2 = 1 + 2^-11 + 2^-24: the last term is a tie in f32, and rounds away to nothing. */
static int fused32(void)
{
    volatile float a = 1 + 0x1p-12f, c = -(1 + 0x1p-11f), tiny = 0x1p-80f;
    float rest = fmaf(a, a, c), above = fmaf(a, a, tiny);
    return same32(rest, 0x1p-24f) &&
           same32(above, 1 + 0x1p-11f + 0x1p-23f); /* a detour through double loses tiny */
}

static int fused64(void)
{
    volatile double a = 1 + 0x1p-27, c = -(1 + 0x1p-26);
    double rest = fma(a, a, c);
    return same64(rest, 0x1p-54);
}

static int no_contraction(void)
{
    volatile float va = 1 + 0x1p-12f, vc = -(1 + 0x1p-11f);
    volatile double wa = 1 + 0x1p-27, wc = -(1 + 0x1p-26);
    float a = va, c = vc, rest = a * a + c;
    double a64 = wa, c64 = wc, rest64 = a64 * a64 + c64;
    return same32(rest, 0) && same64(rest64, 0);
}

static const struct {
    int (*holds)(void);
    const char *name, *reason;
} canary[] = {
    {rounding_mode, "rounding mode", "fegetround is not FE_TONEAREST: every sum would round another way"},
    {nearest32, "f32 rounding", "f32 sums do not round to nearest even: every sum would round another way"},
    {nearest64, "f64 rounding", "double sums do not round to nearest even: samplers and tables would change"},
    {no_excess, "excess precision", "a sum keeps more bits than its type: the declared roundings would be skipped"},
    {no_ftz, "flush to zero", "a subnormal result becomes 0: small values would lose their bits"},
    {no_daz, "denormals are zero", "a subnormal operand counts as 0: small inputs would lose their bits"},
    {fused32, "fmaf", "fmaf rounds twice: dot products and elementary functions would change in the last bit"},
    {fused64, "fma", "fma rounds twice: double products and tables would change in the last bit"},
    {no_contraction, "contraction",
     "a*b+c was contracted to a fused multiply-add that nobody wrote: build with -ffp-contract=off"},
};

ts_status ts_canaries(ts_error *err)
{
    for (size_t i = 0; i < sizeof canary / sizeof canary[0]; i++)
        if (!canary[i].holds())
            return ts_fail(err, TS_BAD, "canary", canary[i].name, "%s", canary[i].reason);
    return TS_OK;
}
