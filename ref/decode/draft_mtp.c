/* The rows of a head of multi-token prediction. Row p pairs the trunk's hidden state of token p with token p + 1;
 * rows of a chain, which pair the head's own output with a draft, last for the round only. */
#include <string.h>

#include "drafter.h"

/* Runs the waiting rows whose next token is known; logits (of the last one) may be NULL. */
static ts_status feed(ts_drafter *d, const int32_t *ids, size_t n_ids, void *logits, int64_t *rows, ts_error *err)
{
    const ts_round_engine *e = d->g->engine;
    const int64_t C = d->g->drafter->C, known = (int64_t)n_ids - 1 - d->fed;
    const int64_t T = d->waiting < known ? d->waiting : known;
    *rows = T;
    if (T <= 0)
        return TS_OK;
    ts_status status = e->mtp(e->ctx, ids + d->fed + 1, d->hidden, T, logits, d->out, err);
    if (status)
        return status;
    d->fed += T;
    d->waiting -= T;
    memmove(d->hidden, ts_round_row(e->dtype, d->hidden, T, C),
            (size_t)((char *)ts_round_row(e->dtype, d->hidden, d->waiting, C) - (char *)d->hidden));
    return TS_OK;
}

ts_status ts_mtp_absorb(ts_drafter *d, const int32_t *ids, size_t n_ids, int64_t T, const ts_taps *taps,
                        ts_error *err)
{
    const ts_dtype dtype = d->g->engine->dtype;
    const int64_t C = d->g->drafter->C;
    int64_t rows;
    ts_status status = d->waiting + T > d->room ? feed(d, ids, n_ids, NULL, &rows, err) : TS_OK;
    if (status)
        return status;
    memcpy(ts_round_row(dtype, d->hidden, d->waiting, C), taps->hidden,
           (size_t)((char *)ts_round_row(dtype, d->hidden, T, C) - (char *)d->hidden));
    d->waiting += T;
    return TS_OK;
}

/* The draft of a row's logits: the best, with the largest for the record. */
static ts_status choose(ts_drafter *d, int i, ts_proposal *out, ts_error *err)
{
    int32_t id[TS_ROUND_TOP] = {0};
    ts_status status = ts_round_largest(d->g->engine->dtype, d->logits, d->g->drafter->V, TS_ROUND_TOP, id,
                                        out->top[i], err);
    return status ? status : ts_proposal_point(out, i, id[0], err);
}

/* Step 1 catches up with what was committed, its last row pairs the anchor; step j runs the draft before it. */
ts_status ts_mtp_propose(ts_drafter *d, const int32_t *ids, int64_t n, int k, ts_proposal *out, ts_error *err)
{
    const ts_round_engine *e = d->g->engine;
    int64_t rows;
    ts_status status = feed(d, ids, (size_t)n + 1, d->logits, &rows, err);
    if (!status && rows < 1)
        return ts_fail(err, TS_BAD, NULL, "mtp", "no row waits for the anchor");
    const void *last = ts_round_row(e->dtype, d->out, rows - 1, d->g->drafter->C);
    for (int i = 0; i < k && !status; i++) {
        if (i > 0) {
            status = e->mtp(e->ctx, &out->draft[i - 1], last, 1, d->logits, d->out, err);
            last = d->out;
        }
        if (!status)
            status = choose(d, i, out, err);
    }
    out->has_top = k > 0;
    return status ? status : e->mtp_rewind(e->ctx, d->fed, err);
}
