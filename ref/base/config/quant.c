/* MLX "quantization": every value checked, so that the binder only has to look up. */
#include "config/quant.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *file, *name; /* name: of the object being read */
    ts_error *err;
} source;

const char *ts_quant_plain(const char *module)
{
    static const char prefix[] = "language_model.";
    return strncmp(module, prefix, sizeof prefix - 1) == 0 ? module + sizeof prefix - 1 : module;
}

static int by_module(const void *a, const void *b)
{
    return strcmp(((const ts_quant_override *)a)->module, ((const ts_quant_override *)b)->module);
}

static bool one_of(int64_t v, const int *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v == list[i])
            return true;
    return false;
}

bool ts_quant_bits_ok(int64_t bits)
{
    static const int widths[] = {2, 3, 4, 5, 6, 8};
    return one_of(bits, widths, sizeof widths / sizeof *widths);
}

bool ts_quant_group_ok(int64_t group)
{
    static const int groups[] = {32, 64, 128};
    return one_of(group, groups, sizeof groups / sizeof *groups);
}

/* What is wrong with a key of one module's object, told with the module. */
static ts_status in_module(const source *s, ts_status status, const char *where)
{
    if (status == TS_OK || s->err == NULL || strcmp(where, s->name) == 0)
        return status;
    ts_error e = *s->err;
    return ts_fail(s->err, status, e.file, where, "%.60s: %.200s", e.tensor, e.reason);
}

/* `where` is the object's name, or the module an override is for. */
static ts_status read_kind(const source *s, const cJSON *o, const char *where, ts_quant_kind *out)
{
    int64_t bits, group;
    const char *mode = "affine";
    ts_status status = ts_json_int(s->file, o, "bits", 1, 64, &bits, s->err);
    if (status == TS_OK)
        status = ts_json_int(s->file, o, "group_size", 1, 1 << 20, &group, s->err);
    if (status == TS_OK && cJSON_HasObjectItem(o, "mode"))
        status = ts_json_string(s->file, o, "mode", &mode, s->err);
    if (status != TS_OK)
        return in_module(s, status, where);
    if (!ts_quant_bits_ok(bits))
        return ts_fail(s->err, TS_BAD, s->file, where, "%lld bits are not supported; 2, 3, 4, 5, 6 and 8 are",
                       (long long)bits);
    if (!ts_quant_group_ok(group))
        return ts_fail(s->err, TS_BAD, s->file, where, "groups of %lld are not supported; 32, 64 and 128 are",
                       (long long)group);
    if (strcmp(mode, "affine") != 0)
        return ts_fail(s->err, TS_BAD, s->file, where, "mode \"%.60s\" is not supported; \"affine\" is", mode);
    *out = (ts_quant_kind){.bits = (int)bits, .group = (int)group};
    return TS_OK;
}

/* true is what MLX itself takes for "as all others". */
static ts_status read_override(const source *s, const cJSON *i, ts_quant *q)
{
    ts_quant_kind kind = {0};
    if (cJSON_IsTrue(i))
        kind = q->all;
    else if (!cJSON_IsFalse(i) && !cJSON_IsObject(i))
        return ts_fail(s->err, TS_BAD, s->file, s->name,
                       "\"%.100s\": neither a module's bits and group_size nor false", i->string);
    ts_status status = cJSON_IsObject(i) ? read_kind(s, i, i->string, &kind) : TS_OK;
    if (status != TS_OK)
        return status;
    kind.own = true;
    char *module = strdup(ts_quant_plain(i->string));
    if (module == NULL)
        return ts_no_memory(s->err, strlen(i->string) + 1);
    q->own[q->n++] = (ts_quant_override){module, kind};
    return TS_OK;
}

static ts_status check_distinct(const source *s, const ts_quant *q)
{
    for (size_t i = 1; i < q->n; i++)
        if (strcmp(q->own[i - 1].module, q->own[i].module) == 0)
            return ts_fail(s->err, TS_BAD, s->file, s->name, "\"%.100s\" is given twice, with and without a prefix",
                           q->own[i].module);
    return TS_OK;
}

static bool is_default(const char *key)
{
    return strcmp(key, "bits") == 0 || strcmp(key, "group_size") == 0 || strcmp(key, "mode") == 0;
}

static ts_status read_object(const source *s, const cJSON *o, ts_quant *q)
{
    if (!cJSON_IsObject(o))
        return ts_fail(s->err, TS_BAD, s->file, s->name, "must be an object");
    size_t n = 0;
    for (const cJSON *i = o->child; i != NULL; i = i->next, n++)
        if (!is_default(i->string) && !cJSON_IsBool(i) && !cJSON_IsObject(i)) /* before a missing "bits" */
            return read_override(s, i, q);
    ts_status status = read_kind(s, o, s->name, &q->all);
    q->own = status == TS_OK ? calloc(n + 1, sizeof *q->own) : NULL;
    if (status == TS_OK && q->own == NULL)
        status = ts_no_memory(s->err, n * sizeof *q->own);
    for (const cJSON *i = o->child; i != NULL && status == TS_OK; i = i->next)
        if (!is_default(i->string))
            status = read_override(s, i, q);
    if (status != TS_OK)
        return status;
    qsort(q->own, q->n, sizeof *q->own, by_module);
    return check_distinct(s, q);
}

static bool same_kind(const ts_quant_kind *a, const ts_quant_kind *b)
{
    return a->bits == b->bits && a->group == b->group;
}

static bool same(const ts_quant *a, const ts_quant *b)
{
    bool equal = same_kind(&a->all, &b->all) && a->n == b->n;
    for (size_t i = 0; equal && i < a->n; i++)
        equal = strcmp(a->own[i].module, b->own[i].module) == 0 && same_kind(&a->own[i].kind, &b->own[i].kind);
    return equal;
}

/* One object: the first is kept, the others must agree with it. */
static ts_status join(const source *s, const cJSON *o, ts_quant *out)
{
    ts_quant q = {0};
    ts_status status = read_object(s, o, &q);
    if (status == TS_OK && out->all.bits == 0) {
        *out = q;
        return TS_OK;
    }
    if (status == TS_OK && !same(&q, out))
        status = ts_fail(s->err, TS_BAD, s->file, s->name,
                         "disagrees with another quantization object of this file");
    ts_quant_free(&q);
    return status;
}

ts_status ts_quant_read(const char *file, const cJSON *root, ts_quant *out, ts_error *err)
{
    const char *const names[] = {"quantization", "quantization_config"};
    const cJSON *const holders[] = {root, cJSON_GetObjectItemCaseSensitive(root, "text_config")};
    ts_status status = TS_OK;
    *out = (ts_quant){0};
    for (size_t i = 0; i < 4 && status == TS_OK; i++) {
        const cJSON *o = cJSON_GetObjectItemCaseSensitive(holders[i % 2], names[i / 2]);
        source s = {file, names[i / 2], err};
        if (o != NULL && !cJSON_IsNull(o))
            status = join(&s, o, out);
    }
    if (status != TS_OK)
        ts_quant_free(out);
    return status;
}

ts_status ts_quant_load(const char *path, ts_quant *out, ts_error *err)
{
    cJSON *json;
    *out = (ts_quant){0};
    ts_status status = ts_json_load(path, &json, err);
    if (status != TS_OK)
        return status;
    status = ts_quant_read(path, json, out, err);
    cJSON_Delete(json);
    return status;
}

void ts_quant_free(ts_quant *q)
{
    for (size_t i = 0; i < q->n; i++)
        free(q->own[i].module);
    free(q->own);
    *q = (ts_quant){0};
}

ts_quant_kind ts_quant_of(const ts_quant *q, const char *module)
{
    ts_quant_override wanted = {.module = (char *)(uintptr_t)ts_quant_plain(module)};
    const ts_quant_override *hit = q->n > 0 ? bsearch(&wanted, q->own, q->n, sizeof *q->own, by_module) : NULL;
    return hit != NULL ? hit->kind : q->all;
}
