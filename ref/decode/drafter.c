#include "drafter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double ts_round_real(ts_dtype dtype, const void *x, int64_t i)
{
    return dtype == TS_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static size_t size_of(ts_dtype dtype)
{
    return dtype == TS_F64 ? sizeof(double) : sizeof(float);
}

void *ts_round_row(ts_dtype dtype, void *x, int64_t i, int64_t n)
{
    return (char *)x + (size_t)(i * n) * size_of(dtype);
}

ts_status ts_round_largest(ts_dtype dtype, const void *x, int64_t V, int n, int32_t *id, double *value,
                           ts_error *err)
{
    for (int k = 0; k < n; k++)
        value[k] = -(double)INFINITY;
    for (int64_t v = 0; v < V; v++) {
        const double z = ts_round_real(dtype, x, v);
        if (isnan(z))
            return ts_fail(err, TS_BAD, NULL, "draft logits", "nan at id %lld", (long long)v);
        int k = v < n ? (int)v : n; /* entries that are taken */
        for (; k > 0 && z > value[k - 1]; k--)
            if (k < n) {
                value[k] = value[k - 1];
                id[k] = id[k - 1];
            }
        if (k < n) {
            value[k] = z;
            id[k] = (int32_t)v;
        }
    }
    return TS_OK;
}

ts_status ts_proposal_point(ts_proposal *p, int i, int32_t id, ts_error *err)
{
    ts_distribution *q = &p->q[i];
    *q = (ts_distribution){.id = malloc(sizeof *q->id), .weight = malloc(sizeof *q->weight), .n = 1, .total = 1};
    if (!q->id || !q->weight)
        return ts_no_memory(err, sizeof *q->id + sizeof *q->weight);
    p->draft[i] = q->id[0] = id;
    q->weight[0] = 1;
    return TS_OK;
}

void ts_proposal_free(ts_proposal *p)
{
    for (int i = 0; i < TS_MAX_DRAFT; i++)
        ts_distribution_free(&p->q[i]);
}

static void *reals(const ts_speculation *g, int64_t rows, int64_t n)
{
    return calloc((size_t)rows, (size_t)(n > 0 ? n : 1) * size_of(g->engine->dtype));
}

/* Laws are drawn from where the verifier divides by them; a head of MTP proposes its best. */
static bool draws(const ts_speculation *g)
{
    const bool uses_q = g->verifier == TS_VERIFY_RATIO || g->verifier == TS_VERIFY_BLOCK;
    const bool hot = g->wide ? g->wide->temperature > 0 : g->sampling.temperature > 0;
    return uses_q && hot && g->drafter->dflash.slots > 0;
}

ts_status ts_drafter_new(const ts_speculation *g, int64_t rows, ts_uniforms uniforms, ts_drafter *out,
                         ts_error *err)
{
    const ts_config *c = g->drafter;
    const bool mtp = c->draft == TS_DRAFT_MTP;
    const int64_t k = g->k, room = rows + 1;
    *out = (ts_drafter){.g = g, .uniforms = uniforms, .sampled = draws(g), .room = mtp ? room : 0};
    out->logits = reals(g, mtp ? 1 : k, c->V);
    out->hidden = reals(g, mtp ? room : 1, c->C);
    out->out = reals(g, mtp ? room : 1, c->C);
    out->U = reals(g, 1, c->dflash.slots);
    out->score = reals(g, 1, c->dflash.slots);
    out->rank = reals(g, k, c->dflash.rank);
    if (out->logits && out->hidden && out->out && out->U && out->score && out->rank)
        return TS_OK;
    ts_drafter_free(out);
    return ts_no_memory(err, (unsigned long)(k * c->V));
}

void ts_drafter_free(ts_drafter *d)
{
    free(d->logits);
    free(d->hidden);
    free(d->out);
    free(d->U);
    free(d->score);
    free(d->rank);
    *d = (ts_drafter){0};
}

ts_status ts_drafter_absorb(ts_drafter *d, const int32_t *ids, size_t n_ids, int64_t T, const ts_taps *taps,
                            ts_error *err)
{
    const ts_round_engine *e = d->g->engine;
    return d->g->drafter->draft == TS_DRAFT_MTP ? ts_mtp_absorb(d, ids, n_ids, T, taps, err)
                                                : e->context(e->ctx, taps->stream, T, err);
}

ts_status ts_drafter_propose(ts_drafter *d, const int32_t *ids, int64_t n, int k, ts_proposal *out, ts_error *err)
{
    *out = (ts_proposal){.k = k};
    ts_status status = TS_OK;
    if (d->g->drafter->draft == TS_DRAFT_MTP)
        status = ts_mtp_propose(d, ids, n, k, out, err);
    else if (k > 0)
        status = ts_dflash_propose(d, ids, n, k, out, err);
    if (status)
        ts_proposal_free(out);
    return status;
}
