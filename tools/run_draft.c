#include "run_draft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/draft.h"

enum { DEFAULT_K = 3 };

ts_status ts_run_draft_check(ts_run_draft *d, const ts_sampling *s, ts_error *err)
{
    ts_verifier v;
    const struct {
        const char *name;
        bool given;
    } own[] = {{"--draft-model", d->model}, {"--k", d->k},         {"--verify", d->verify},
               {"--rounds", d->rounds},     {"--along", d->along}, {"--hash-state", d->hash}};
    for (size_t i = 0; !d->kind && i < sizeof own / sizeof *own; i++)
        if (own[i].given)
            return ts_fail(err, TS_USAGE, NULL, own[i].name, "needs --draft");
    if (!d->kind)
        return TS_OK;
    if (strcmp(d->kind, "mtp") != 0 && strcmp(d->kind, "dflash2") != 0)
        return ts_fail(err, TS_USAGE, NULL, "--draft", "'%s' is neither mtp nor dflash2", d->kind);
    if (!d->verify)
        d->verify = s->temperature > 0 ? "match" : "greedy";
    return ts_verifier_of(d->verify, &v, err);
}

/* How the state's tensors are told apart. */
static const struct {
    const char *piece;
    size_t offset;
} hashes[] = {{".recurrent_states", offsetof(ts_round, hash_S)},
              {".conv_states", offsetof(ts_round, hash_conv)},
              {"cache.", offsetof(ts_round, hash_kv)},
              {"draft.", offsetof(ts_round, hash_ctx)}};
enum { HASHES = sizeof hashes / sizeof *hashes };

static size_t hash_of(const char *name)
{
    size_t i = 0;
    while (i + 1 < HASHES && !strstr(name, hashes[i].piece))
        i++;
    return i;
}

static ts_status hash_state(const ts_run_draft *d, ts_round *r, ts_error *err)
{
    ts_trace *t = ts_trace_new();
    ts_sha256_ctx *sum[HASHES] = {0};
    bool ok = t != NULL;
    for (size_t i = 0; i < HASHES; i++)
        ok &= (sum[i] = ts_sha256_new()) != NULL;
    if (ok)
        ts_rounds_state_trace(d->engine, "", t);
    ok = ok && ts_trace_status(t, NULL) == TS_OK;
    for (size_t i = 0; ok && i < ts_trace_count(t); i++) {
        const ts_tensor *x = ts_trace_at(t, i);
        ts_sha256_add(sum[hash_of(x->name)], x->data, x->size);
    }
    for (size_t i = 0; i < HASHES; i++)
        if (sum[i])
            ts_sha256_end(sum[i], (char *)r + hashes[i].offset);
    ts_trace_free(t);
    return ok ? TS_OK : ts_no_memory(err, sizeof *r);
}

typedef struct {
    ts_run_draft *d;
    int (*say)(void *user, int32_t id);
    void *user;
} listener;

static int on_token(void *user, int32_t id)
{
    const listener *l = user;
    return l->say(l->user, id);
}

static int on_round(void *user, const ts_round *round)
{
    ts_run_draft *d = ((const listener *)user)->d;
    ts_round r = *round;
    d->n++;
    d->proposed += r.k;
    d->accepted += r.a;
    d->emitted += r.n_emitted;
    if (d->hash)
        d->failed = hash_state(d, &r, d->err);
    if (!d->failed && d->file)
        d->failed = ts_round_write(d->file, d->rounds, &r, d->err);
    cJSON *o = d->failed ? NULL : ts_round_json(&r);
    if (!d->failed && !o)
        d->failed = ts_no_memory(d->err, sizeof r);
    cJSON_AddItemToArray(d->list, o);
    return d->failed != TS_OK;
}

static ts_status take_guide(void *user, const ts_round *r, ts_error *err)
{
    ts_run_draft *d = user;
    ts_round *more = realloc(d->guide, (d->n_guide + 1) * sizeof *more);
    if (!more)
        return ts_no_memory(err, (d->n_guide + 1) * sizeof *more);
    d->guide = more;
    d->guide[d->n_guide++] = *r;
    return TS_OK;
}

static ts_status load(ts_run_draft *d, const ts_session *s, ts_error *err)
{
    return strcmp(d->kind, "mtp") == 0 ? ts_weights_load_mtp(s->weights, d->model, &d->weights, err)
                                       : ts_weights_load_dflash(s->weights, d->model, &d->weights, err);
}

static ts_status open_record(ts_run_draft *d, ts_error *err)
{
    d->err = err;
    d->list = cJSON_CreateArray();
    if (!d->list)
        return ts_no_memory(err, sizeof *d->list);
    ts_status status = d->rounds ? ts_out_open(&d->out, d->rounds, err) : TS_OK;
    if (status || !d->rounds)
        return status;
    const int fd = dup(d->out.fd);
    d->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (d->file)
        return TS_OK;
    status = ts_fail(err, TS_BAD, d->rounds, NULL, "cannot write: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return ts_out_close(&d->out, status, err);
}

/* status TS_OK: the file appears under its name. A full disk may show only now. */
static ts_status close_record(ts_run_draft *d, ts_status status, ts_error *err)
{
    FILE *f = d->file;
    d->file = NULL;
    if (!f)
        return status;
    if (fclose(f) && !status)
        status = ts_fail(err, TS_BAD, d->rounds, NULL, "cannot write: %s", strerror(errno));
    return ts_out_close(&d->out, status, err);
}

/* The widest round that it is led along, or what suits the drafter. */
static int64_t default_k(const ts_run_draft *d)
{
    int64_t k = 0;
    for (size_t i = 0; i < d->n_guide; i++)
        k = d->guide[i].k > k ? d->guide[i].k : k;
    if (k > 0)
        return k;
    return d->weights->cfg.draft == TS_DRAFT_DFLASH ? d->weights->cfg.dflash.block - 1 : DEFAULT_K;
}

ts_status ts_run_draft_generate(ts_run_draft *d, ts_session *s, const ts_sampling *sampling,
                                int (*say)(void *user, int32_t id), void *user, ts_generated *out, ts_error *err)
{
    listener l = {d, say, user};
    ts_status status = load(d, s, err);
    if (!status && d->along)
        status = ts_rounds_load(d->along, take_guide, d, err);
    if (!status)
        status = open_record(d, err);
    if (status)
        return status;
    if (d->k == 0)
        d->k = default_k(d);
    const int64_t wanted = (int64_t)s->n_ids + s->n + d->k, most = s->weights->cfg.max_positions;
    const ts_runner_options o = {.engine = s->engine,
                                 .profile = s->profile,
                                 .capacity = wanted < most ? wanted : most,
                                 .threads = (int)s->threads};
    ts_speculation g = {.target = &s->weights->cfg,
                        .drafter = &d->weights->cfg,
                        .k = (int)d->k,
                        .capacity = o.capacity,
                        .sampling = *sampling,
                        .max_new = s->n,
                        .on_token = on_token,
                        .on_round = on_round,
                        .user = &l};
    status = ts_verifier_of(d->verify, &g.verifier, err);
    if (!status)
        status = ts_rounds_open(s->weights, d->weights, &o, &d->engine, err);
    if (status)
        return status;
    g.engine = ts_rounds_engine(d->engine);
    status = d->along ? ts_speculate_along(&g, s->ids, s->n_ids, d->guide, d->n_guide, out, err)
                      : ts_speculate_ids(&g, s->ids, s->n_ids, out, err);
    return close_record(d, status ? status : d->failed, err);
}

void ts_run_draft_json(const ts_run_draft *d, cJSON *o)
{
    if (!d->kind)
        return;
    cJSON *what = cJSON_AddObjectToObject(o, "draft");
    cJSON_AddStringToObject(what, "kind", d->kind);
    cJSON_AddStringToObject(what, "model", d->weights->path);
    cJSON_AddNumberToObject(what, "k", (double)d->k);
    cJSON_AddStringToObject(what, "verify", d->verify);
    cJSON *sums = cJSON_AddObjectToObject(o, "acceptance");
    cJSON_AddNumberToObject(sums, "rounds", (double)d->n);
    cJSON_AddNumberToObject(sums, "proposed", (double)d->proposed);
    cJSON_AddNumberToObject(sums, "accepted", (double)d->accepted);
    cJSON_AddNumberToObject(sums, "emitted", (double)d->emitted);
    cJSON_AddItemToObject(o, "rounds", cJSON_Duplicate(d->list, true));
}

void ts_run_draft_report(const ts_run_draft *d)
{
    if (!d->kind)
        return;
    fprintf(stderr, "%lld rounds, %lld of %lld proposals accepted", (long long)d->n, (long long)d->accepted,
            (long long)d->proposed);
    if (d->proposed > 0)
        fprintf(stderr, " (%.1f %%), %.2f tokens a round", 100 * (double)d->accepted / (double)d->proposed,
                (double)d->emitted / (double)d->n);
    fputc('\n', stderr);
}

void ts_run_draft_close(ts_run_draft *d)
{
    close_record(d, TS_BAD, NULL);
    ts_rounds_close(d->engine);
    ts_weights_free(d->weights);
    cJSON_Delete(d->list);
    free(d->guide);
}
