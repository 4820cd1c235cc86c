/* A result as JSON, and two such files compared. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/result.h"
#include "cpu/isa.h"
#include "format/json.h"
#include "tool.h"

#define KIND "touchstone bench"

/* "model name" of /proc/cpuinfo, or "". */
static void cpu_name(char *out, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    out[0] = '\0';
    while (f && !out[0] && fgets(line, sizeof line, f)) {
        char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        line[strcspn(line, "\n")] = '\0';
        if (colon)
            snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " "));
    }
    if (f)
        fclose(f);
}

static const char *compiler(void)
{
    return strstr(__VERSION__, "lang") ? __VERSION__ : "gcc " __VERSION__;
}

static cJSON *spread_json(ts_spread s)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "median", s.median);
    cJSON_AddNumberToObject(o, "q1", s.low);
    cJSON_AddNumberToObject(o, "q3", s.high);
    return o;
}

static cJSON *probe_json(const ts_quiet *q)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "instruction", q->probe->name);
    cJSON_AddStringToObject(o, "unit", q->probe->unit);
    cJSON_AddNumberToObject(o, "macs", q->probe->macs);
    cJSON_AddNumberToObject(o, "best", q->best);
    cJSON_AddItemToObject(o, "per_ns", spread_json(q->spread));
    cJSON_AddBoolToObject(o, "disturbed", q->disturbed);
    return o;
}

static cJSON *row_json(const ts_row *row)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "op", row->op);
    cJSON_AddStringToObject(o, "shape", row->shape);
    cJSON_AddStringToObject(o, "footprint", row->footprint);
    cJSON_AddStringToObject(o, "name", row->name);
    if (row->skip[0]) {
        cJSON_AddStringToObject(o, "skip", row->skip);
        return o;
    }
    cJSON_AddStringToObject(o, "kind", ts_kind_name[row->kind]);
    cJSON_AddBoolToObject(o, "disturbed", row->disturbed);
    cJSON_AddNumberToObject(o, "runs", (double)row->runs);
    cJSON_AddItemToObject(o, "ns", spread_json(row->ns));
    if (row->bytes > 0) {
        cJSON_AddNumberToObject(o, "bytes", row->bytes);
        cJSON_AddNumberToObject(o, "gb_per_s", row->bytes / row->ns.median);
    }
    if (row->macs > 0)
        cJSON_AddNumberToObject(o, "macs_per_ns", row->macs / row->ns.median);
    if (row->tokens > 0)
        cJSON_AddNumberToObject(o, "tokens_per_s", 1e9 * row->tokens / row->ns.median);
    if (row->prepared > 0)
        cJSON_AddNumberToObject(o, "prepared_ns", row->prepared);
    cJSON *ratios = cJSON_AddObjectToObject(o, "ratios");
    for (size_t i = 0; i < row->ratios; i++)
        cJSON_AddItemToObject(ratios, row->ratio[i].to, spread_json(row->ratio[i].v));
    return o;
}

cJSON *ts_result_json(const ts_result *r)
{
    char cpu[256];
    const char *cap = getenv("TS_CPU");
    cJSON *o = cJSON_CreateObject(), *rows;
    cpu_name(cpu, sizeof cpu);
    cJSON_AddNumberToObject(o, "schema", TS_RESULT_SCHEMA);
    cJSON_AddStringToObject(o, "kind", KIND);
    cJSON_AddStringToObject(o, "version", TS_VERSION);
    cJSON_AddStringToObject(o, "cpu", cpu);
    cJSON_AddStringToObject(o, "TS_CPU", cap ? cap : "");
    cJSON_AddStringToObject(o, "compiler", compiler());
    cJSON_AddNumberToObject(o, "threads", r->threads);
    cJSON_AddItemToObject(o, "probe", probe_json(&r->quiet));
    rows = cJSON_AddArrayToObject(o, "rows");
    for (size_t i = 0; i < r->n; i++)
        cJSON_AddItemToArray(rows, row_json(&r->v[i]));
    return o;
}

static const char *text(const cJSON *o, const char *key)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
    return s ? s : "";
}

static ts_status load(const char *path, cJSON **out, ts_error *err)
{
    int64_t schema;
    ts_status s = ts_json_load(path, out, err);
    if (!s)
        s = ts_json_int(path, *out, "schema", 1, 1 << 20, &schema, err);
    if (!s &&
        (strcmp(text(*out, "kind"), KIND) != 0 || !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(*out, "rows"))))
        return ts_fail(err, TS_BAD, path, "kind", "this is no result of touchstone bench");
    if (!s && schema != TS_RESULT_SCHEMA)
        return ts_fail(err, TS_BAD, path, "schema", "%d, but this touchstone reads %d", (int)schema,
                       TS_RESULT_SCHEMA);
    return s;
}

static const cJSON *same_row(const cJSON *rows, const cJSON *row)
{
    static const char *const key[] = {"op", "shape", "footprint", "name"};
    const cJSON *x;
    cJSON_ArrayForEach (x, rows) {
        bool same = true;
        for (int i = 0; i < 4; i++)
            same &= strcmp(text(x, key[i]), text(row, key[i])) == 0;
        if (same)
            return x;
    }
    return NULL;
}

static double median_of(const cJSON *spread)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(spread, "median"));
}

typedef struct {
    double tolerance;
    int64_t compared, fell, skipped;
} comparison;

static void skip(comparison *c, const cJSON *row, const char *why)
{
    c->skipped++;
    printf("SKIP %s %s %s %s: %s\n", text(row, "op"), text(row, "shape"), text(row, "footprint"), text(row, "name"),
           why);
}

static void compare_ratios(comparison *c, const cJSON *was, const cJSON *is)
{
    const cJSON *ratio, *now = cJSON_GetObjectItemCaseSensitive(is, "ratios");
    cJSON_ArrayForEach (ratio, cJSON_GetObjectItemCaseSensitive(was, "ratios")) {
        double a = median_of(ratio), b = median_of(cJSON_GetObjectItemCaseSensitive(now, ratio->string));
        if (!(a > 0) || !(b > 0)) { /* NaN: that yardstick was not in both runs */
            skip(c, was, "no ratio to the same yardstick in both");
            continue;
        }
        c->compared++;
        if (b >= a * (1 - c->tolerance))
            continue;
        c->fell++;
        printf("FELL %s %s %s %s: %.3g times %s, was %.3g (-%.0f%%)\n", text(was, "op"), text(was, "shape"),
               text(was, "footprint"), text(was, "name"), b, ratio->string, a, 100 * (1 - b / a));
    }
}

static void compare_row(comparison *c, const cJSON *was, const cJSON *rows)
{
    const cJSON *is = same_row(rows, was);
    if (!cJSON_GetObjectItemCaseSensitive(was, "ratios") || strcmp(text(was, "kind"), "peer") == 0)
        return; /* only what is ours is to be defended */
    if (!is)
        skip(c, was, "no such row any more");
    else if (text(is, "skip")[0])
        skip(c, was, text(is, "skip"));
    else if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(is, "disturbed")) ||
             cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(was, "disturbed")))
        skip(c, was, "the machine was disturbed");
    else
        compare_ratios(c, was, is);
}

ts_status ts_result_compare(const char *old_path, const char *new_path, double tolerance, ts_error *err)
{
    cJSON *was = NULL, *is = NULL, *row;
    comparison c = {.tolerance = tolerance};
    ts_status s = load(old_path, &was, err);
    if (!s)
        s = load(new_path, &is, err);
    if (!s && strcmp(text(was, "cpu"), text(is, "cpu")) != 0)
        printf("note: other CPUs: %s, was %s\n", text(is, "cpu"), text(was, "cpu"));
    if (!s)
        cJSON_ArrayForEach (row, cJSON_GetObjectItemCaseSensitive(was, "rows"))
            compare_row(&c, row, cJSON_GetObjectItemCaseSensitive(is, "rows"));
    cJSON_Delete(was);
    cJSON_Delete(is);
    if (s)
        return s;
    printf("%" PRId64 " ratios compared, %" PRId64 " fell by more than %.3g%%, %" PRId64 " skipped\n", c.compared,
           c.fell, 100 * tolerance, c.skipped);
    if (c.compared == 0)
        return ts_fail(err, TS_BAD, new_path, NULL, "it has no ratio in common with %.200s", old_path);
    return c.fell ? TS_DIFFERS : TS_OK;
}
