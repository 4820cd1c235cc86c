/* Goldens of speculation: every round of ten prompts, drafted and verified in float64. Integers, candidates and
 * uniforms must be equal; scores, logits and probabilities agree to 1e-12 of the largest value of their kind. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/external.h"
#include "config/draft.h"
#include "format/json.h"
#include "format/tokenizer.h"
#include "rounds.h"

/* What the golden has not. */
#define NONE ((double)NAN)

enum { FEW_PROMPTS = 3 };

static const double limit = 1e-12;

typedef struct {
    ts_check *k;
    const ts_weights *target, *drafter;
    const ts_tokenizer *tokenizer;
    const cJSON *all; /* NULL: greedy */
    ts_filter64 filter;
    uint64_t seed;
} golden;

/* The rounds of one prompt: what the golden has, and how far the worst number is off. */
typedef struct {
    const cJSON *want; /* the next round */
    int64_t rounds;
    double worst;
    char detail[512];
} comparison;

static bool fail(comparison *c, const char *what, int64_t i, double got, double want)
{
    if (!c->detail[0])
        snprintf(c->detail, sizeof c->detail, "round %lld: %s[%lld] %.17g, golden %.17g\n", (long long)c->rounds,
                 what, (long long)i, got, want);
    return false;
}

static const cJSON *member(const comparison *c, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(c->want, name);
}

static bool same_ids(comparison *c, const char *name, const int32_t *got, int64_t n)
{
    const cJSON *list = member(c, name), *i = list ? list->child : NULL;
    for (int64_t at = 0; at < n; at++, i = i->next)
        if (!i || i->valueint != got[at])
            return fail(c, name, at, got[at], i ? i->valuedouble : NONE);
    return i ? fail(c, name, n, NONE, i->valuedouble) : true;
}

static bool same_int(comparison *c, const char *name, int64_t got)
{
    const cJSON *i = member(c, name);
    return i && i->valuedouble == (double)got ? true : fail(c, name, 0, (double)got, i ? i->valuedouble : NONE);
}

/* Within the limit, relative to numbers above 1. */
static bool near(comparison *c, const char *name, int64_t at, double got, const cJSON *want)
{
    const double scale = want ? fmax(1, fabs(want->valuedouble)) : 1;
    const double e = want ? fabs(got - want->valuedouble) / scale : HUGE_VAL;
    if (e > c->worst || isnan(e))
        c->worst = isnan(e) ? HUGE_VAL : e;
    return e <= limit ? true : fail(c, name, at, got, want ? want->valuedouble : NONE);
}

static bool near_list(comparison *c, const char *name, const double *got, int64_t n)
{
    const cJSON *list = member(c, name), *i = list ? list->child : NULL;
    bool ok = true;
    for (int64_t at = 0; at < n; at++, i = i ? i->next : NULL)
        ok &= near(c, name, at, got[at], i);
    return i ? fail(c, name, n, NONE, i->valuedouble) : ok;
}

/* Rows of `width` numbers, or integers; the golden keeps these of some rounds only. */
static bool same_rows(comparison *c, const char *name, const ts_round *r, bool integers)
{
    const cJSON *rows = member(c, name);
    const bool top = strcmp(name, "top") == 0;
    const int width = top ? TS_ROUND_TOP : r->slots;
    bool ok = true;
    int i = 0;
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next, i++) {
        int s = 0;
        for (const cJSON *x = row->child; x && i < r->k && s < width; x = x->next, s++) {
            if (integers)
                ok &= x->valueint == r->cand[i][s] ? true : fail(c, name, i, r->cand[i][s], x->valuedouble);
            else
                ok &= near(c, name, i, top ? r->top[i][s] : r->score[i][s], x);
        }
        if (s != width || cJSON_GetArraySize(row) != width)
            ok = fail(c, name, i, s, NONE);
    }
    return !rows || i == r->k ? ok : fail(c, name, i, r->k, NONE);
}

static bool exact_u(comparison *c, const ts_round *r)
{
    const cJSON *list = member(c, "u"), *i = list ? list->child : NULL;
    for (int at = 0; at < r->tested; at++, i = i->next)
        if (!i || i->valuedouble != r->u[at])
            return fail(c, "u", at, r->u[at], i ? i->valuedouble : NONE);
    return i ? fail(c, "u", r->tested, NONE, i->valuedouble) : true;
}

static int compare(void *user, const ts_round *r)
{
    comparison *c = user;
    if (!c->want)
        return !fail(c, "round", c->rounds, 1, NONE);
    bool ok = same_int(c, "n", r->n) && same_int(c, "anchor", r->anchor) && same_ids(c, "draft", r->draft, r->k) &&
              same_int(c, "a", r->a) && same_int(c, "final", r->final) && same_rows(c, "cand", r, true) &&
              same_rows(c, "score", r, false) && same_rows(c, "top", r, false);
    if (member(c, "min_margin"))
        ok = ok && near(c, "min_margin", 0, r->min_margin, member(c, "min_margin"));
    if (member(c, "u"))
        ok = ok && exact_u(c, r) && near_list(c, "p_d", r->p_d, r->tested) && near_list(c, "q_d", r->q_d, r->k) &&
             near(c, "min_slack", 0, r->min_slack, member(c, "min_slack"));
    c->want = c->want->next;
    c->rounds++;
    return !ok;
}

static ts_status run(const golden *g, const char *prompt, int k, comparison *c, ts_error *err)
{
    enum { BUDGET = 64 };
    int32_t *ids = NULL;
    size_t n = 0;
    ts_rounds *r = NULL;
    ts_generated out = {0};
    ts_status s = ts_tokenizer_encode(g->tokenizer, prompt, strlen(prompt), &ids, &n, err);
    const ts_runner_options o = {.engine = "ref64",
                                 .profile = ts_profile_find("exact"),
                                 .capacity = (int64_t)n + BUDGET + k + 1,
                                 .threads = 1};
    if (!s)
        s = ts_rounds_open(g->target, g->drafter, &o, &r, err);
    if (!s) {
        ts_speculation x = {.engine = ts_rounds_engine(r),
                            .target = &g->target->cfg,
                            .drafter = &g->drafter->cfg,
                            .verifier = g->all ? TS_VERIFY_RATIO : TS_VERIFY_GREEDY,
                            .k = k,
                            .capacity = o.capacity,
                            .sampling = ts_sampling_default(),
                            .wide = &g->filter,
                            .max_new = BUDGET,
                            .on_round = compare,
                            .user = c};
        x.sampling.seed = g->seed;
        s = ts_speculate_ids(&x, ids, n, &out, err);
    }
    free(out.ids);
    free(ids);
    ts_rounds_close(r);
    return s;
}

static ts_status prompt_rounds(const golden *g, const cJSON *one, ts_error *err)
{
    const char *prompt = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "prompt"));
    const cJSON *rounds = cJSON_GetObjectItemCaseSensitive(one, "rounds");
    int64_t k = 0;
    ts_status s = ts_json_int(one->string, one, "k", 1, TS_MAX_DRAFT, &k, err);
    if (!s && (!prompt || !cJSON_IsArray(rounds) || !rounds->child))
        s = ts_fail(err, TS_BAD, NULL, one->string, "no prompt or no rounds");
    comparison c = {.want = s ? NULL : rounds->child};
    if (!s)
        s = run(g, prompt, (int)k, &c, err);
    if (s)
        return s;
    if (c.want)
        fail(&c, "round", c.rounds, NONE, (double)c.rounds);
    ts_report_add(g->k->report, "ref64 ~ golden", one->string, c.detail[0] ? TS_FAIL : TS_BOUND, c.worst / limit,
                  c.detail[0] ? c.detail : NULL);
    return TS_OK;
}

static ts_status read_filter(const char *path, const cJSON *file, golden *g, ts_error *err)
{
    int64_t top_k = 0, seed = 0;
    g->all = cJSON_GetObjectItemCaseSensitive(file, "cases");
    if (!g->all)
        return TS_OK;
    ts_status s = ts_json_double(path, file, "temperature", &g->filter.temperature, err);
    if (!s)
        s = ts_json_double(path, file, "top_p", &g->filter.top_p, err);
    if (!s)
        s = ts_json_int(path, file, "top_k", 0, INT32_MAX, &top_k, err);
    if (!s)
        s = ts_json_int(path, file, "seed", 0, INT32_MAX, &seed, err);
    g->filter.top_k = top_k;
    g->seed = (uint64_t)seed;
    return s;
}

static ts_status load_drafter(ts_check *k, const ts_case *c, golden *g, ts_weights **out, ts_error *err)
{
    char path[512];
    const char *mtp = ts_case_string(c, "mtp"), *dflash = ts_case_string(c, "dflash");
    ts_check_path(k, mtp ? mtp : dflash ? dflash : "", path, sizeof path);
    ts_status s = mtp ? ts_weights_load_mtp(g->target, path, out, err)
                      : ts_weights_load_dflash(g->target, path, out, err);
    g->drafter = *out;
    return s;
}

void ts_external_rounds(ts_check *k, const ts_case *c)
{
    char path[512], tokenizer[600];
    const char *file = ts_case_string(c, "golden"), *model = ts_case_string(c, "model");
    golden g = {.k = k};
    cJSON *all = NULL;
    ts_tokenizer *tok = NULL;
    ts_weights *drafter = NULL;
    ts_error err = {0};
    ts_check_path(k, file ? file : "", path, sizeof path);
    snprintf(tokenizer, sizeof tokenizer, "%s/%s/tokenizer.json", k->o.golden, model ? model : "");
    ts_status s = ts_json_load(path, &all, &err);
    if (!s)
        s = read_filter(path, all, &g, &err);
    if (!s)
        s = ts_check_model(k, model ? model : "", 0, &g.target, &err);
    if (!s)
        s = load_drafter(k, c, &g, &drafter, &err);
    if (!s)
        s = ts_tokenizer_open(tokenizer, &tok, &err);
    g.tokenizer = tok;
    int i = 0;
    for (const cJSON *one = s ? NULL : (g.all ? g.all : all)->child; one && !s; one = one->next, i++)
        if (k->o.grid || i < FEW_PROMPTS)
            s = prompt_rounds(&g, one, &err);
        else
            ts_report_add(k->report, "ref64 ~ golden", one->string, TS_SKIP, 0,
                          "one of ten prompts: --grid has them\n");
    if (s)
        ts_report_error(k->report, "ref64 ~ golden", s, &err);
    ts_tokenizer_close(tok);
    ts_weights_free(drafter);
    cJSON_Delete(all);
}
