#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/check.h"
#include "compare.h"

/* How alike the two are as vectors: a scale shows in the norm ratio, a direction in the cosine. */
static void print_norms(FILE *f, const ts_tensor *ref, const ts_tensor *x)
{
    double rr = 0, xx = 0, rx = 0, dd = 0;
    for (int64_t i = 0; i < ts_tensor_count(ref); i++) {
        double r = ts_tensor_get(ref, i), v = ts_tensor_get(x, i);
        rr += r * r;
        xx += v * v;
        rx += r * v;
        dd += (v - r) * (v - r);
    }
    fprintf(f, "norm ratio %.9g, relative L2 %.3g, cosine %.9g\n", sqrt(xx / rr), sqrt(dd / rr),
            rx / sqrt(rr * xx));
}

void ts_check_equal(ts_check *k, const char *what, const char *label_a, const char *label_b, const ts_tensor *a,
                    const ts_tensor *b)
{
    ts_comparison c;
    if (ts_compare(a, b, &c) == TS_OK) {
        ts_report_add(k->report, what, a->name, TS_EXACT, 0, NULL);
        return;
    }
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f) {
        ts_compare_print(f, label_a, label_b, a, b, &c, 4);
        if (!c.mismatch[0])
            print_norms(f, a, b);
        fclose(f);
    }
    ts_report_add(k->report, what, a->name, TS_FAIL, 0, text);
    free(text);
}

static bool same_shape(const ts_tensor *a, const ts_tensor *b)
{
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->dim[i] == b->dim[i];
    return same;
}

/* The largest error, or infinity at the first element that is not finite. */
static double worst_error(const ts_tensor *x, const ts_tensor *golden, double *scale, int64_t *at)
{
    double worst = 0;
    *scale = 0;
    *at = 0;
    for (int64_t i = 0; i < ts_tensor_count(golden); i++) {
        double g = ts_tensor_get(golden, i), v = ts_tensor_get(x, i), e = fabs(v - g);
        if (g == v) /* equal infinities too: an empty partition's maximum is -inf */
            e = 0;
        else if (!(e <= 1e300))
            e = HUGE_VAL;
        if (isfinite(g) && fabs(g) > *scale)
            *scale = fabs(g);
        if (e > worst) {
            worst = e;
            *at = i;
        }
    }
    return worst;
}

void ts_check_close(ts_check *k, const char *what, const ts_tensor *x, const ts_tensor *golden, double limit)
{
    char detail[512];
    if (!same_shape(x, golden)) {
        snprintf(detail, sizeof detail, "shapes differ: %d dims, first %lld, against %d dims, first %lld\n",
                 x->ndim, (long long)x->dim[0], golden->ndim, (long long)golden->dim[0]);
        ts_report_add(k->report, what, golden->name, TS_FAIL, 0, detail);
        return;
    }
    double scale;
    int64_t at;
    double worst = worst_error(x, golden, &scale, &at);
    double ratio = worst == 0 ? 0 : worst / (limit * scale);
    if (ratio <= 1) {
        ts_report_add(k->report, what, golden->name, TS_BOUND, ratio, NULL);
        return;
    }
    int64_t row = golden->ndim ? golden->dim[golden->ndim - 1] : 1;
    snprintf(detail, sizeof detail,
             "element %lld (row %lld, column %lld of %s): %.17g (%a), golden %.17g (%a)\n"
             "error %.3g, allowed %.3g = %.3g * max|golden|\n",
             (long long)at, (long long)(at / row), (long long)(at % row), golden->name, ts_tensor_get(x, at),
             ts_tensor_get(x, at), ts_tensor_get(golden, at), ts_tensor_get(golden, at), worst, limit * scale,
             limit);
    ts_report_add(k->report, what, golden->name, TS_FAIL, ratio, detail);
}
