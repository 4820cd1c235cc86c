#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/check.h"
#include "check/measure.h"
#include "compare.h"

bool ts_check_same(const ts_tensor *a, const ts_tensor *b)
{
    ts_comparison c;
    return ts_compare(a, b, &c) == TS_OK;
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
            ts_measure_print_norms(f, a, b);
        fclose(f);
    }
    cJSON *measured = ts_measure_json(a, b);
    ts_report_add_measured(k->report, what, a->name, TS_FAIL, 0, text, measured);
    cJSON_Delete(measured);
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

void ts_check_add_differs(ts_check *k, const char *what, double worst, const char *text, const ts_tensor *ref,
                          const ts_tensor *x)
{
    char *detail = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&detail, &size);
    if (f) {
        fputs(text, f);
        ts_measure_print_ulps(f, ref, x);
        ts_measure_print_norms(f, ref, x);
        fclose(f);
    }
    cJSON *measured = ts_measure_json(ref, x);
    ts_report_add_measured(k->report, what, ref->name, TS_FAIL, worst, detail ? detail : text, measured);
    cJSON_Delete(measured);
    free(detail);
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
    ts_check_add_differs(k, what, ratio, detail, golden, x);
}
