/* Single operations of ref64 against float64 goldens. In here the arrays behind
 * the args structs are double: ts_real of ref64. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/external.h"
#include "format/json.h"
#include "ref.h"

/* Two float64 codings of the delta rule over normalised vectors: theirs, step against chunk, differ by 1e-15. */
static const double DELTA_LIMIT = 1e-14;

/* An array of double where args.h, as this file sees it, says float. */
static void *f64(const double *x)
{
    return (void *)x;
}

static const ts_tensor *find(const ts_safetensors *f, const char *prefix, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    return ts_safetensors_find(f, full);
}

/* "prefix.name" widened to double, malloc'd; NULL if absent. */
static double *widened(const ts_safetensors *f, const char *prefix, const char *name)
{
    const ts_tensor *t = find(f, prefix, name);
    int64_t n = t ? ts_tensor_count(t) : 0;
    double *y = t ? malloc((size_t)n * sizeof *y + 1) : NULL;
    for (int64_t i = 0; y && i < n; i++)
        y[i] = ts_tensor_get(t, i);
    return y;
}

/* As many NaNs as "prefix.name" has elements: an output that is never written cannot pass. */
static double *unwritten(const ts_safetensors *f, const char *prefix, const char *name)
{
    double *y = widened(f, prefix, name);
    for (int64_t i = 0; y && i < ts_tensor_count(find(f, prefix, name)); i++)
        y[i] = (double)NAN;
    return y;
}

static void compare(ts_check *k, const char *what, const ts_safetensors *f, const char *prefix, const char *name,
                    const double *x, double limit)
{
    const ts_tensor *g = find(f, prefix, name);
    if (!g || !x) {
        ts_report_add(k->report, what, name, TS_FAIL, 0, "the golden lacks this tensor, or out of memory\n");
        return;
    }
    ts_tensor t = *g;
    t.dtype = TS_F64;
    t.data = x;
    t.size = (size_t)ts_tensor_count(g) * sizeof *x;
    ts_check_close(k, what, &t, g, limit);
}

static bool has_shape(const ts_tensor *t, int ndim, int64_t d0, int64_t d1, int64_t d2, int64_t d3)
{
    const int64_t d[4] = {d0, d1, d2, d3};
    bool same = t && t->ndim == ndim;
    for (int i = 0; same && i < ndim; i++)
        same = t->dim[i] == d[i] && d[i] > 0;
    return same;
}

static bool delta_shapes(const ts_safetensors *f, const char *name)
{
    const ts_tensor *k = find(f, name, "k"), *v = find(f, name, "v"), *s0 = find(f, name, "state0");
    if (!k || !v || k->ndim != 3 || v->ndim != 3 || k->dim[1] < 1 || v->dim[1] % k->dim[1] != 0)
        return false;
    int64_t T = k->dim[0], Hk = k->dim[1], Dk = k->dim[2], Hv = v->dim[1], Dv = v->dim[2];
    const bool kda = strncmp(name, "kda.", 4) == 0;
    return has_shape(find(f, name, "q"), 3, T, Hk, Dk, 0) && has_shape(v, 3, T, Hv, Dv, 0) &&
           has_shape(find(f, name, "g"), kda ? 3 : 2, T, Hv, Dk, 0) && has_shape(find(f, name, "beta"), 2, T, Hv, 0, 0) &&
           has_shape(find(f, name, "o"), 3, T, Hv, Dv, 0) && has_shape(find(f, name, "state"), 3, Hv, Dk, Dv, 0) &&
           (!s0 || has_shape(s0, 3, Hv, Dk, Dv, 0));
}

static bool attention_shapes(const ts_safetensors *f, const char *name, const ts_tensor *k, const ts_tensor *v)
{
    const ts_tensor *acc = find(f, name, "acc"), *t = find(f, name, "t"), *len = find(f, name, "len");
    if (!acc || acc->ndim != 4 || !k || k->ndim != 3 || !t || t->dtype != TS_I32 || !len || len->dtype != TS_I32)
        return false;
    int64_t T = acc->dim[0], Hq = acc->dim[1], parts = acc->dim[2], D = acc->dim[3], Hkv = k->dim[0];
    bool live = Hkv > 0 && Hq % Hkv == 0 && has_shape(len, 1, T, 0, 0, 0);
    for (int64_t i = 0; live && i < T; i++)
        live = ts_tensor_get(len, i) >= 0 && ts_tensor_get(len, i) <= (double)k->dim[1] &&
               ts_tensor_get(len, i) <= 128.0 * (double)parts;
    return live && has_shape(k, 3, Hkv, k->dim[1], D, 0) && has_shape(v, 3, Hkv, k->dim[1], D, 0) &&
           has_shape(t, 1, T, 0, 0, 0) && has_shape(find(f, name, "q"), 3, T, Hq, D, 0) &&
           has_shape(find(f, name, "out"), 3, T, Hq, D, 0) && has_shape(find(f, name, "m"), 3, T, Hq, parts, 0) &&
           has_shape(find(f, name, "l"), 3, T, Hq, parts, 0);
}

/* What kda_chunk_exp2 adds: the product of G with 1/ln2 is rounded, half an ulp of the largest |G| of a chunk, at
 * both ends of a difference, whose exponential moves by as much of itself. */
static double exp2_slack(const double *g, const ts_gdn_args *a)
{
    const int64_t channels = a->Hv * a->Dk;
    double most = 0;
    for (int64_t c = 0; c < channels; c++) {
        double G = 0;
        for (int64_t t = 0; t < a->T; t++) {
            G = t % a->chunk ? G + fabs(g[t * channels + c]) : fabs(g[t * channels + c]);
            most = G > most ? G : most;
        }
    }
    return most * 0x1p-52;
}

/* The delta rule by step or by chunk, from raw q and k. */
static void delta_rule_one(ts_check *k, const ts_safetensors *f, const char *name, ts_op_id id, int64_t chunk)
{
    char what[96];
    snprintf(what, sizeof what, "ref64 %.20s %lld ~ %.20s", ts_op_table[id].name, (long long)chunk, name);
    const ts_tensor *kt = find(f, name, "k"), *vt = find(f, name, "v");
    double *q = widened(f, name, "q"), *key = widened(f, name, "k"), *v = widened(f, name, "v"),
           *g = widened(f, name, "g"), *beta = widened(f, name, "beta"), *state = widened(f, name, "state0"),
           *o = unwritten(f, name, "o");
    if (!state)
        state = find(f, name, "state") ? calloc((size_t)ts_tensor_count(find(f, name, "state")), sizeof *state)
                                       : NULL;
    double limit = DELTA_LIMIT;
    if (q && key && v && g && beta && state && o && delta_shapes(f, name)) {
        ts_gdn_args a = {.T = kt->dim[0], .Hk = kt->dim[1], .Hv = vt->dim[1], .Dk = kt->dim[2], .Dv = vt->dim[2], .chunk = chunk};
        ts_l2norm_args n = {.T = a.T,
                            .H = a.Hk,
                            .D = a.Dk,
                            .eps = 1e-6,
                            .scale = pow((double)a.Dk, -0.5),
                            .x = f64(q),
                            .y = f64(q)};
        ts_ref64.op(TS_OP_L2NORM, &n);
        n = (ts_l2norm_args){.T = a.T, .H = a.Hk, .D = a.Dk, .eps = 1e-6, .scale = 1, .x = f64(key), .y = f64(key)};
        ts_ref64.op(TS_OP_L2NORM, &n);
        a.q = f64(q);
        a.k = f64(key);
        a.v = f64(v);
        a.g = f64(g);
        a.beta = f64(beta);
        a.state = f64(state);
        a.o = f64(o);
        ts_ref64.op(id, &a);
        if (id == TS_OP_KDA_CHUNK_EXP2)
            limit += exp2_slack(g, &a);
    }
    compare(k, what, f, name, "o", o, limit); /* NaN if an input was missing */
    compare(k, what, f, name, "state", state, limit);
    double *all[] = {q, key, v, g, beta, state, o};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Calls one(name) for every tensor "NAME.suffix", NAME starting with `start`. */
static void each(ts_check *k, const ts_safetensors *f, const char *start, const char *suffix,
                 void (*one)(ts_check *, const ts_safetensors *, const char *))
{
    for (size_t i = 0; i < ts_safetensors_count(f); i++) {
        const char *full = ts_safetensors_at(f, i)->name;
        size_t len = strlen(full), tail = strlen(suffix);
        char name[64];
        if (strncmp(full, start, strlen(start)) != 0 || len <= tail || strcmp(full + len - tail, suffix) != 0 ||
            len - tail >= sizeof name)
            continue;
        memcpy(name, full, len - tail);
        name[len - tail] = 0;
        one(k, f, name);
    }
}

/* The step, and the chunk form at several lengths. */
static void delta_rule_all(ts_check *k, const ts_safetensors *f, const char *name)
{
    const bool kda = strncmp(name, "kda.", 4) == 0;
    delta_rule_one(k, f, name, kda ? TS_OP_KDA_STEP : TS_OP_GDN_STEP, 0);
    if (!kda)
        delta_rule_one(k, f, name, TS_OP_GDN_CHUNK64, 0);
    for (int64_t chunk = 1; chunk <= TS_MOST_CHUNK; chunk *= 4) {
        delta_rule_one(k, f, name, kda ? TS_OP_KDA_CHUNK : TS_OP_GDN_CHUNK, chunk);
        if (kda)
            delta_rule_one(k, f, name, TS_OP_KDA_CHUNK_EXP2, chunk);
    }
}

static void with_golden(ts_check *k, const ts_case *c, const char *start, const char *suffix,
                        void (*one)(ts_check *, const ts_safetensors *, const char *))
{
    ts_safetensors *f = NULL;
    ts_error err = {0};
    ts_status s = ts_external_open(k, c, "golden", &f, &err);
    if (s)
        ts_report_error(k->report, "golden", s, &err);
    else
        each(k, f, start, suffix, one);
    ts_safetensors_close(f);
}

void ts_external_delta_rule(ts_check *k, const ts_case *c)
{
    with_golden(k, c, "gdn.", ".beta", delta_rule_all);
    with_golden(k, c, "kda.", ".beta", delta_rule_all);
}

/* kv.X.k [Hkv][tokens][D] into a pool of 16-token pages taken backwards, every second page free; the rest NaN. */
static double *pool_of(const ts_tensor *t, const int32_t *table, int64_t pages, int64_t live)
{
    int64_t H = t->dim[0], tokens = t->dim[1], D = t->dim[2], n = pages * 16 * H * D;
    double *y = malloc((size_t)n * sizeof *y + 1);
    for (int64_t i = 0; y && i < n; i++)
        y[i] = (double)NAN;
    for (int64_t h = 0; y && h < H; h++)
        for (int64_t j = 0; j < live && j < tokens; j++)
            for (int64_t d = 0; d < D; d++)
                y[((table[j / 16] * H + h) * 16 + j % 16) * D + d] = ts_tensor_get(t, (h * tokens + j) * D + d);
    return y;
}

typedef struct {
    const char *kv;
    int64_t window;
    double scale;
} attention_meta;

static ts_status parse_meta(const ts_safetensors *f, const char *name, cJSON **json, attention_meta *m,
                            ts_error *err)
{
    char key[80];
    snprintf(key, sizeof key, "case.%s", name);
    const char *text = ts_safetensors_meta(f, key), *path = ts_safetensors_path(f);
    if (!text)
        return ts_fail(err, TS_BAD, path, key, "no metadata for this case");
    ts_status s = ts_json_parse(path, text, strlen(text), json, err);
    if (!s)
        s = ts_json_string(path, *json, "kv", &m->kv, err);
    if (!s)
        s = ts_json_int(path, *json, "window", 0, 1 << 20, &m->window, err);
    return s ? s : ts_json_double(path, *json, "scale", &m->scale, err);
}

/* The same in two steps: records, then their merge. */
static void attention_steps(ts_check *k, const ts_safetensors *f, const char *name, ts_attention_args a)
{
    double *o = unwritten(f, name, "out"), *m = unwritten(f, name, "m"), *l = unwritten(f, name, "l"),
           *inner = unwritten(f, name, "acc"), *M = calloc((size_t)(a.T * a.Hq), 2 * sizeof *M);
    char what[64];
    snprintf(what, sizeof what, "ref64 partial, merge ~ %.24s", name);
    if (o && m && l && inner && M) {
        a.m = f64(m);
        a.l = f64(l);
        a.acc = f64(inner);
        ts_ref64.op(TS_OP_ATTENTION_PARTIAL, &a);
        ts_attention_merge_args merge = {a.T, a.Hq,  a.D,    a.parts, a.m,
                                         a.l, a.acc, f64(o), f64(M),  f64(M + a.T * a.Hq)};
        ts_ref64.op(TS_OP_ATTENTION_MERGE, &merge);
    }
    compare(k, what, f, name, "out", o, 1e-12);
    compare(k, what, f, name, "m", m, 1e-12);
    compare(k, what, f, name, "l", l, 1e-12);
    compare(k, what, f, name, "acc", inner, 1e-12);
    double *all[] = {o, m, l, inner, M};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void attention_run(ts_check *k, const ts_safetensors *f, const char *name, const attention_meta *m)
{
    char kv[32];
    snprintf(kv, sizeof kv, "kv.%.20s", m->kv);
    const ts_tensor *kt = find(f, kv, "k"), *vt = find(f, kv, "v"), *acc = find(f, name, "acc"),
                    *pt = find(f, name, "t"), *lt = find(f, name, "len");
    double *q = widened(f, name, "q"), *o = unwritten(f, name, "out"), *mm = unwritten(f, name, "m"),
           *l = unwritten(f, name, "l"), *inner = unwritten(f, name, "acc");
    int32_t *pos = pt ? ts_external_copy(pt) : NULL, *len = lt ? ts_external_copy(lt) : NULL, live = 0;
    int64_t used = kt ? (kt->dim[1] + 15) / 16 : 0, pages = 2 * used + 1;
    int32_t *table = malloc((size_t)used * sizeof *table + 1);
    for (int64_t i = 0; table && i < used; i++)
        table[i] = (int32_t)(pages - 2 - 2 * i);
    for (int64_t t = 0; len && lt->dtype == TS_I32 && t < ts_tensor_count(lt); t++)
        live = len[t] > live ? len[t] : live;
    bool shapes = attention_shapes(f, name, kt, vt);
    double *kp = shapes && table ? pool_of(kt, table, pages, live) : NULL,
           *vp = shapes && table ? pool_of(vt, table, pages, live) : NULL;
    if (kp && vp && q && o && mm && l && inner && pos && len) {
        ts_attention_args a = {.T = acc->dim[0],
                               .Hq = acc->dim[1],
                               .Hkv = kt->dim[0],
                               .D = acc->dim[3],
                               .parts = acc->dim[2],
                               .window = m->window,
                               .scale = m->scale,
                               .q = f64(q),
                               .pos = pos,
                               .len = len,
                               .kv = {.page = 16, .pages = pages, .table = table, .k = kp, .v = vp},
                               .o = f64(o),
                               .m = f64(mm),
                               .l = f64(l),
                               .acc = f64(inner)};
        ts_ref64.op(TS_OP_ATTENTION, &a);
        attention_steps(k, f, name, a);
    }
    char what[64];
    snprintf(what, sizeof what, "ref64 attention ~ %.30s", name);
    compare(k, what, f, name, "out", o, 1e-12); /* NaN if an input was missing or of another shape */
    compare(k, what, f, name, "m", mm, 1e-12);
    compare(k, what, f, name, "l", l, 1e-12);
    compare(k, what, f, name, "acc", inner, 1e-12);
    void *all[] = {q, o, mm, l, inner, pos, len, table, kp, vp};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void attention_one(ts_check *k, const ts_safetensors *f, const char *name)
{
    cJSON *json = NULL;
    attention_meta m;
    ts_error err = {0};
    ts_status s = parse_meta(f, name, &json, &m, &err);
    if (s)
        ts_report_error(k->report, "golden", s, &err);
    else
        attention_run(k, f, name, &m);
    cJSON_Delete(json);
}

void ts_external_attention(ts_check *k, const ts_case *c)
{
    with_golden(k, c, "", ".out", attention_one);
}
