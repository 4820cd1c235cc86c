#include "check/measure.h"

#include <math.h>

#include "compare.h"

/* NaN where there is no such number: a zero reference, a NaN or an infinity in either. */
typedef struct {
    double norm_ratio, relative_l2, cosine;
} likeness;

static likeness like(const ts_tensor *ref, const ts_tensor *x)
{
    long double rr = 0, xx = 0, rx = 0, dd = 0; /* squares of doubles fit */
    for (int64_t i = 0; i < ts_tensor_count(ref); i++) {
        long double r = (long double)ts_tensor_get(ref, i), v = (long double)ts_tensor_get(x, i);
        rr += r * r;
        xx += v * v;
        rx += r * v;
        dd += (v - r) * (v - r);
    }
    likeness l = {(double)sqrtl(xx / rr), (double)sqrtl(dd / rr), (double)(rx / (sqrtl(rr) * sqrtl(xx)))};
    if (!isfinite(l.norm_ratio) || !isfinite(l.relative_l2))
        l.norm_ratio = l.relative_l2 = (double)NAN;
    return l;
}

static void print_number(FILE *f, const char *name, double v)
{
    if (isfinite(v))
        fprintf(f, "%s %.9g", name, v);
    else
        fprintf(f, "%s undefined", name);
}

void ts_measure_print_ulps(FILE *f, const ts_tensor *ref, const ts_tensor *x)
{
    ts_comparison c;
    ts_compare(ref, x, &c);
    fputs(c.differing ? "elements by ulp distance:" : "", f);
    for (int i = 0, n = 0; i < TS_ULP_BINS; i++)
        if (c.bin[i])
            fprintf(f, "%s %s: %lld", n++ ? "," : "", ts_ulp_bin_name(i), (long long)c.bin[i]);
    fputs(c.differing ? "\n" : "", f);
}

void ts_measure_print_norms(FILE *f, const ts_tensor *ref, const ts_tensor *x)
{
    likeness l = like(ref, x);
    print_number(f, "norm ratio", l.norm_ratio);
    print_number(f, ", relative L2", l.relative_l2);
    print_number(f, ", cosine", l.cosine);
    fputc('\n', f);
}

cJSON *ts_measure_json(const ts_tensor *ref, const ts_tensor *x)
{
    ts_comparison c;
    ts_compare(ref, x, &c);
    cJSON *o = ts_compare_json(ref, x, &c);
    if (!o || c.mismatch[0])
        return o;
    likeness l = like(ref, x);
    ts_compare_add_number(o, "norm_ratio", l.norm_ratio);
    ts_compare_add_number(o, "relative_l2", l.relative_l2);
    ts_compare_add_number(o, "cosine", l.cosine);
    return o;
}
