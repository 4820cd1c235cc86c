/* Engines that are not quite the reference, as touchstone stats sees them: a rounding more in the drafter, taps one
 * layer early, a target with other weights. */
#include "decode/speculation.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "format/json.h"
#include "format/tokenizer.h"
#include "num/convert.h"
#include "stats/match.h"

enum { TOKENS = 64, K = 7, CONTEXT = 512 };

/* The engine as it should be; those below have its context. */
static const ts_round_engine *inner;

/* One logit is off: another target. */
static ts_status other_forward(void *ctx, const int32_t *ids, int64_t T, int64_t rows, void *logits,
                               const ts_taps *taps, ts_error *err)
{
    const int64_t V = 2048;
    ts_status status = inner->forward(ctx, ids, T, rows, logits, taps, err);
    for (int64_t t = 0; t < rows; t++)
        ((float *)logits)[t * V + 198] += 2.0f; /* the line break */
    return status;
}

static void another_forward(ts_round_engine *e)
{
    e->forward = other_forward;
}

/* One bf16 rounding more. */
static ts_status rounded_scores(void *ctx, int32_t prev, const int32_t *cand, const void *U, const void *g, void *s,
                                ts_error *err)
{
    ts_status status = inner->scores(ctx, prev, cand, U, g, s, err);
    for (int i = 0; i < TS_MAX_SLOTS; i++)
        ((float *)s)[i] = ts_bf16_to_f32(ts_f32_to_bf16(((float *)s)[i]));
    return status;
}

static void round_scores(ts_round_engine *e)
{
    e->scores = rounded_scores;
}

static void faithful(ts_round_engine *e)
{
    (void)e;
}

typedef void spoiler(ts_round_engine *e);

enum { PROMPTS = 10 };

typedef struct {
    ts_stat_record *record;
    const char *prompt;
    ts_round round[TOKENS]; /* of this prompt */
    size_t n;
} collector;

typedef struct {
    models m;
    ts_tokenizer *tokenizer;
    cJSON *prompts;
    collector right[PROMPTS]; /* the engine as it is */
    ts_stat_record record;
} fixture;

static int collect(void *user, const ts_round *r)
{
    collector *c = user;
    c->round[c->n++] = *r;
    ts_stat_round x = {.n = r->n,
                       .anchor = r->anchor,
                       .final = r->final,
                       .k = r->k,
                       .a = r->a,
                       .emitted = r->n_emitted,
                       .slack = r->min_margin};
    memcpy(x.draft, r->draft, sizeof x.draft);
    return ts_stat_add(c->record, &x, c->prompt, NULL) != TS_OK;
}

/* Free, or led along the rounds of `guide`. */
static void run_prompt(const fixture *f, const cJSON *one, spoiler *spoil, const ts_config *drafter,
                       const collector *guide, collector *c)
{
    const char *text = cJSON_GetObjectItem(one, "prompt")->valuestring;
    int32_t *ids = NULL;
    size_t n = 0;
    ts_error err = {0};
    ts_generated g = {0};
    must(ts_tokenizer_encode(f->tokenizer, text, strlen(text), &ids, &n, &err), &err);
    const int64_t capacity = (int64_t)n + TOKENS + K + 1;
    ts_rounds *r = open_rounds(&f->m, f->m.dflash, "fast", capacity, K);
    inner = ts_rounds_engine(r);
    ts_round_engine engine = *inner;
    spoil(&engine);
    const ts_speculation how = {.engine = &engine,
                                .target = &f->m.target->cfg,
                                .drafter = drafter,
                                .verifier = TS_VERIFY_GREEDY,
                                .k = K,
                                .capacity = capacity,
                                .sampling = ts_sampling_default(),
                                .max_new = TOKENS,
                                .on_round = collect,
                                .user = c};
    must(guide ? ts_speculate_along(&how, ids, n, guide->round, guide->n, &g, &err)
               : ts_speculate_ids(&how, ids, n, &g, &err),
         &err);
    free(g.ids);
    free(ids);
    ts_rounds_close(r);
}

/* The engine as it is, and spoilt, on every prompt. */
static ts_match compare(const fixture *f, spoiler *spoil, const ts_config *drafter, bool led)
{
    static collector other;
    ts_match m;
    ts_error err = {0};
    ts_stat_record b = {.path = "other"};
    for (int i = 0; i < PROMPTS; i++) {
        const cJSON *one = cJSON_GetArrayItem(f->prompts, i);
        other = (collector){.record = &b, .prompt = one->string};
        run_prompt(f, one, spoil, drafter, led ? &f->right[i] : NULL, &other);
    }
    must(ts_match_records(&f->record, &b, 0.01, (double)NAN, &m, &err), &err);
    ts_stat_free(&b);
    return m;
}

static void a_rounding_in_the_drafter(void **state)
{
    const fixture *f = *state;
    const ts_match m = compare(f, round_scores, &f->m.dflash->cfg, false);
    assert_true(m.level != TS_MATCH_EXACT); /* seen */
    assert_int_equal(m.tokens.prompts, 10);
    assert_int_equal(m.tokens.parted, 0); /* one target stream */
    assert_true(m.tokens.same > 500);
    assert_false(m.alarm);
}

/* GGUF's numbers taken for Hugging Face's. */
static void taps_one_layer_late(void **state)
{
    const fixture *f = *state;
    ts_config late = f->m.dflash->cfg;
    for (int64_t i = 0; i < late.dflash.taps; i++)
        late.dflash.tap[i]++;
    const ts_match m = compare(f, faithful, &late, true);
    assert_int_equal(m.level, TS_MATCH_PAIRED);
    assert_true(m.alarm && m.fewer > m.more);
    assert_true(m.alone_p[1] < 0.01 && m.alone[0][1] > m.alone[1][1]);
}

/* An engine led along its own rounds has them again. */
static void led_along_itself(void **state)
{
    const fixture *f = *state;
    assert_int_equal(compare(f, faithful, &f->m.dflash->cfg, true).level, TS_MATCH_EXACT);
}

static void another_target(void **state)
{
    const fixture *f = *state;
    const ts_match m = compare(f, another_forward, &f->m.dflash->cfg, false);
    assert_true(m.tokens.parted > 0);
}

static int setup(void **state)
{
    static fixture f;
    ts_error err = {0};
    f.m = load_models(TINY);
    must(ts_tokenizer_open(TINY "/tokenizer.json", &f.tokenizer, &err), &err);
    must(ts_json_load("golden/external/spec-greedy-dflash7.json", &f.prompts, &err), &err);
    f.record.path = "right";
    for (int i = 0; i < PROMPTS; i++) {
        const cJSON *one = cJSON_GetArrayItem(f.prompts, i);
        f.right[i] = (collector){.record = &f.record, .prompt = one->string};
        run_prompt(&f, one, faithful, &f.m.dflash->cfg, NULL, &f.right[i]);
    }
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    ts_stat_free(&f->record);
    free_models(&f->m);
    ts_tokenizer_close(f->tokenizer);
    cJSON_Delete(f->prompts);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rounding_in_the_drafter),
        cmocka_unit_test(taps_one_layer_late),
        cmocka_unit_test(another_target),
        cmocka_unit_test(led_along_itself),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
