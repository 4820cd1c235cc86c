/* Greedy ids that another engine gave, against ref32 in the profile that replays it. ref32 is led along the
 * recorded ids; where its own choice is another, the two logits are a fork. What the profile leaves open (`vary`:
 * changes of one choice that alter nothing but the order of sums) is then tried on the same prefix: a fork is a
 * near-tie if it is no wider than what one of these changes moves it by, else it is a failure. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/external.h"
#include "format/json.h"
#include "runner.h"

enum { MOST_CHANGES = 16 };

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

/* The fork at step i with every change tried: a line of numbers, and whether one of them moves it as far. */
static ts_status weigh(job *j, const recorded *r, int64_t i, choice c, bool *tie, ts_error *err)
{
    double widest = 0;
    const char *by = "nothing";
    choice *other = malloc((size_t)(i + 1) * sizeof *other);
    ts_status s = other ? TS_OK : ts_no_memory(err, (unsigned long)(i + 1) * sizeof *other);
    fprintf(j->forks, "%s step %lld: %d beats the recorded %d by %.5f;", r->name, (long long)i, c.best,
            r->ids[r->T + i], c.gap);
    for (int v = 0; !s && v < j->n_changes; v++) {
        ts_profile p = *j->profile;
        ts_profile_change(&p, j->changes[v]);
        s = lead(j, &p, r, i + 1, other, err);
        if (s)
            break;
        fprintf(j->forks, " %s: %.5f;", j->changes[v], other[i].gap);
        if (fabs(other[i].gap - c.gap) > widest) {
            widest = fabs(other[i].gap - c.gap);
            by = j->changes[v];
        }
    }
    fprintf(j->forks, " moved by %.5f (%s)\n", widest, by);
    *tie = c.gap <= widest;
    free(other);
    return s;
}

static void replay(job *j, const recorded *r)
{
    ts_error err = {0};
    bool all = true;
    int64_t forks = 0;
    char what[64], detail[128] = "";
    choice *c = malloc((size_t)r->n * sizeof *c);
    ts_status s = c ? lead(j, j->profile, r, r->n, c, &err) : ts_no_memory(&err, (unsigned long)r->n * sizeof *c);
    for (int64_t i = 0; !s && i < r->n; i++)
        if (parts(c[i], r->ids[r->T + i])) {
            bool tie = false;
            s = weigh(j, r, i, c[i], &tie, &err);
            all &= tie;
            snprintf(detail, sizeof detail, "%lld of %lld steps go another way, the last by %.5f\n",
                     (long long)++forks, (long long)r->n, c[i].gap);
        }
    free(c);
    snprintf(what, sizeof what, "ref32 %s = peer", j->profile->name);
    if (s)
        ts_report_error(j->k->report, what, s, &err);
    else
        ts_report_add(j->k->report, what, r->name,
                      !forks ? TS_SAME
                      : all  ? TS_NEAR_TIE
                             : TS_FAIL,
                      0, forks ? detail : NULL);
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
               *profile = ts_case_string(j->c, "profile");
    j->profile = ts_profile_find(profile ? profile : "");
    if (!j->profile)
        return ts_fail(err, TS_BAD, j->c->path, "profile", "'%.60s' is no profile", profile ? profile : "");
    ts_status s = read_changes(j, err);
    ts_check_path(j->k, golden ? golden : "", path, sizeof path);
    if (!s)
        s = ts_json_load(path, all, err);
    return s ? s : ts_check_model(j->k, model ? model : "", 0, &j->w, err);
}

/* The forks and their numbers are the case's own golden: a change of either is looked at. */
static void check_forks(job *j, const char *forks)
{
    const char *want = ts_case_expect(j->c, "forks");
    bool same = want && strcmp(want, forks) == 0;
    char detail[2048];
    snprintf(detail, sizeof detail, "forks:\n%.900s\nthe case expects:\n%.900s\n", forks,
             want ? want : "nothing: make golden records them");
    ts_report_add(j->k->report, "forks = case", "forks", same ? TS_EXACT : TS_FAIL, 0, same ? NULL : detail);
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
        if (!s)
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
