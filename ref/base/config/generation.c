#include "config/generation.h"

#include <stdlib.h>
#include <string.h>
#include "format/json.h"

typedef struct {
    const char *file;
    const cJSON *json;
    ts_error *err;
} source;

/* An optional number of lo .. hi, compared as the f32 that it becomes. */
static ts_status read_float(const source *s, const char *key, float lo, float hi, float *out)
{
    double x = (double)*out;
    ts_status status = ts_json_opt_double(s->file, s->json, key, &x, s->err);
    if (status != TS_OK)
        return status;
    if (!(x >= (double)lo && x <= (double)hi))
        return ts_fail(s->err, TS_BAD, s->file, key, "%g is not within %g..%g", x, (double)lo, (double)hi);
    *out = (float)x;
    return TS_OK;
}

static ts_status read_all(const source *s, ts_generation_config *g)
{
    const float tiny = 0x1p-126f; /* its inverse is finite */
    bool sample = true;
    if (!cJSON_IsObject(s->json))
        return ts_fail(s->err, TS_BAD, s->file, NULL, "must be a JSON object");
    ts_status status = ts_json_opt_bool(s->file, s->json, "do_sample", &sample, s->err);
    if (status == TS_OK)
        status = read_float(s, "temperature", 0, 1e30f, &g->temperature);
    if (status == TS_OK && g->temperature > 0 && g->temperature < tiny)
        status = ts_fail(s->err, TS_BAD, s->file, "temperature", "so small that its inverse is infinite");
    if (status == TS_OK)
        status = ts_json_opt_int(s->file, s->json, "top_k", -1, INT32_MAX, &g->top_k, s->err);
    if (status == TS_OK)
        status = read_float(s, "top_p", 0, 1, &g->top_p);
    if (status == TS_OK)
        status = read_float(s, "min_p", 0, 1, &g->min_p);
    if (status == TS_OK)
        status = read_float(s, "repetition_penalty", tiny, 1e30f, &g->repetition);
    if (!sample)
        g->temperature = 0;
    return status;
}

ts_status ts_generation_config_load(const char *dir, ts_generation_config *out, ts_error *err)
{
    static const char name[] = "/generation_config.json";
    const size_t length = strlen(dir);
    ts_generation_config g = {.temperature = 1, .top_p = 1, .repetition = 1};
    cJSON *json = NULL;
    char *path = malloc(length + sizeof name);
    if (path == NULL)
        return ts_no_memory(err, length + sizeof name);
    memcpy(path, dir, length);
    memcpy(path + length, name, sizeof name);
    ts_status status = ts_json_load(path, &json, err);
    if (status == TS_OK)
        status = read_all(&(source){path, json, err}, &g);
    if (status == TS_OK)
        *out = g;
    cJSON_Delete(json);
    free(path);
    return status;
}
