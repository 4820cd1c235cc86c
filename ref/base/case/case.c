#include "case/case.h"

#include <stdlib.h>
#include <string.h>

#include "format/files.h"
#include "format/json.h"

static const cJSON *get(const cJSON *o, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

const char *ts_case_string(const ts_case *c, const char *key)
{
    return cJSON_GetStringValue(get(c->json, key));
}

const char *ts_case_expect(const ts_case *c, const char *field)
{
    const cJSON *expect = get(c->json, "expect");
    return expect ? cJSON_GetStringValue(get(expect, field)) : NULL;
}

bool ts_case_covers(const ts_case *c, const char *report)
{
    const cJSON *id;
    cJSON_ArrayForEach (id, get(c->json, "covers"))
        if (cJSON_IsString(id) && strcmp(id->valuestring, report) == 0)
            return true;
    return false;
}

static bool listed(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

/* The fields of a case beside the common ones; all others are misspelt. */
static ts_status validate_keys(const ts_case *c, const char *kind, const char *const *keys, ts_error *err)
{
    static const char *const common[] = {"schema", "kind", "about", "covers", "expect", "made_by", NULL};
    const cJSON *i;
    cJSON_ArrayForEach (i, c->json)
        if (!listed(i->string, common) && !listed(i->string, keys))
            return ts_fail(err, TS_BAD, c->path, i->string, "no field of a case of kind %s", kind);
    return TS_OK;
}

/* An object, if it is there, of strings under these names. */
static ts_status validate_strings(const ts_case *c, const char *key, const char *const *names, ts_error *err)
{
    const cJSON *o = get(c->json, key), *i;
    if (o && !cJSON_IsObject(o))
        return ts_fail(err, TS_BAD, c->path, key, "not an object");
    cJSON_ArrayForEach (i, o) {
        if (!listed(i->string, names))
            return ts_fail(err, TS_BAD, c->path, key, "has no field \"%.60s\"", i->string);
        if (!cJSON_IsString(i))
            return ts_fail(err, TS_BAD, c->path, key, "\"%.60s\" is not a string", i->string);
    }
    return TS_OK;
}

static ts_status validate_common(const ts_case *c, ts_error *err)
{
    static const char *const made[] = {"tool", "commit", "flags", NULL};
    const cJSON *about = get(c->json, "about");
    if (about && !cJSON_IsString(about))
        return ts_fail(err, TS_BAD, c->path, "about", "not a string");
    return validate_strings(c, "made_by", made, err);
}

static ts_status validate_covers(ts_case *c, ts_error *err)
{
    const cJSON *covers = get(c->json, "covers"), *id;
    if (covers && !cJSON_IsArray(covers))
        return ts_fail(err, TS_BAD, c->path, "covers", "not a list of report ids");
    cJSON_ArrayForEach (id, covers)
        if (!cJSON_IsString(id) || id->valuestring[0] < 'A' || id->valuestring[0] > 'Z' ||
            strspn(id->valuestring + 1, "0123456789") != strlen(id->valuestring + 1) || !id->valuestring[1])
            return ts_fail(err, TS_BAD, c->path, "covers", "a report id is a letter and a number, such as \"A12\"");
    return TS_OK;
}

enum { MAX_ROWS_ALL_CUTS = 256 };

/* "all", or lists of pieces; each list must add up to T. */
static ts_status validate_cuts(ts_case *c, ts_error *err)
{
    const cJSON *cuts = get(c->json, "cuts"), *T = get(get(c->json, "dims"), "T"), *list, *rows;
    if (!cuts)
        return TS_OK;
    if (!T)
        return ts_fail(err, TS_BAD, c->path, "cuts", "the operation has no rows T to cut");
    if (cJSON_IsString(cuts) && strcmp(cuts->valuestring, "all") == 0)
        return T->valuedouble <= MAX_ROWS_ALL_CUTS
                   ? TS_OK
                   : ts_fail(err, TS_BAD, c->path, "cuts", "\"all\" is for at most %d rows", MAX_ROWS_ALL_CUTS);
    if (!cJSON_IsArray(cuts) || !cuts->child)
        return ts_fail(err, TS_BAD, c->path, "cuts", "neither \"all\" nor a list of lists");
    cJSON_ArrayForEach (list, cuts) {
        double sum = 0;
        cJSON_ArrayForEach (rows, list) {
            if (!cJSON_IsNumber(rows) || !(rows->valuedouble >= 1) || rows->valuedouble != (double)rows->valueint)
                return ts_fail(err, TS_BAD, c->path, "cuts", "a piece is a positive number of rows");
            sum += rows->valuedouble;
        }
        if (!cJSON_IsArray(list) || sum != T->valuedouble)
            return ts_fail(err, TS_BAD, c->path, "cuts", "pieces of %g rows, T is %g", sum, T->valuedouble);
    }
    return TS_OK;
}

static bool known_dim(const ts_op *op, const char *name)
{
    for (int i = 0; i < TS_MAX_OP_DIMS && op->dim[i].name; i++)
        if (strcmp(op->dim[i].name, name) == 0)
            return true;
    return false;
}

static ts_status validate_dims(ts_case *c, const ts_op *op, ts_error *err)
{
    const cJSON *dims = get(c->json, "dims"), *d;
    if (!cJSON_IsObject(dims))
        return ts_fail(err, TS_BAD, c->path, "dims", "missing");
    cJSON_ArrayForEach (d, dims)
        if (!known_dim(op, d->string))
            return ts_fail(err, TS_BAD, c->path, d->string, "operation %s has no such dim", op->name);
    int64_t args[64] = {0}; /* an args struct of any operation, for its dims alone */
    const char *rule;
    for (int i = 0; i < TS_MAX_OP_DIMS && op->dim[i].name; i++) {
        ts_status (*read)(const char *, const cJSON *, const char *, int64_t, int64_t, int64_t *,
                          ts_error *) = ts_op_dim_optional(op, op->dim[i].name) ? ts_json_opt_int : ts_json_int;
        ts_status s = read(c->path, dims, op->dim[i].name, 0, 1 << 24,
                           (int64_t *)(void *)((char *)args + op->dim[i].offset), err);
        if (s)
            return s;
    }
    return ts_op_dims_ok(op, args, &rule)
               ? TS_OK
               : ts_fail(err, TS_BAD, c->path, "dims", "operation %s needs %s%.*s", op->name,
                         strpbrk(rule, "%<") ? "" : "a positive ", (int)strcspn(rule, " "), rule);
}

static ts_status validate_params(ts_case *c, const ts_op *op, ts_error *err)
{
    const cJSON *params = get(c->json, "params"), *p;
    int known = 0;
    if (params && !cJSON_IsObject(params))
        return ts_fail(err, TS_BAD, c->path, "params", "not an object");
    for (; known < TS_MAX_PARAMS && op->param[known].name; known++) {
        double v;
        ts_status s = ts_json_double(c->path, params, op->param[known].name, &v, err);
        if (s)
            return s;
    }
    int given = 0;
    cJSON_ArrayForEach (p, params)
        given++;
    return given == known ? TS_OK
                          : ts_fail(err, TS_BAD, c->path, "params", "operation %s takes %d", op->name, known);
}

static const ts_field *field_of(const ts_op *op, const char *name)
{
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++)
        if (strcmp(op->field[i].name, name) == 0)
            return &op->field[i];
    return NULL;
}

/* `expect` names outputs only, `inputs` inputs only: all strings. */
static ts_status validate_names(const ts_case *c, const ts_op *op, const char *key, bool outputs, ts_error *err)
{
    const cJSON *o = get(c->json, key), *i;
    if (o && !cJSON_IsObject(o))
        return ts_fail(err, TS_BAD, c->path, key, "not an object");
    cJSON_ArrayForEach (i, o) {
        const ts_field *f = field_of(op, i->string);
        if (!f || (outputs ? f->role == TS_IN : f->role > TS_INOUT))
            return ts_fail(err, TS_BAD, c->path, key, "operation %s has no %s \"%.60s\"", op->name,
                           outputs ? "output" : "input", i->string);
        if (!cJSON_IsString(i))
            return ts_fail(err, TS_BAD, c->path, key, "\"%.60s\" is not a string", i->string);
    }
    return TS_OK;
}

/* Every input field must name its generator. */
static ts_status validate_fields(ts_case *c, const ts_op *op, ts_error *err)
{
    const cJSON *inputs = get(c->json, "inputs");
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++) {
        const ts_field *f = &op->field[i];
        if (f->role <= TS_INOUT && !cJSON_GetStringValue(get(inputs, f->name)))
            return ts_fail(err, TS_BAD, c->path, f->name, "inputs name no generator for this field");
    }
    ts_status s = validate_names(c, op, "inputs", false, err);
    return s ? s : validate_names(c, op, "expect", true, err);
}

static ts_status validate_op(ts_case *c, ts_error *err)
{
    static const char *const keys[] = {"op",   "order",  "version", "dims", "params",
                                       "seed", "inputs", "exact",   "cuts", NULL};
    const char *name = ts_case_string(c, "op"), *order = ts_case_string(c, "order");
    const cJSON *exact = get(c->json, "exact");
    ts_status s = validate_keys(c, "op", keys, err);
    if (!s && exact && !cJSON_IsBool(exact))
        s = ts_fail(err, TS_BAD, c->path, "exact", "neither true nor false");
    if (s)
        return s;
    c->op = name ? ts_op_find(name) : TS_OP_COUNT;
    if (c->op == TS_OP_COUNT)
        return ts_fail(err, TS_BAD, c->path, "op", "unknown operation '%s'", name ? name : "");
    const ts_op *op = &ts_op_table[c->op];
    int64_t version;
    s = ts_json_int(c->path, c->json, "version", 1, 1000000, &version, err);
    if (s)
        return s;
    if (version != op->version || !order || strcmp(order, op->order) != 0)
        return ts_fail(err, TS_BAD, c->path, "version",
                       "made for %s version %lld order %s, this build has version %d order %s", op->name,
                       (long long)version, order ? order : "?", op->version, op->order);
    s = ts_json_u64_string(c->path, c->json, "seed", &c->seed, err);
    if (!s)
        s = validate_dims(c, op, err);
    if (!s)
        s = validate_params(c, op, err);
    if (!s)
        s = validate_fields(c, op, err);
    return s ? s : validate_cuts(c, err);
}

/* One of the words, or absent. */
static ts_status validate_word(const ts_case *c, const char *key, const char *const *words, ts_error *err)
{
    const cJSON *i = get(c->json, key);
    if (!i || (cJSON_IsString(i) && listed(i->valuestring, words)))
        return TS_OK;
    return ts_fail(err, TS_BAD, c->path, key, "'%.60s' is none of %s%s%s", cJSON_IsString(i) ? i->valuestring : "?",
                   words[0], words[1] ? ", " : "", words[1] ? words[1] : "");
}

static ts_status validate_stream(ts_case *c, ts_error *err)
{
    static const char *const keys[] = {"model", "profile",  "golden", "bits", "new",
                                       "tier",  "variants", "draft",  NULL};
    static const char *const outputs[] = {"weights", "logits", "ids", "rounds", NULL},
                             *const tiers[] = {"check", "grid", NULL}, *const variants[] = {"invariance", NULL};
    int64_t count, bits = 0;
    const char *text;
    ts_status s = validate_keys(c, "stream", keys, err);
    for (int i = 0; i < 3 && !s; i++)
        s = ts_json_string(c->path, c->json, keys[i], &text, err);
    if (!s && !ts_profile_find(ts_case_string(c, "profile")))
        s = ts_fail(err, TS_BAD, c->path, "profile", "'%.60s' is no profile", ts_case_string(c, "profile"));
    if (!s)
        s = ts_json_int(c->path, c->json, "new", 1, 100000, &count, err);
    if (!s)
        s = ts_json_opt_int(c->path, c->json, "bits", 0, 8, &bits, err);
    if (!s && bits != 0 && bits != 4 && bits != 8)
        s = ts_fail(err, TS_BAD, c->path, "bits", "%d is none of 0, 4, 8", (int)bits);
    if (!s)
        s = validate_word(c, "tier", tiers, err);
    if (!s)
        s = validate_word(c, "variants", variants, err);
    if (!s)
        s = validate_word(c, "draft", (const char *const[]){"mtp", "dflash2", NULL}, err);
    return s ? s : validate_strings(c, "expect", outputs, err);
}

static ts_status validate_external(ts_case *c, ts_error *err)
{
    static const char *const keys[] = {"check",  "golden",  "model", "config", "weights", "tokenizer", "mtp",
                                       "dflash", "profile", "vary",  "type",   "tier",    NULL};
    static const char *const outputs[] = {"a64s8", "a64_panel", "a64", "a64_fma", "a8_panel", "a8_s1",
                                          "a8_s2", "a8_s4",     "ex",  "forks",   NULL}; /* hashes of w4a8 first */
    const char *text;
    ts_status s = validate_keys(c, "external", keys, err);
    for (int i = 0; keys[i] && !s; i++)
        if (i == 0 || get(c->json, keys[i]))
            s = ts_json_string(c->path, c->json, keys[i], &text, err);
    return s ? s : validate_strings(c, "expect", outputs, err);
}

static ts_status validate(ts_case *c, ts_error *err)
{
    int64_t schema;
    ts_status s = ts_json_int(c->path, c->json, "schema", 1, 1, &schema, err);
    if (!s)
        s = validate_covers(c, err);
    if (!s)
        s = validate_common(c, err);
    if (s)
        return s;
    const char *kind = ts_case_string(c, "kind");
    if (kind && strcmp(kind, "op") == 0) {
        c->kind = TS_CASE_OP;
        return validate_op(c, err);
    }
    if (kind && strcmp(kind, "stream") == 0) {
        c->kind = TS_CASE_STREAM;
        return validate_stream(c, err);
    }
    if (kind && strcmp(kind, "external") == 0) {
        c->kind = TS_CASE_EXTERNAL;
        return validate_external(c, err);
    }
    return ts_fail(err, TS_BAD, c->path, "kind", "unknown kind '%s'", kind ? kind : "");
}

ts_status ts_case_load(const char *folder, const char *path, ts_case *out, ts_error *err)
{
    memset(out, 0, sizeof *out);
    size_t skip = strlen(folder) + 1, len = strlen(path);
    if (len >= sizeof out->path || len < skip + 6 || len - skip - 5 >= sizeof out->name)
        return ts_fail(err, TS_BAD, path, NULL, "path too long for a case");
    memcpy(out->path, path, len + 1);
    memcpy(out->name, path + skip, len - skip - 5);
    ts_status s = ts_json_load(path, &out->json, &out->error);
    if (!s)
        s = validate(out, &out->error);
    if (s)
        out->kind = TS_CASE_BROKEN;
    return TS_OK;
}

void ts_case_free(ts_case *c)
{
    cJSON_Delete(c->json);
    c->json = NULL;
}

static bool is_json(const char *path)
{
    size_t len = strlen(path);
    return len > 5 && strcmp(path + len - 5, ".json") == 0;
}

ts_status ts_case_list(const char *folder, ts_case **out, size_t *n, ts_error *err)
{
    ts_files files;
    *out = NULL;
    *n = 0;
    ts_status s = ts_files_list(folder, &files, err);
    if (s)
        return s;
    *out = calloc(files.n + 1, sizeof **out);
    if (!*out)
        s = ts_no_memory(err, files.n * sizeof **out);
    for (size_t i = 0; !s && i < files.n; i++)
        if (is_json(files.path[i])) {
            s = ts_case_load(folder, files.path[i], &(*out)[*n], err);
            *n += s == TS_OK;
        }
    ts_files_free(&files);
    return s;
}

void ts_case_list_free(ts_case *cases, size_t n)
{
    for (size_t i = 0; cases && i < n; i++)
        ts_case_free(&cases[i]);
    free(cases);
}
