/* Private to decode: what proposes, and its proposals. */
#ifndef TS_DECODE_DRAFTER_H
#define TS_DECODE_DRAFTER_H

#include "speculate.h"

typedef struct {
    const ts_speculation *g;
    ts_uniforms uniforms;
    bool sampled; /* drafts are drawn from their law; else the best, as a point mass */
    /* MTP: hidden states of committed rows whose next token was not known yet, or that no draft has needed yet */
    int64_t waiting, room, fed; /* rows; fed: rows that the head has run */
    void *hidden, *out;         /* [room][C] */
    void *logits;               /* [k][V], of MTP one row */
    void *U, *score, *rank;     /* DFlash2: [slots] [slots] [k][rank] */
} ts_drafter;

typedef struct {
    int k;
    int32_t draft[TS_MAX_DRAFT];
    ts_distribution q[TS_MAX_DRAFT]; /* of those that were drafted; ts_proposal_free */
    int slots;
    int32_t cand[TS_MAX_DRAFT][TS_MAX_SLOTS];
    double score[TS_MAX_DRAFT][TS_MAX_SLOTS];
    bool has_top;
    double top[TS_MAX_DRAFT][TS_ROUND_TOP];
} ts_proposal;

/* rows: of the longest pass that is absorbed. */
ts_status ts_drafter_new(const ts_speculation *g, int64_t rows, ts_uniforms uniforms, ts_drafter *out,
                         ts_error *err);
void ts_drafter_free(ts_drafter *d);
/* The target has run T more tokens for good; n_ids tokens are known, ids[]. */
ts_status ts_drafter_absorb(ts_drafter *d, const int32_t *ids, size_t n_ids, int64_t T, const ts_taps *taps,
                            ts_error *err);
/* k proposals after ids[n], the anchor. */
ts_status ts_drafter_propose(ts_drafter *d, const int32_t *ids, int64_t n, int k, ts_proposal *out, ts_error *err);
void ts_proposal_free(ts_proposal *p);

ts_status ts_mtp_absorb(ts_drafter *d, const int32_t *ids, size_t n_ids, int64_t T, const ts_taps *taps,
                        ts_error *err);
ts_status ts_mtp_propose(ts_drafter *d, const int32_t *ids, int64_t n, int k, ts_proposal *out, ts_error *err);
ts_status ts_dflash_propose(ts_drafter *d, const int32_t *ids, int64_t n, int k, ts_proposal *out, ts_error *err);

/* q[i] = all of it at draft[i]. */
ts_status ts_proposal_point(ts_proposal *p, int i, int32_t id, ts_error *err);
/* Element i of an array of the engine's reals. */
double ts_round_real(ts_dtype dtype, const void *x, int64_t i);
/* Row i of width n. */
void *ts_round_row(ts_dtype dtype, void *x, int64_t i, int64_t n);
/* The largest n of V, the first of equals first; id may be NULL. TS_BAD: a NaN. */
ts_status ts_round_largest(ts_dtype dtype, const void *x, int64_t V, int n, int32_t *id, double *value,
                           ts_error *err);

#endif
