/* Verification: how many of a round's k proposals the target keeps, and the token after them.
 *
 * The anchor, the newest emitted token, is at position n. Draft i (1..k) proposes for position n + i. Row j (0..k)
 * of the target decides position n + j + 1: draft i is tested against row i - 1, and row a gives the final token. A
 * verifier is a pure function of rows, drafts, the laws q that the drafts were drawn from, and uniforms. It emits
 * d_1..d_a and the final token: a + 1 tokens.
 *
 * | verifier | uses | keeps draft i iff | final token after a < k | after a = k |
 * |---|---|---|---|---|
 * | greedy | rows | d is the row's first entry (lowest id of the largest) | that entry | that entry |
 * | ratio  | rows, q | u q(d) < p(d), all before kept | ~ max(p - q, 0) | ~ p |
 * | point  | rows | ratio with q = 1 at d | ~ p without d | ~ p |
 * | match  | rows | d is what plain sampling draws here | that draw | that draw |
 * | block  | rows, q | a = last i with u_i < h_i, see verify_block.c | ~ max(P_a p - q, 0) | ~ p |
 *
 * Every law is the target's, also for greedy with rows of one entry. Numbers are those of `uniforms` for (position,
 * purpose): ACCEPT (block: ts_draw_in_block of it) and RESIDUAL at every tested position, SAMPLE for the bonus and
 * for match. */
#ifndef TS_DECODE_VERIFIER_H
#define TS_DECODE_VERIFIER_H

#include "distribution.h"
#include "uniforms.h"

enum { TS_MAX_DRAFT = 32 };

typedef enum { TS_VERIFY_GREEDY, TS_VERIFY_RATIO, TS_VERIFY_POINT, TS_VERIFY_MATCH, TS_VERIFY_BLOCK } ts_verifier;
enum { TS_VERIFIERS = TS_VERIFY_BLOCK + 1 };

typedef struct {
    uint64_t n;                  /* position of the anchor */
    int k;                       /* 0..TS_MAX_DRAFT */
    const int32_t *draft;        /* [k] */
    const ts_distribution *p;    /* [k+1] */
    const ts_distribution *q;    /* [k]: of ratio and block; q(d) > 0 */
    const ts_uniforms *uniforms; /* of all but greedy */
} ts_verify_input;

typedef struct {
    int a;         /* proposals kept */
    int32_t final; /* the token after them */
    int tested;    /* entries of u and p_d: 0 for greedy, k for block, else min(a + 1, k) */
    bool drawn;    /* final_u was used: all but greedy */
    double u[TS_MAX_DRAFT], p_d[TS_MAX_DRAFT];
    double q_d[TS_MAX_DRAFT]; /* k of them */
    double final_u;
    double min_slack;  /* smallest distance, as a probability, of a number from where it would decide otherwise:
                        * |u q(d) - p(d)| or |u - h|, and the final draw's from an edge; infinite for greedy */
    double min_margin; /* smallest top-1 minus top-2 logit of rows 0..a */
} ts_round_verdict;

/* Errors: k out of range, a law that is none, a draft that its own law excludes, what `uniforms` reports. */
ts_status ts_verify_greedy(const ts_verify_input *in, ts_round_verdict *out, ts_error *err);
ts_status ts_verify_ratio(const ts_verify_input *in, ts_round_verdict *out, ts_error *err);
ts_status ts_verify_point(const ts_verify_input *in, ts_round_verdict *out, ts_error *err);
ts_status ts_verify_match(const ts_verify_input *in, ts_round_verdict *out, ts_error *err);
ts_status ts_verify_block(const ts_verify_input *in, ts_round_verdict *out, ts_error *err);

ts_status ts_verify_round(ts_verifier which, const ts_verify_input *in, ts_round_verdict *out, ts_error *err);
const char *ts_verifier_name(ts_verifier which);                             /* "greedy" */
ts_status ts_verifier_of(const char *name, ts_verifier *out, ts_error *err); /* TS_USAGE for another name */

/* The target's laws for logits[k+1][V] f32: row j with the history of its own position, prompt and output up to the
 * anchor (history[n_history]) and drafts 1..j. Frees nothing on success: p[k+1] are the caller's; on error p is
 * empty. */
ts_status ts_verify_rows(const ts_sampling *s, const float *logits, int64_t V, const int32_t *history,
                         size_t n_history, const int32_t *draft, int k, ts_distribution *p, ts_error *err);

#endif
