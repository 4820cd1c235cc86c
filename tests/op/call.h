/* Calling the two references from a test. The args structs hold pointers, so the
 * ones of ref64 are the same structs with arrays of double behind them: assign
 * them through ts_f64. */
#ifndef TS_TESTS_OP_CALL_H
#define TS_TESTS_OP_CALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case/args.h"
#include "case/op.h"
#include "format/safetensors.h"
#include "ref.h"
#include "num/convert.h"
#include "num/generate.h"

/* An array of double where args.h, as this file sees it, says float. */
static inline void *ts_f64(const double *x)
{
    return (void *)x;
}

static inline void *room(int64_t n, size_t size)
{
    void *p = calloc((size_t)(n > 0 ? n : 1), size);
    assert_non_null(p);
    return p;
}

static inline float *floats(int64_t n)
{
    return (float *)room(n, sizeof(float));
}

static inline double *doubles(int64_t n)
{
    return (double *)room(n, sizeof(double));
}

/* n values of `spec` (num/generate.h); `stream` tells arrays of one test apart. */
static inline float *generated(const char *spec, uint32_t stream, int64_t n)
{
    ts_error err;
    float *y = floats(n);
    assert_int_equal(ts_generate(spec, 20260901, stream, y, n, &err), TS_OK);
    return y;
}

static inline double *widened(const float *x, int64_t n)
{
    double *y = doubles(n);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

static inline float *copied(const float *x, int64_t n)
{
    float *y = floats(n);
    memcpy(y, x, (size_t)n * sizeof *y);
    return y;
}

static inline void same_bits(const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (ts_bits(a[i]) != ts_bits(b[i]) && !(isnan(a[i]) && isnan(b[i])))
            fail_msg("element %lld: %a, expected %a", (long long)i, (double)a[i], (double)b[i]);
}

static inline ts_safetensors *golden_open(const char *path)
{
    ts_safetensors *f = NULL;
    ts_error err;
    char text[900];
    if (ts_safetensors_open(path, &f, &err) != TS_OK)
        fail_msg("%s", ts_error_text(&err, text, sizeof text));
    return f;
}

static inline const ts_tensor *golden_tensor(const ts_safetensors *f, const char *prefix, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    return ts_safetensors_find(f, full);
}

/* The tensor prefix.name widened; the test fails if there is none. */
static inline double *golden_f64(const ts_safetensors *f, const char *prefix, const char *name)
{
    const ts_tensor *t = golden_tensor(f, prefix, name);
    if (t == NULL)
        fail_msg("no tensor %s.%s", prefix, name);
    double *y = doubles(ts_tensor_count(t));
    for (int64_t i = 0; i < ts_tensor_count(t); i++)
        y[i] = ts_tensor_get(t, i);
    return y;
}

/* max |x - golden| / max |golden|; elements equal to the golden (infinities too) count 0, a NaN counts inf.
 */
static inline double distance(const double *x, const double *golden, int64_t n)
{
    double worst = 0, scale = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = x[i] == golden[i] ? 0 : fabs(x[i] - golden[i]);
        worst = isnan(d) ? (double)INFINITY : fmax(worst, d);
        if (isfinite(golden[i]))
            scale = fmax(scale, fabs(golden[i]));
    }
    return worst == 0 ? 0 : worst / scale;
}

#endif
