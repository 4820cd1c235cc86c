#include "openblas.h"

#include <stdlib.h>
#include <string.h>

#include "dynamic.h"

/* Not from cblas.h, which would only make the library's headers a need of the build: CBLAS numbers its enums so. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
typedef void dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                   const double *b, int ldb, double beta, double *c, int ldc);
typedef void sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                   const float *b, int ldb, float beta, float *c, int ldc);

static dgemm *dgemm_of_library;
static sgemm *sgemm_of_library;

static void f64(int T, int N, int K, const double *x, const double *w, double *y)
{
    dgemm_of_library(ROW_MAJOR, NO_TRANS, TRANS, T, N, K, 1.0, x, K, w, K, 0.0, y, N);
}

static void f32(int T, int N, int K, const float *x, const float *w, float *y)
{
    sgemm_of_library(ROW_MAJOR, NO_TRANS, TRANS, T, N, K, 1.0f, x, K, w, K, 0.0f, y, N);
}

ts_status ts_openblas_open(const char *core, int threads, ts_openblas *out, ts_error *err)
{
    static const char name[] = "libopenblas.so.0";
    void *library;
    ts_function f[4];
    static const char *const names[4] = {"cblas_dgemm", "cblas_sgemm", "openblas_get_corename",
                                         "openblas_set_num_threads"};
    if (core && setenv("OPENBLAS_CORETYPE", core, 1))
        return ts_no_memory(err, strlen(core));
    ts_status s = ts_dynamic_installed(name, &library, err);
    for (int i = 0; !s && i < 4; i++)
        s = ts_dynamic_function(library, name, names[i], &f[i], err);
    if (s)
        return s;
    dgemm_of_library = (dgemm *)f[0];
    sgemm_of_library = (sgemm *)f[1];
    ((void (*)(int))f[3])(threads);
    *out = (ts_openblas){((char *(*)(void))f[2])(), threads, f64, f32};
    return TS_OK;
}
