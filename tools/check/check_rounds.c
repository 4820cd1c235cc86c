/* Stream cases with a drafter: speculation changes no token. Greedy rounds of every k give the stream of plain
 * greedy decoding, sample-match rounds that of plain sampling; and fast's records are those of ref32, bit for bit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "config/draft.h"
#include "format/json.h"
#include "format/tokenizer.h"
#include "num/sha256.h"
#include "rounds.h"

enum { FEW_PROMPTS = 2, SHORT_STREAM = 32 };

typedef struct {
    ts_check *k;
    ts_case *c;
    const ts_weights *target;
    ts_weights *drafter;
    const ts_profile *profile;
    ts_tokenizer *tokenizer;
    cJSON *golden; /* prompts */
    int64_t max_new;
    ts_sha256_ctx *sum; /* of ref32's records */
} rounds_case;

/* A prompt, and a stream that must come out of it. */
typedef struct {
    const char *name;
    int32_t *ids;
    size_t n;
} prompt;

static ts_runner_options options(const rounds_case *x, const prompt *p, const char *engine)
{
    return (ts_runner_options){.engine = engine,
                               .profile = x->profile,
                               .capacity = (int64_t)p->n + x->max_new + TS_MAX_DRAFT + 1,
                               .threads = 1,
                               .page_seed = 7,
                               .poison = true};
}

static ts_status plain(const rounds_case *x, const prompt *p, const ts_sampling *s, ts_generated *out,
                       ts_error *err)
{
    ts_runner *r = NULL;
    const ts_runner_options o = options(x, p, "fast");
    ts_status status = ts_runner_open(x->target, &o, &r, err);
    if (status)
        return status;
    ts_stepper stepper = ts_runner_stepper(r);
    const ts_generation g = {.stepper = &stepper, .cfg = &x->target->cfg, .sampling = *s, .max_new = x->max_new};
    status = ts_generate_ids(&g, p->ids, p->n, out, err);
    ts_runner_close(r);
    return status;
}

/* The records as lines. */
typedef struct {
    char *text;
    size_t n;
    FILE *f;
} lines;

static int on_round(void *user, const ts_round *r)
{
    return ts_round_write(((lines *)user)->f, "records", r, NULL) != TS_OK;
}

static ts_status speculate(const rounds_case *x, const prompt *p, const char *engine, int k, ts_verifier verifier,
                           const ts_sampling *s, ts_generated *out, lines *record, ts_error *err)
{
    ts_rounds *r = NULL;
    const ts_runner_options o = options(x, p, engine);
    *record = (lines){0};
    *out = (ts_generated){0};
    ts_status status = ts_rounds_open(x->target, x->drafter, &o, &r, err);
    if (!status && !(record->f = open_memstream(&record->text, &record->n)))
        status = ts_no_memory(err, sizeof *record);
    if (!status) {
        const ts_speculation g = {.engine = ts_rounds_engine(r),
                                  .target = &x->target->cfg,
                                  .drafter = &x->drafter->cfg,
                                  .verifier = verifier,
                                  .k = k,
                                  .capacity = o.capacity,
                                  .sampling = *s,
                                  .max_new = x->max_new,
                                  .on_round = on_round,
                                  .user = record};
        status = ts_speculate_ids(&g, p->ids, p->n, out, err);
    }
    if (record->f)
        fclose(record->f);
    ts_rounds_close(r);
    return status;
}

static void compare_stream(const rounds_case *x, const prompt *p, const char *what, const ts_generated *got,
                           const ts_generated *want)
{
    char detail[256];
    size_t i = 0;
    while (i < got->n && i < want->n && got->ids[i] == want->ids[i])
        i++;
    const bool same = i == got->n && i == want->n;
    snprintf(detail, sizeof detail, "%s parts at step %zu: %d, plain decoding %d\n", p->name, i,
             i < got->n ? got->ids[i] : -1, i < want->n ? want->ids[i] : -1);
    ts_report_add(x->k->report, what, p->name, same ? TS_SAME : TS_FAIL, 0, same ? NULL : detail);
}

/* The first line that differs. */
static void compare_records(const rounds_case *x, const prompt *p, const char *what, const lines *a, const lines *b)
{
    size_t i = 0, line = 1;
    char detail[256];
    for (; i < a->n && i < b->n && a->text[i] == b->text[i]; i++)
        line += a->text[i] == '\n';
    const bool same = a->n == b->n && i == a->n;
    snprintf(detail, sizeof detail, "%s: the records part in round %zu\n", p->name, line);
    ts_report_add(x->k->report, what, p->name, same ? TS_EXACT : TS_FAIL, 0, same ? NULL : detail);
}

/* One way to speculate: its stream is `want`; with `both`, ref32 gives the same records. */
static ts_status one_way(const rounds_case *x, const prompt *p, int k, ts_verifier v, const ts_sampling *s,
                         const ts_generated *want, bool both, ts_error *err)
{
    ts_generated out, ref = {0};
    lines fast, slow = {0};
    char what[64];
    ts_status status = speculate(x, p, "fast", k, v, s, &out, &fast, err);
    snprintf(what, sizeof what, "fast %s k%d = plain", ts_verifier_name(v), k);
    if (!status)
        compare_stream(x, p, what, &out, want);
    if (!status && both)
        status = speculate(x, p, "ref32", k, v, s, &ref, &slow, err);
    if (!status && both) {
        snprintf(what, sizeof what, "fast %s k%d = ref32", ts_verifier_name(v), k);
        compare_records(x, p, what, &fast, &slow);
        ts_sha256_add(x->sum, slow.text, slow.n);
    }
    free(fast.text);
    free(slow.text);
    free(out.ids);
    free(ref.ids);
    return status;
}

static ts_status greedy_ways(const rounds_case *x, const prompt *p, ts_error *err)
{
    static const int ks[] = {1, 2, 3, 7};
    const ts_sampling s = ts_sampling_default();
    ts_generated want = {0};
    ts_status status = plain(x, p, &s, &want, err);
    for (size_t i = 0; i < sizeof ks / sizeof *ks && !status; i++)
        status = one_way(x, p, ks[i], TS_VERIFY_GREEDY, &s, &want, ks[i] == 3 || x->k->o.full, err);
    free(want.ids);
    return status;
}

/* Temperatures and seeds; ratio's stream is not plain sampling's, its records are ref32's all the same. */
static ts_status sampled_ways(const rounds_case *x, const prompt *p, ts_error *err)
{
    ts_status status = TS_OK;
    ts_sampling s = ts_sampling_default();
    s.top_k = 20;
    s.top_p = 0.95f;
    for (int hot = 0; hot < 2; hot++)
        for (s.seed = 1; s.seed <= 3 && !status; s.seed++) {
            ts_generated want = {0};
            s.temperature = hot ? 1.0f : 0.6f;
            const bool both = (hot == 0 && s.seed == 1) || x->k->o.full;
            status = plain(x, p, &s, &want, err);
            if (!status)
                status = one_way(x, p, 3, TS_VERIFY_MATCH, &s, &want, both, err);
            free(want.ids);
        }
    return status;
}

static ts_status run_prompt(const rounds_case *x, const cJSON *one, ts_error *err)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "prompt"));
    prompt p = {.name = one->string};
    ts_status status = text ? ts_tokenizer_encode(x->tokenizer, text, strlen(text), &p.ids, &p.n, err)
                            : ts_fail(err, TS_BAD, x->c->path, one->string, "no prompt");
    if (!status)
        status = greedy_ways(x, &p, err);
    if (!status)
        status = sampled_ways(x, &p, err);
    free(p.ids);
    return status;
}

static ts_status load(rounds_case *x, ts_error *err)
{
    char path[512];
    int64_t bits = 0;
    const char *draft = ts_case_string(x->c, "draft"), *model = ts_case_string(x->c, "model");
    x->profile = ts_profile_find(ts_case_string(x->c, "profile"));
    ts_status s = ts_json_int(x->c->path, x->c->json, "new", 1, 100000, &x->max_new, err);
    if (!s)
        s = ts_json_opt_int(x->c->path, x->c->json, "bits", 0, 8, &bits, err);
    if (!s)
        s = ts_check_model(x->k, model, (int)bits, &x->target, err);
    if (!s)
        s = strcmp(draft, "mtp") == 0 ? ts_weights_load_mtp(x->target, NULL, &x->drafter, err)
                                      : ts_weights_load_dflash(x->target, NULL, &x->drafter, err);
    ts_check_path(x->k, ts_case_string(x->c, "golden"), path, sizeof path);
    if (!s)
        s = ts_json_load(path, &x->golden, err);
    snprintf(path, sizeof path, "%.300s/%.150s/tokenizer.json", x->k->o.golden, model);
    if (!s)
        s = ts_tokenizer_open(path, &x->tokenizer, err);
    x->sum = ts_sha256_new();
    return s || x->sum ? s : ts_no_memory(err, sizeof *x);
}

static ts_status run_prompts(rounds_case *x, ts_error *err)
{
    ts_status status = TS_OK;
    int i = 0;
    if (!x->k->o.grid && x->max_new > SHORT_STREAM)
        x->max_new = SHORT_STREAM;
    for (const cJSON *one = x->golden->child; one && !status; one = one->next, i++)
        if (x->k->o.full || i < FEW_PROMPTS)
            status = run_prompt(x, one, err);
        else if (!x->k->o.rewrite)
            ts_report_add(x->k->report, "fast = plain", one->string, TS_SKIP, 0,
                          "one of ten prompts: --full has them\n");
    return status;
}

void ts_check_rounds_case(ts_check *k, ts_case *c)
{
    rounds_case x = {.k = k, .c = c};
    ts_error err = {0};
    char hex[TS_SHA256_HEX];
    ts_status status = load(&x, &err);
    if (!status)
        status = run_prompts(&x, &err);
    if (status)
        ts_report_error(k->report, "rounds", status, &err);
    if (x.sum)
        ts_sha256_end(x.sum, hex);
    if (!status && !k->o.grid) /* the short streams are what is recorded */
        ts_check_expect(k, c, "rounds", hex);
    cJSON_Delete(x.golden);
    ts_tokenizer_close(x.tokenizer);
    ts_weights_free(x.drafter);
}
