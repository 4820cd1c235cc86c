/* The record of one draft-verify round (docs/speculation.md): what was proposed, with which numbers it was judged,
 * what came out. `rounds` of run.json is an array of them, a .jsonl file has one a line. */
#ifndef TS_DECODE_ROUND_H
#define TS_DECODE_ROUND_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include "num/sha256.h"
#include "verifier.h"

enum { TS_ROUND_SCHEMA = 1, TS_MAX_SLOTS = 16, TS_ROUND_TOP = 4, TS_ROUND_NAME = 64 };

typedef struct {
    char prompt[TS_ROUND_NAME]; /* whose rounds, "" if there is only one */
    int64_t n;                  /* position of the anchor */
    int32_t anchor;
    int k;
    int32_t draft[TS_MAX_DRAFT];
    int tested; /* entries of u and p_d, 0: none were used or recorded */
    double u[TS_MAX_DRAFT], p_d[TS_MAX_DRAFT];
    bool has_q_d, has_final_u;
    double q_d[TS_MAX_DRAFT];
    int a;
    int32_t final;
    double final_u;
    int slots; /* of a drafter's candidates, 0: not recorded */
    int32_t cand[TS_MAX_DRAFT][TS_MAX_SLOTS];
    bool has_score, has_top;
    double score[TS_MAX_DRAFT][TS_MAX_SLOTS];
    double top[TS_MAX_DRAFT][TS_ROUND_TOP]; /* largest logits of each draft step of MTP */
    double min_margin, min_slack;           /* infinite: not recorded */
    int n_emitted;                          /* what of d_1..d_a, final went out: cut at a stop id or the budget */
    int32_t emitted[TS_MAX_DRAFT + 1];
    /* sha256 of the state after the round: recurrent, convolution, KV, drafter's context; "" if not recorded */
    char hash_S[TS_SHA256_HEX], hash_conv[TS_SHA256_HEX], hash_kv[TS_SHA256_HEX], hash_ctx[TS_SHA256_HEX];
} ts_round;

/* What a verifier was asked and answered; all a + 1 tokens emitted. Names, candidates and hashes are the caller's.
 */
void ts_round_of(const ts_verify_input *in, const ts_round_verdict *v, int32_t anchor, ts_round *out);

/* An object to print (its floats are raw text); every float X also as X_hex, the bits of its double. NULL: out of
 * memory. */
cJSON *ts_round_json(const ts_round *r);
/* The object and a newline. */
ts_status ts_round_write(FILE *f, const char *file, const ts_round *r, ts_error *err);

/* The inverse. TS_BAD for what is no round: a member missing, unknown, of another type, size or range; bits that
 * are not the number's; another schema; emitted tokens that the round did not accept. `where` ("rounds.jsonl:7")
 * goes into the error, with the member. need_schema: false for rounds inside a file that has one, or of others. */
ts_status ts_round_parse(const char *where, const cJSON *o, bool need_schema, ts_round *out, ts_error *err);

/* Names the round's prompt. TS_BAD for what does not fit and for control characters. */
ts_status ts_round_name(const char *where, const char *name, ts_round *out, ts_error *err);

/* All rounds of a file, in order: lines (.jsonl, or a first line that is a round), {"rounds": [...]}, or, as the
 * outside goldens have them, {"cases": {NAME: {"rounds"}}} and {NAME: {"rounds"}}, NAME then being the prompt.
 * TS_BAD if there is none; what `each` returns ends the reading. */
ts_status ts_rounds_load(const char *file, ts_status (*each)(void *user, const ts_round *r, ts_error *err),
                         void *user, ts_error *err);

#endif
