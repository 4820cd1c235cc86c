/* Greedy ids that another engine gave, against ref32 in the profile that replays it. ref32 is led along the
 * recorded ids; where its own choice is another, the two logits are a fork. What the profile leaves open (`vary`:
 * changes of one choice that are the same in real numbers and round elsewhere) is then tried on the same prefix: a
 * fork is a near-tie if it is no wider than what one of these changes moves it by, else it is a failure. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/external.h"
#include "format/json.h"
#include "runner.h"

enum { MOST_CHANGES = 16, SHORT_PROMPT = 40 };

/* One recorded prompt. */
typedef struct {
    const char *name;
    int32_t *ids; /* of the prompt, then of the answer */
    int64_t T, n; /* how many of either */
} recorded;

typedef struct {
    ts_check *k;
    const ts_case *c;
    const ts_weights *w;
    const ts_profile *profile;
    char *changes[MOST_CHANGES]; /* of `vary`, in `text` */
    int n_changes;
    char *text;
    const char *skipped[MOST_CHANGES]; /* prompts that were not led */
    int n_skipped;
    FILE *forks; /* a line a fork: what the case records */
} job;

/* At one step: ref32's choice among all ids but the recorded one, and by how much it beats that. */
typedef struct {
    int32_t best;
    double gap; /* > 0: ref32 would have gone another way */
} choice;

static choice choose(const float *z, int64_t V, int32_t recorded_id)
{
    int64_t best = recorded_id == 0;
    for (int64_t i = best + 1; i < V; i++)
        if (i != recorded_id && z[i] > z[best])
            best = i;
    return (choice){(int32_t)best, (double)z[best] - (double)z[recorded_id]};
}

/* The choices at steps 0 .. steps-1 of the answer. */
static ts_status lead(const job *j, const ts_profile *p, const recorded *r, int64_t steps, choice *out,
                      ts_error *err)
{
    ts_runner *runner = NULL;
    int64_t V = j->w->cfg.V;
    float *z = malloc((size_t)V * sizeof *z);
    ts_runner_options o = {.engine = "ref32", .profile = p, .capacity = r->T + r->n, .threads = 1};
    ts_status s = z ? ts_runner_open(j->w, &o, &runner, err) : ts_no_memory(err, (unsigned long)V * 4);
    if (!s)
        s = ts_runner_forward(runner, r->ids, r->T, 1, z, NULL, err);
    for (int64_t i = 0; !s && i < steps; i++) {
        out[i] = choose(z, V, r->ids[r->T + i]);
        if (i + 1 < steps)
            s = ts_runner_forward(runner, r->ids + r->T + i, 1, 1, z, NULL, err);
    }
    ts_runner_close(runner);
    free(z);
    return s;
}

/* A lower id wins a tie. */
static bool parts(choice c, int32_t recorded_id)
{
    return c.gap > 0 || (c.gap == 0 && c.best < recorded_id) || isnan(c.gap);
}

/* Every change led up to and with step `last`: the choices, change by change. */
static ts_status try_changes(const job *j, const recorded *r, int64_t last, choice **out, ts_error *err)
{
    int64_t n = last + 1;
    choice *all = malloc(((size_t)(j->n_changes * n) + 1) * sizeof *all);
    ts_status s = all ? TS_OK : ts_no_memory(err, (unsigned long)n * sizeof *all);
    for (int v = 0; !s && v < j->n_changes; v++) {
        ts_profile p = *j->profile;
        ts_profile_change(&p, j->changes[v]);
        s = lead(j, &p, r, n, all + v * n, err);
    }
    *out = all;
    return s;
}

/* The fork at step i beside what the changes make of it (others[v * n + i]): a line of numbers. Is it no wider than
 * what one of them moves it by? */
static bool weigh(const job *j, const recorded *r, int64_t i, choice c, const choice *others, int64_t n)
{
    double widest = 0;
    const char *by = "nothing";
    fprintf(j->forks, "%s step %lld: %d beats the recorded %d by %.5f;", r->name, (long long)i, c.best,
            r->ids[r->T + i], c.gap);
    for (int v = 0; v < j->n_changes; v++) {
        double gap = others[v * n + i].gap;
        fprintf(j->forks, " %s: %.5f;", j->changes[v], gap);
        if (fabs(gap - c.gap) > widest) {
            widest = fabs(gap - c.gap);
            by = j->changes[v];
        }
    }
    fprintf(j->forks, " moved by %.5f (%s)\n", widest, by);
    return c.gap <= widest;
}

/* c[n]: ref32's choices at every step, the forks among them weighed. */
static ts_status judge(const job *j, const recorded *r, const choice *c, ts_error *err)
{
    int64_t last = -1, forks = 0;
    bool all = true;
    char what[64], detail[128];
    choice *others = NULL;
    for (int64_t i = 0; i < r->n; i++)
        last = parts(c[i], r->ids[r->T + i]) ? i : last;
    ts_status s = last < 0 ? TS_OK : try_changes(j, r, last, &others, err);
    for (int64_t i = 0; !s && i <= last; i++)
        if (parts(c[i], r->ids[r->T + i])) {
            all &= weigh(j, r, i, c[i], others, last + 1);
            forks++;
        }
    free(others);
    if (s)
        return s;
    snprintf(what, sizeof what, "ref32 %s = peer", j->profile->name);
    snprintf(detail, sizeof detail, "%lld of %lld steps go another way, the last by %.5f\n", (long long)forks,
             (long long)r->n, last < 0 ? 0 : c[last].gap);
    ts_verdict verdict = forks == 0 ? TS_SAME : all ? TS_NEAR_TIE : TS_FAIL;
    ts_report_add(j->k->report, what, r->name, verdict, 0, forks ? detail : NULL);
    return TS_OK;
}

static void replay(const job *j, const recorded *r)
{
    ts_error err = {0};
    choice *c = malloc((size_t)r->n * sizeof *c);
    ts_status s = c ? lead(j, j->profile, r, r->n, c, &err) : ts_no_memory(&err, (unsigned long)r->n * sizeof *c);
    if (!s)
        s = judge(j, r, c, &err);
    if (s)
        ts_report_error(j->k->report, r->name, s, &err);
    free(c);
}

static int64_t copy_ids(const cJSON *list, int32_t *out)
{
    int64_t n = 0;
    const cJSON *i;
    cJSON_ArrayForEach (i, list)
        out[n++] = cJSON_IsNumber(i) ? i->valueint : -1;
    return n;
}

static ts_status read_one(const char *path, const cJSON *one, int64_t V, recorded *r, ts_error *err)
{
    const cJSON *ids = cJSON_GetObjectItemCaseSensitive(one, "prompt_ids"),
                *greedy = cJSON_GetObjectItemCaseSensitive(one, "greedy");
    int n = cJSON_GetArraySize(ids) + cJSON_GetArraySize(greedy);
    *r = (recorded){.name = one->string, .ids = malloc(((size_t)n + 1) * sizeof *r->ids)};
    if (!r->ids)
        return ts_no_memory(err, (unsigned long)n * 4);
    r->T = copy_ids(ids, r->ids);
    r->n = copy_ids(greedy, r->ids + r->T);
    if (r->T < 1 || r->n < 1)
        return ts_fail(err, TS_BAD, path, one->string, "no prompt_ids, or no greedy ids");
    for (int64_t i = 0; i < r->T + r->n; i++)
        if (r->ids[i] < 0 || r->ids[i] >= V)
            return ts_fail(err, TS_BAD, path, one->string, "id %lld is %d, the vocabulary has 0..%lld",
                           (long long)i, r->ids[i], (long long)V - 1);
    return TS_OK;
}

/* "a=b,c=d": each must be a change that the profile knows. */
static ts_status read_changes(job *j, ts_error *err)
{
    const char *vary = ts_case_string(j->c, "vary");
    j->text = strdup(vary ? vary : "");
    if (!j->text)
        return ts_no_memory(err, 1);
    for (char *word = strtok(j->text, ","); word; word = strtok(NULL, ",")) {
        ts_profile p = *j->profile;
        if (j->n_changes == MOST_CHANGES || !ts_profile_change(&p, word))
            return ts_fail(err, TS_BAD, j->c->path, "vary", "'%.60s' is no change of a choice, or one too many",
                           word);
        j->changes[j->n_changes++] = word;
    }
    return TS_OK;
}

static ts_status open_job(job *j, cJSON **all, ts_error *err)
{
    char path[512];
    const char *golden = ts_case_string(j->c, "golden"), *model = ts_case_string(j->c, "model"),
               *profile = ts_case_string(j->c, "profile"), *type = ts_case_string(j->c, "type");
    j->profile = ts_profile_find(profile ? profile : "");
    if (!j->profile)
        return ts_fail(err, TS_BAD, j->c->path, "profile", "'%.60s' is no profile", profile ? profile : "");
    ts_status s = read_changes(j, err);
    ts_check_path(j->k, golden ? golden : "", path, sizeof path);
    if (!s)
        s = ts_json_load(path, all, err);
    if (s)
        return s;
    return type ? ts_check_model_as(j->k, model ? model : "", type, &j->w, err)
                : ts_check_model(j->k, model ? model : "", 0, &j->w, err);
}

/* A line of a fork begins with its prompt's name. */
static bool is_skipped(const job *j, const char *line)
{
    for (int i = 0; i < j->n_skipped; i++) {
        size_t n = strlen(j->skipped[i]);
        if (strncmp(line, j->skipped[i], n) == 0 && line[n] == ' ')
            return true;
    }
    return false;
}

/* The forks and their numbers are the case's own golden, as far as their prompts were led: a change is looked at.
 */
static void check_forks(const job *j, const char *forks)
{
    const char *want = ts_case_expect(j->c, "forks"), *got = forks;
    bool same = want != NULL;
    for (const char *line = want; same && *line; line += strcspn(line, "\n") + 1) {
        size_t n = strcspn(line, "\n") + 1;
        if (is_skipped(j, line))
            continue;
        same = strncmp(got, line, n) == 0;
        got += same ? n : 0;
    }
    char detail[2048];
    snprintf(detail, sizeof detail, "forks:\n%.900s\nthe case expects:\n%.900s\n", forks,
             want ? want : "nothing: make golden records them");
    same &= *got == '\0';
    if (!j->k->o.no_own)
        ts_report_add(j->k->report, "forks = case", "forks", same ? TS_EXACT : TS_FAIL, 0, same ? NULL : detail);
}

/* Long prompts of a case of tier grid are for --grid. */
static bool skips(job *j, const recorded *r)
{
    const char *tier = ts_case_string(j->c, "tier");
    if (j->k->o.grid || j->k->o.rewrite || !tier || strcmp(tier, "grid") != 0 || r->T <= SHORT_PROMPT)
        return false;
    ts_report_add(j->k->report, "ref32 = peer", r->name, TS_SKIP, 0, "a long prompt: --grid leads it\n");
    if (j->n_skipped < MOST_CHANGES)
        j->skipped[j->n_skipped++] = r->name;
    return true;
}

void ts_external_peer(ts_check *k, const ts_case *c)
{
    job j = {.k = k, .c = c};
    cJSON *all = NULL;
    char *forks = NULL;
    size_t size = 0;
    ts_error err = {0};
    ts_status s = open_job(&j, &all, &err);
    j.forks = open_memstream(&forks, &size);
    if (!s && !j.forks)
        s = ts_no_memory(&err, 1);
    const cJSON *one;
    cJSON_ArrayForEach (one, cJSON_GetObjectItemCaseSensitive(all, "cases")) {
        recorded r = {.ids = NULL};
        if (!s)
            s = read_one(c->path, one, j.w->cfg.V, &r, &err);
        if (!s && !skips(&j, &r))
            replay(&j, &r);
        free(r.ids);
    }
    if (s)
        ts_report_error(k->report, "peer", s, &err);
    if (j.forks)
        fclose(j.forks);
    if (!s && k->o.rewrite)
        ts_check_set_expect(c, "forks", forks);
    else if (!s)
        check_forks(&j, forks);
    free(forks);
    free(j.text);
    cJSON_Delete(all);
}
