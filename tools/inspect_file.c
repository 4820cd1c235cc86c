#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case/case.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "format/tokenizer.h"
#include "inspect.h"

static void add_real(cJSON *o, const char *key, double v)
{
    char text[32];
    snprintf(text, sizeof text, "%.9g", v);
    cJSON_AddRawToObject(o, key, text);
}

/* Of the finite elements; NaN and Inf are counted. */
static void add_stats(cJSON *o, const ts_tensor *t)
{
    double lo = HUGE_VAL, hi = -HUGE_VAL, sum = 0;
    int64_t finite = 0, nan = 0, n = ts_tensor_count(t);
    int bits = ts_dtype_table[t->dtype].bits;
    if (bits < 8 || t->dtype == TS_C64 || (t->dtype >= TS_F8_E5M2 && t->dtype <= TS_F8_E5M2FNUZ)) {
        cJSON_AddStringToObject(o, "stats", "not for this dtype");
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double v = ts_tensor_get(t, i);
        nan += isnan(v);
        if (!isfinite(v))
            continue;
        finite++;
        lo = fmin(lo, v);
        hi = fmax(hi, v);
        sum += v;
    }
    if (finite > 0) {
        add_real(o, "min", lo);
        add_real(o, "max", hi);
        add_real(o, "mean", sum / (double)finite);
    }
    cJSON_AddNumberToObject(o, "nan", (double)nan);
    cJSON_AddNumberToObject(o, "inf", (double)(n - finite - nan));
}

static void add_tensors(const ts_safetensors *f, bool stats, cJSON *o)
{
    size_t bytes = 0, n = ts_safetensors_count(f);
    for (size_t i = 0; i < n; i++)
        bytes += ts_safetensors_at(f, i)->size;
    cJSON_AddNumberToObject(o, "count", (double)n);
    cJSON_AddNumberToObject(o, "bytes", (double)bytes);
    cJSON *list = cJSON_AddArrayToObject(o, "tensors");
    for (size_t i = 0; i < n; i++) {
        const ts_tensor *t = ts_safetensors_at(f, i);
        char shape[TS_SHAPE_TEXT];
        cJSON *e = cJSON_CreateObject();
        ts_shape_text(t->ndim, t->dim, shape, sizeof shape);
        cJSON_AddStringToObject(e, "name", t->name);
        cJSON_AddStringToObject(e, "dtype", ts_dtype_table[t->dtype].name);
        cJSON_AddStringToObject(e, "shape", shape);
        cJSON_AddNumberToObject(e, "bytes", (double)t->size);
        if (stats)
            add_stats(e, t);
        cJSON_AddItemToArray(list, e);
    }
}

ts_status ts_inspect_safetensors(const char *path, bool stats, cJSON *o, ts_error *err)
{
    ts_safetensors *f = NULL;
    ts_status status = ts_safetensors_open(path, &f, err);
    if (status)
        return status;
    bool trace = ts_safetensors_meta(f, "order") != NULL;
    cJSON_AddStringToObject(o, "what", trace ? "trace" : "safetensors");
    cJSON *meta = cJSON_AddObjectToObject(o, "metadata");
    const char *key, *value;
    for (size_t i = 0; ts_safetensors_meta_at(f, i, &key, &value); i++)
        if (!trace || strcmp(key, "order") != 0) /* the list of tensors that follows */
            cJSON_AddStringToObject(meta, key, value);
    add_tensors(f, stats, o);
    ts_safetensors_close(f);
    return TS_OK;
}

static ts_status tokenizer(const char *path, cJSON *o, ts_error *err)
{
    ts_tokenizer *t = NULL;
    ts_status status = ts_tokenizer_open(path, &t, err);
    if (status)
        return status;
    cJSON_AddStringToObject(o, "what", "tokenizer");
    cJSON_AddNumberToObject(o, "ids", (double)ts_tokenizer_size(t));
    ts_tokenizer_close(t);
    return TS_OK;
}

static ts_status test_case(const char *path, cJSON *o, ts_error *err)
{
    static const char *const kind[] = {"op", "stream", "external"};
    static const char *const copied[] = {"op",     "order",  "version", "seed",   "profile", "exact",  "model",
                                         "golden", "covers", "dims",    "params", "inputs",  "expect", "made_by"};
    ts_case c;
    ts_status status = ts_case_load("", path, &c, err);
    if (status)
        return status;
    if (c.kind == TS_CASE_BROKEN) {
        *err = c.error;
        ts_case_free(&c);
        return TS_BAD;
    }
    cJSON_AddStringToObject(o, "what", "case");
    cJSON_AddStringToObject(o, "kind", kind[c.kind]);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(c.json, copied[i]);
        if (item)
            cJSON_AddItemToObject(o, copied[i], cJSON_Duplicate(item, true));
    }
    ts_case_free(&c);
    return TS_OK;
}

static ts_status config(const char *path, cJSON *o, ts_error *err)
{
    ts_config c;
    ts_status status = ts_config_load_file(path, &c, err);
    if (status)
        return status;
    cJSON_AddStringToObject(o, "what", "config");
    ts_inspect_config(&c, o);
    return TS_OK;
}

/* How many tensors the index places in each shard. */
static void shard_index(const cJSON *map, cJSON *o)
{
    cJSON_AddStringToObject(o, "what", "shard index");
    cJSON *shards = cJSON_AddObjectToObject(o, "tensors");
    for (const cJSON *i = map->child; i; i = i->next) {
        const char *name = cJSON_IsString(i) ? i->valuestring : "(not a file name)";
        cJSON *n = cJSON_GetObjectItemCaseSensitive(shards, name);
        if (n)
            cJSON_SetNumberValue(n, n->valuedouble + 1);
        else
            cJSON_AddNumberToObject(shards, name, 1);
    }
}

ts_status ts_inspect_json(const char *path, cJSON *o, ts_error *err)
{
    cJSON *json = NULL;
    ts_status status = ts_json_load(path, &json, err);
    if (status)
        return status;
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(json, "weight_map");
    if (cJSON_IsObject(map))
        shard_index(map, o);
    else if (cJSON_HasObjectItem(json, "kind"))
        status = test_case(path, o, err);
    else if (cJSON_HasObjectItem(json, "model_type") || cJSON_HasObjectItem(json, "text_config"))
        status = config(path, o, err);
    else if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(json, "model")))
        status = tokenizer(path, o, err);
    else
        status = ts_fail(err, TS_BAD, path, NULL, "JSON, but no tokenizer, config, shard index or case");
    cJSON_Delete(json);
    return status;
}
