#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "num/sha256.h"
#include "runner.h"

/* One way to run a prompt: nothing here may change a bit. */
typedef struct {
    const char *engine;
    int threads;
    int64_t piece; /* tokens a prefill call; 0 = the whole prompt */
    uint64_t page_seed;
    bool poison;
} variant;

/* Logits of every row (T prompt rows, then one per decoded id but the last), and the greedy ids. */
typedef struct {
    float *logits;
    int32_t *ids;
    int64_t rows, n, V;
} stream;

static void stream_free(stream *s)
{
    free(s->logits);
    free(s->ids);
    *s = (stream){0};
}

static int32_t argmax(const float *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return (int32_t)best;
}

static ts_status prefill(ts_runner *r, const int32_t *ids, int64_t T, int64_t piece, stream *s, ts_error *err)
{
    ts_status status = TS_OK;
    for (int64_t t = 0, n; !status && t < T; t += n) {
        n = piece == 0 || piece > T - t ? T - t : piece;
        status = ts_runner_forward(r, ids + t, n, n, s->logits + t * s->V, NULL, err);
    }
    s->rows = T;
    return status;
}

static ts_status decode(ts_runner *r, const ts_config *c, int64_t max_new, stream *s, ts_error *err)
{
    for (;;) {
        int32_t id = argmax(s->logits + (s->rows - 1) * s->V, s->V);
        s->ids[s->n++] = id;
        if (s->n == max_new || ts_config_is_stop(c, id))
            return TS_OK;
        ts_status status = ts_runner_forward(r, &id, 1, 1, s->logits + s->rows * s->V, NULL, err);
        if (status)
            return status;
        s->rows++;
    }
}

static ts_status run_variant(const ts_weights *w, const ts_profile *p, const variant *v, const int32_t *prompt,
                             int64_t T, int64_t max_new, stream *out, ts_error *err)
{
    ts_runner *r = NULL;
    *out = (stream){.V = w->cfg.V};
    out->logits = malloc((size_t)(T + max_new) * (size_t)out->V * sizeof(float));
    out->ids = malloc((size_t)max_new * sizeof(int32_t));
    ts_status s = out->logits && out->ids
                      ? TS_OK
                      : ts_no_memory(err, (unsigned long)(T + max_new) * (unsigned long)out->V * 4);
    ts_runner_options o = {.engine = v->engine,
                           .profile = p,
                           .capacity = T + max_new,
                           .threads = v->threads,
                           .page_seed = v->page_seed,
                           .poison = v->poison};
    if (!s)
        s = ts_runner_open(w, &o, &r, err);
    if (!s)
        s = prefill(r, prompt, T, v->piece, out, err);
    if (!s)
        s = decode(r, &w->cfg, max_new, out, err);
    ts_runner_close(r);
    if (s)
        stream_free(out);
    return s;
}

/* What a stream case names. */
typedef struct {
    ts_safetensors *file;
    const ts_weights *w;
    const ts_profile *profile;
    int32_t *prompt;
    int64_t T, max_new;
    int64_t bits;
} stream_case;

static ts_status load(ts_check *k, const ts_case *c, stream_case *s, ts_error *err)
{
    char path[512];
    const char *model = ts_case_string(c, "model"), *profile = ts_case_string(c, "profile"),
               *golden = ts_case_string(c, "golden");
    s->profile = ts_profile_find(profile);
    ts_status status = ts_json_int(c->path, c->json, "new", 1, 100000, &s->max_new, err);
    if (!status)
        status = ts_json_opt_int(c->path, c->json, "bits", 0, 8, &s->bits, err);
    if (!status)
        status = ts_check_model(k, model, (int)s->bits, &s->w, err);
    ts_check_path(k, golden, path, sizeof path);
    if (!status)
        status = ts_safetensors_open(path, &s->file, err);
    if (status)
        return status;
    const ts_tensor *ids = ts_safetensors_find(s->file, "input_ids");
    if (!ids || ids->dtype != TS_I32 || ts_tensor_count(ids) < 1)
        return ts_fail(err, TS_BAD, path, "input_ids", "missing or not I32");
    s->T = ts_tensor_count(ids);
    s->prompt = malloc(ids->size);
    if (!s->prompt)
        return ts_no_memory(err, ids->size);
    memcpy(s->prompt, ids->data, ids->size);
    return TS_OK;
}

void ts_check_expect(ts_check *k, ts_case *c, const char *key, const char *hex)
{
    char detail[256];
    if (k->o.no_own)
        return;
    if (k->o.rewrite) {
        ts_check_set_expect(c, key, hex);
        return;
    }
    const char *want = ts_case_expect(c, key);
    bool same = want && strcmp(want, hex) == 0;
    snprintf(detail, sizeof detail, "sha256 %s\nthe case expects %s\n", hex,
             want ? want : "nothing: make golden records it");
    ts_report_add(k->report, "ref32 = case", key, same ? TS_EXACT : TS_FAIL, 0, same ? NULL : detail);
}

static void check_expect(ts_check *k, ts_case *c, const char *key, const void *data, size_t size)
{
    char hex[TS_SHA256_HEX];
    ts_sha256(data, size, hex);
    ts_check_expect(k, c, key, hex);
}

/* Same ids, or the first step where they part. */
static void check_ids(ts_check *k, const char *what, const int32_t *ids, int64_t n, const int32_t *want,
                      int64_t n_want)
{
    int64_t i = 0;
    while (i < n && i < n_want && ids[i] == want[i])
        i++;
    char detail[256];
    snprintf(detail, sizeof detail,
             "the streams part at step %lld: %d here, %d there (%lld ids here, %lld there)\n", (long long)i,
             i < n ? ids[i] : -1, i < n_want ? want[i] : -1, (long long)n, (long long)n_want);
    bool same = i == n && i == n_want;
    ts_report_add(k->report, what, "ids", same ? TS_SAME : TS_FAIL, 0, same ? NULL : detail);
}

/* Under `exact` on the model's own weights, ref32's greedy ids are those of the float64 golden. */
static void check_golden_ids(ts_check *k, const stream_case *s, const stream *ref)
{
    const ts_tensor *golden = ts_safetensors_find(s->file, "greedy_ids");
    if (s->bits || strcmp(s->profile->name, "exact") != 0)
        return;
    int32_t *want = golden && golden->dtype == TS_I32 ? malloc(golden->size + 1) : NULL;
    if (!want) {
        ts_report_add(k->report, "ref32 = golden", "ids", TS_FAIL, 0, "no I32 greedy_ids, or out of memory\n");
        return;
    }
    int64_t n = ts_tensor_count(golden) < s->max_new ? ts_tensor_count(golden) : s->max_new;
    memcpy(want, golden->data, golden->size);
    check_ids(k, "ref32 = golden", ref->ids, ref->n, want, n);
    free(want);
}

static void check_variant(ts_check *k, const stream_case *s, const variant *v, const stream *ref)
{
    stream x;
    ts_error err = {0};
    char what[64];
    snprintf(what, sizeof what, "%s t%d piece %lld%s%s = ref32", v->engine, v->threads, (long long)v->piece,
             v->page_seed ? " shuffled" : "", v->poison ? " poisoned" : "");
    ts_status status = run_variant(s->w, s->profile, v, s->prompt, s->T, s->max_new, &x, &err);
    if (status) {
        ts_report_error(k->report, what, status, &err);
        return;
    }
    ts_tensor a = {.name = "logits",
                   .dtype = TS_F32,
                   .ndim = 2,
                   .dim = {ref->rows, ref->V},
                   .data = ref->logits,
                   .size = (size_t)(ref->rows * ref->V) * 4};
    ts_tensor b = a;
    b.dim[0] = x.rows;
    b.data = x.logits;
    b.size = (size_t)(x.rows * x.V) * 4;
    ts_check_equal(k, what, "ref32", v->engine, &a, &b);
    check_ids(k, what, x.ids, x.n, ref->ids, ref->n);
    stream_free(&x);
}

/* Threads, chunk cuts, widths 1..8, page order, NaN in free pages and padding. */
static void check_variants(ts_check *k, const ts_case *c, const stream_case *s, const stream *ref)
{
    static const variant basic[] = {{"fast", 1, 0, 0, false}, {"fast", 2, 17, 7, true}};
    static const int64_t pieces[] = {0, 1, 3, 17, 64};
    const char *set = ts_case_string(c, "variants");
    if (!ts_profile_is_house(s->profile)) /* no engine but the reference, and pieces may change bits */
        return;
    for (int i = 0; i < 2; i++)
        check_variant(k, s, &basic[i], ref);
    for (int threads = 1; k->o.grid && threads <= 2; threads++)
        for (int i = 0; i < 5; i++)
            check_variant(k, s, &(variant){"fast", threads, pieces[i], 0, false}, ref);
    if (!set || strcmp(set, "invariance") != 0)
        return;
    for (int64_t width = 1; width <= 8; width++)
        check_variant(k, s, &(variant){"fast", 1, width, width % 2 ? 0 : (uint64_t)width, width % 3 == 0}, ref);
    check_variant(k, s, &(variant){"ref32", 1, 1, 0, false}, ref);
    check_variant(k, s, &(variant){"ref32", 1, 5, 0, false}, ref);
}

static bool in_tier(const ts_check *k, const ts_case *c)
{
    const char *tier = ts_case_string(c, "tier");
    return k->o.grid || k->o.rewrite || !tier || strcmp(tier, "check") == 0;
}

static void run_case(ts_check *k, ts_case *c, const stream_case *s)
{
    stream ref;
    ts_error err = {0};
    ts_status status = run_variant(s->w, s->profile, &(variant){"ref32", 1, 0, 0, false}, s->prompt, s->T,
                                   s->max_new, &ref, &err);
    if (status) {
        ts_report_error(k->report, "ref32", status, &err);
        return;
    }
    check_expect(k, c, "weights", s->w->sha256, strlen(s->w->sha256));
    check_expect(k, c, "logits", ref.logits, (size_t)(ref.rows * ref.V) * 4);
    check_expect(k, c, "ids", ref.ids, (size_t)ref.n * 4);
    if (!k->o.rewrite) {
        check_golden_ids(k, s, &ref);
        if (in_tier(k, c))
            check_variants(k, c, s, &ref);
    }
    stream_free(&ref);
}

void ts_check_stream_case(ts_check *k, ts_case *c)
{
    stream_case s = {0};
    ts_error err = {0};
    ts_report_begin(k->report, "stream", c->name);
    if (ts_case_string(c, "draft")) {
        ts_check_rounds_case(k, c);
        return;
    }
    ts_status status = load(k, c, &s, &err);
    if (status)
        ts_report_error(k->report, "case", status, &err);
    else
        run_case(k, c, &s);
    free(s.prompt);
    ts_safetensors_close(s.file);
}
