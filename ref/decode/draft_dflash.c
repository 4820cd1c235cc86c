/* The block of a DFlash drafter, and DFlash2's walk through its candidates. */
#include <string.h>

#include "draw.h"
#include "drafter.h"

/* Version 1: every row's best. */
static ts_status best(ts_drafter *d, const void *logits, int i, ts_proposal *out, ts_error *err)
{
    int32_t id;
    double value;
    ts_status status = ts_round_largest(d->g->engine->dtype, logits, d->g->drafter->V, 1, &id, &value, err);
    return status ? status : ts_proposal_point(out, i, id, err);
}

/* softmax(score / T) over the slots. */
static ts_status law(ts_drafter *d, int i, ts_proposal *out, ts_error *err)
{
    const ts_speculation *g = d->g;
    float narrow[TS_MAX_SLOTS];
    if (g->wide)
        return ts_draft_distribution64(out->score[i], out->cand[i], out->slots, g->wide->temperature, &out->q[i],
                                       err);
    for (int s = 0; s < out->slots; s++)
        narrow[s] = (float)out->score[i][s];
    return ts_draft_distribution(narrow, out->cand[i], out->slots, g->sampling.temperature, &out->q[i], err);
}

/* Draws draft i, which proposes for `position`. */
static ts_status draw(ts_drafter *d, int64_t position, int i, ts_proposal *out, ts_error *err)
{
    const uint32_t purpose = d->g->verifier == TS_VERIFY_BLOCK ? ts_draw_in_block(TS_DRAW_DRAFT, i + 1)
                                                               : TS_DRAW_DRAFT;
    double u;
    ts_status status = law(d, i, out, err);
    if (!status)
        status = d->uniforms.draw(d->uniforms.ctx, (uint64_t)position, purpose, &u, err);
    if (!status)
        out->draft[i] = ts_draw(&out->q[i], u).id;
    return status;
}

/* Candidates of row i, scored as followers of prev. */
static ts_status score(ts_drafter *d, int32_t prev, int i, ts_proposal *out, ts_error *err)
{
    const ts_round_engine *e = d->g->engine;
    const ts_config *c = d->g->drafter;
    const void *logits = ts_round_row(e->dtype, d->logits, i, c->V);
    ts_status status = e->candidates(e->ctx, logits, out->cand[i], d->U, err);
    if (!status)
        status = e->scores(e->ctx, prev, out->cand[i], d->U, ts_round_row(e->dtype, d->rank, i, c->dflash.rank),
                           d->score, err);
    for (int s = 0; s < out->slots && !status; s++)
        out->score[i][s] = ts_round_real(e->dtype, d->score, s);
    return status;
}

/* The slot of the largest score, of equals the one with the larger logit, which stands first. */
static ts_status choose(int i, ts_proposal *out, ts_error *err)
{
    int at = 0;
    for (int s = 1; s < out->slots; s++)
        if (out->score[i][s] > out->score[i][at])
            at = s;
    return ts_proposal_point(out, i, out->cand[i][at], err);
}

ts_status ts_dflash_propose(ts_drafter *d, const int32_t *ids, int64_t n, int k, ts_proposal *out, ts_error *err)
{
    const ts_round_engine *e = d->g->engine;
    const ts_config *c = d->g->drafter;
    out->slots = (int)c->dflash.slots;
    ts_status status = e->block(e->ctx, ids[n], k, d->logits, d->rank, err);
    for (int i = 0; i < k && !status; i++) {
        if (out->slots == 0) {
            status = best(d, ts_round_row(e->dtype, d->logits, i, c->V), i, out, err);
            continue;
        }
        status = score(d, i == 0 ? ids[n] : out->draft[i - 1], i, out, err);
        if (!status)
            status = d->sampled ? draw(d, n + 1 + i, i, out, err) : choose(i, out, err);
    }
    return status;
}
