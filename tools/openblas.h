/* OpenBLAS, another coding of the plain matrix product: a witness of ref64 and a peer of the fast matmuls. Loaded when
 * first asked for, because it starts threads as it is loaded, and settles then on the core it runs on. */
#ifndef TS_TOOLS_OPENBLAS_H
#define TS_TOOLS_OPENBLAS_H

#include "num/status.h"

typedef struct {
    const char *core; /* what it runs on, as it says */
    int threads;
    /* y[T,N] = x[T,K] w[N,K]^T */
    void (*f64)(int T, int N, int K, const double *x, const double *w, double *y);
    void (*f32)(int T, int N, int K, const float *x, const float *w, float *y);
} ts_openblas;

/* core: an OPENBLAS_CORETYPE, or NULL for that of the environment or its own choice. The first call in a process
 * decides. TS_USAGE: it is not installed. */
ts_status ts_openblas_open(const char *core, int threads, ts_openblas *out, ts_error *err);

#endif
