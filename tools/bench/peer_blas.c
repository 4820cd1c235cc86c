#include "bench/peer_blas.h"

#include <stdlib.h>
#include <string.h>

#include "bench/footprint.h"
#include "cpu/isa.h"
#include "num/generate.h"

struct ts_blas_problem {
    const ts_openblas *blas;
    int T, N, K;
    ts_region x, w, y;
};

/* Without a name OpenBLAS takes a CPU newer than itself for a Prescott. SKYLAKEX is in every build that has
 * AVX-512 cores, and its sgemm is that of the later ones. */
const char *ts_blas_core_type(void)
{
    if (ts_isa_runs("avx512"))
        return "SKYLAKEX";
    return ts_isa_runs("avx2") ? "HASWELL" : NULL;
}

static bool old_core(const char *core)
{
    static const char *const old[] = {"Prescott", "Katmai",     "Coppermine", "Northwood", "Banias",  "Core2",
                                      "Penryn",   "Dunnington", "Nehalem",    "Atom",      "Unknown", NULL};
    for (int i = 0; old[i]; i++)
        if (strcmp(core, old[i]) == 0)
            return true;
    return false;
}

static void run(void *context, int64_t copy)
{
    const ts_blas_problem *p = context;
    (void)copy;
    p->blas->f32(p->T, p->N, p->K, (const float *)(void *)p->x.base, (const float *)(void *)p->w.base,
                 (float *)(void *)p->y.base);
}

static ts_status reals(int64_t n, uint32_t stream, ts_region *out, ts_error *err)
{
    ts_status s = ts_region_new((size_t)n * sizeof(float), out, err);
    return s ? s : ts_generate("uniform:-1:1", 1, stream, (float *)(void *)out->base, n, err);
}

ts_status ts_blas_enter(const ts_openblas *b, int64_t T, int64_t N, int64_t K, ts_match *m, ts_blas_problem **out,
                        ts_error *err)
{
    double bytes = 4.0 * ((double)T * (double)K + (double)N * (double)K + (double)T * (double)N);
    if (old_core(b->core))
        return ts_fail(err, TS_BAD, NULL, "OpenBLAS", "its core is %s: no yardstick",
                       b->core);
    ts_blas_problem *p = *out = calloc(1, sizeof *p);
    if (!p)
        return ts_no_memory(err, sizeof *p);
    *p = (ts_blas_problem){.blas = b, .T = (int)T, .N = (int)N, .K = (int)K};
    ts_status s = ts_memory_for(bytes, err);
    if (!s)
        s = reals(T * K, 1, &p->x, err);
    if (!s)
        s = reals(N * K, 2, &p->w, err);
    if (!s)
        s = reals(T * N, 3, &p->y, err);
    ts_contender *c = s ? NULL : ts_match_add(m, "openblas.sgemm", TS_PEER);
    if (!c)
        return s;
    c->run = run;
    c->context = p;
    c->bytes = bytes;
    c->macs = (double)T * (double)N * (double)K;
    return TS_OK;
}

void ts_blas_leave(ts_blas_problem *p)
{
    if (p) {
        ts_region_free(&p->x);
        ts_region_free(&p->w);
        ts_region_free(&p->y);
    }
    free(p);
}
