#include "sweep/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "format/json.h"
#include "num/convert.h"

static void add_text(cJSON *o, const char *key, const char *format, double x)
{
    char text[64];
    snprintf(text, sizeof text, format, x);
    cJSON_AddStringToObject(o, key, text);
}

static void add_bits(cJSON *o, const char *key, uint32_t bits)
{
    char text[16];
    snprintf(text, sizeof text, "0x%08x", bits);
    cJSON_AddStringToObject(o, key, text);
}

static cJSON *entry(const ts_sweep_function *f, uint32_t bits)
{
    cJSON *o = cJSON_CreateObject();
    add_bits(o, "bits", bits);
    add_text(o, "x", "%.9g", (double)ts_float(bits));
    add_text(o, "y", "%.9g", (double)ts_sweep_apply(f, ts_float(bits)));
    return o;
}

static void add_top(cJSON *o, const ts_sweep_function *f, const char *list, const ts_sweep_top *t, const char *key,
                    double sign, const char *format)
{
    cJSON *a = cJSON_AddArrayToObject(o, list);
    for (int i = 0; i < t->n; i++) {
        cJSON *e = entry(f, t->bits[i]);
        add_text(e, key, format, sign * t->key[i]);
        cJSON_AddItemToArray(a, e);
    }
}

static cJSON *range_json(const ts_sweep_function *f, const ts_sweep_range *r, const char *x)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "x", x);
    cJSON *off = cJSON_AddObjectToObject(o, "ulp_from_correctly_rounded");
    for (int d = 0; d < 3; d++)
        cJSON_AddNumberToObject(off, (const char *[]){"0", "1", "2"}[d], (double)r->off[d]);
    cJSON_AddNumberToObject(off, "more", (double)r->more);
    cJSON_AddNumberToObject(off, "largest", (double)r->distance);
    cJSON_AddNumberToObject(o, "nan", (double)r->nan);
    cJSON_AddNumberToObject(o, "wrong_class", (double)r->wrong);
    add_text(o, "worst_ulp", "%.9f", r->worst.n ? r->worst.key[0] : 0);
    add_top(o, f, "worst", &r->worst, "ulp", 1, "%.9f");
    return o;
}

cJSON *ts_sweep_json(const ts_sweep_function *f, const ts_sweep *s, uint64_t stride)
{
    char names[256], x[64];
    bool split = isfinite(f->split);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "stride", (double)stride);
    cJSON_AddNumberToObject(o, "inputs", (double)s->inputs);
    ts_sweep_schedules(f, names, sizeof names);
    cJSON_AddStringToObject(o, "schedules", names);
    cJSON_AddNumberToObject(o, "unequal_to_ref32", (double)s->unequal);
    if (s->unequal)
        add_bits(o, "first_unequal", s->first_unequal);
    cJSON *ranges = cJSON_AddArrayToObject(o, "ranges");
    snprintf(x, sizeof x, "x >= %.9g, NaN", (double)f->split);
    cJSON_AddItemToArray(ranges, range_json(f, &s->range[0], split ? x : "all"));
    snprintf(x, sizeof x, "x < %.9g", (double)f->split);
    if (split)
        cJSON_AddItemToArray(ranges, range_json(f, &s->range[1], x));
    cJSON_AddNumberToObject(o, "ties", (double)s->ties);
    add_top(o, f, "hardest", &s->hardest, "ulp_from_tie", -1, "%.6e");
    return o;
}

/* Functions in the order of the table, whatever the order of the sweeps. */
static void put(cJSON *functions, const char *name, cJSON *record)
{
    cJSON_DeleteItemFromObjectCaseSensitive(functions, name);
    cJSON_AddItemToObject(functions, name, record);
    for (int i = 0; ts_sweep_at(i); i++) {
        cJSON *r = cJSON_DetachItemFromObjectCaseSensitive(functions, ts_sweep_at(i)->name);
        if (r)
            cJSON_AddItemToObject(functions, ts_sweep_at(i)->name, r);
    }
}

ts_status ts_sweep_save(const char *file, const char *function, cJSON *record, ts_error *err)
{
    cJSON *json = NULL;
    ts_status s = access(file, F_OK) == 0 ? ts_json_load(file, &json, err) : TS_OK;
    if (!s && !json) {
        json = cJSON_CreateObject();
        cJSON_AddNumberToObject(json, "schema", 1);
        cJSON_AddStringToObject(json, "about",
                                "Elementary functions over all f32 inputs; made by `make exhaustive`.");
        cJSON_AddObjectToObject(json, "functions");
    }
    cJSON *functions = cJSON_GetObjectItemCaseSensitive(json, "functions");
    if (!s && !cJSON_IsObject(functions))
        s = ts_fail(err, TS_BAD, file, "functions", "missing");
    if (s) {
        cJSON_Delete(record);
    } else {
        put(functions, function, record);
        s = ts_json_save(file, json, err);
    }
    cJSON_Delete(json);
    return s;
}

ts_status ts_sweep_recorded_ulp(const char *file, const cJSON *json, const char *function, double *ulp,
                                ts_error *err)
{
    int64_t stride;
    const char *text;
    const cJSON *functions = cJSON_GetObjectItemCaseSensitive(json, "functions");
    const cJSON *f = cJSON_GetObjectItemCaseSensitive(functions, function);
    ts_status s = ts_json_int(file, f, "stride", 1, INT32_MAX, &stride, err);
    if (!s && stride != 1)
        return ts_fail(err, TS_BAD, file, function, "swept with stride %lld, not fully", (long long)stride);
    const cJSON *range = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(f, "ranges"), 0);
    if (!s)
        s = ts_json_string(file, range, "worst_ulp", &text, err);
    if (!s)
        *ulp = strtod(text, NULL);
    return s;
}

/* Rounded up to four decimals. */
static double up(double ulp)
{
    return (floor(ulp * 1e4) + 1) / 1e4;
}

ts_status ts_sweep_header(const char *file, char **text, ts_error *err)
{
    cJSON *json = NULL;
    double e = 0, e2 = 0, softplus = 0;
    ts_status s = ts_json_load(file, &json, err);
    if (!s)
        s = ts_sweep_recorded_ulp(file, json, "exp", &e, err);
    if (!s)
        s = ts_sweep_recorded_ulp(file, json, "exp2", &e2, err);
    if (!s)
        s = ts_sweep_recorded_ulp(file, json, "softplus", &softplus, err);
    cJSON_Delete(json);
    if (s)
        return s;
    static const char format[] =
        "/* Made by `make exhaustive` from golden/own/exhaustive.json: the largest distance of ref32 from the\n"
        " * true value over all inputs, in ulp, rounded up. */\n"
        "#ifndef TS_TOOLS_CHECK_ULP_H\n#define TS_TOOLS_CHECK_ULP_H\n\n"
        "#define TS_ULP_EXP %.4f\n#define TS_ULP_EXP2 %.4f\n#define TS_ULP_SOFTPLUS %.4f\n\n#endif\n";
    size_t size = sizeof format + 48;
    *text = malloc(size);
    if (!*text)
        return ts_no_memory(err, size);
    snprintf(*text, size, format, up(e), up(e2), up(softplus));
    return TS_OK;
}
