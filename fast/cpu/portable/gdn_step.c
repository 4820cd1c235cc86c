#include "schedule.h"

#include "cpu/portable/elementary.h"
#include "num/real.h"

enum { BLOCK = 32 }; /* columns j of the state: their chains stay in registers, their state in L1 */

/* All tokens for columns j .. j+n of head h: columns never meet. */
static inline void columns(const ts_gdn_args *a, int64_t h, int64_t j, int n)
{
    int64_t kh = h / (a->Hv / a->Hk);
    float *S = a->state + h * a->Dk * a->Dv + j;
    for (int64_t t = 0; t < a->T; t++) {
        const float *q = a->q + (t * a->Hk + kh) * a->Dk, *k = a->k + (t * a->Hk + kh) * a->Dk;
        const float *v = a->v + (t * a->Hv + h) * a->Dv + j;
        float decay = ts_fast_exp(a->g[t * a->Hv + h]), beta = a->beta[t * a->Hv + h];
        float p[BLOCK] = {0}, d[BLOCK], o[BLOCK] = {0};
        for (int64_t i = 0; i < a->Dk; i++)
            for (int c = 0; c < n; c++) {
                float s = S[i * a->Dv + c] * decay;
                S[i * a->Dv + c] = s;
                p[c] = ts_fma(k[i], s, p[c]);
            }
        for (int c = 0; c < n; c++)
            d[c] = (v[c] - p[c]) * beta;
        for (int64_t i = 0; i < a->Dk; i++)
            for (int c = 0; c < n; c++) {
                float s = ts_fma(k[i], d[c], S[i * a->Dv + c]);
                S[i * a->Dv + c] = s;
                o[c] = ts_fma(q[i], s, o[c]);
            }
        for (int c = 0; c < n; c++)
            a->o[(t * a->Hv + h) * a->Dv + j + c] = o[c];
    }
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_gdn_args *a = args;
    for (int64_t h = begin; h < end; h++) {
        int64_t j = 0;
        for (; j + BLOCK <= a->Dv; j += BLOCK)
            columns(a, h, j, BLOCK);
        if (j < a->Dv)
            columns(a, h, j, (int)(a->Dv - j));
    }
}

const ts_schedule ts_gdn_step_portable = {
    .name = "gdn_step.portable",
    .op = TS_OP_GDN_STEP,
    .backend = "cpu",
    .shapes = "any",
    .order = "gdn-step",
    .profile = "any",
    .exposes = "",
    .run = run,
};
