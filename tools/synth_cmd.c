/* touchstone synth: a model of true shapes with random weights. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "synth/synth.h"
#include "tool.h"

#define FORMATS "safetensors, mlx or gguf-q4_k_m"

typedef struct {
    const char *shape, *format, *out;
    int64_t bits, group;
    uint64_t seed;
    bool json;
} job;

static int parse(int argc, char **argv, job *q)
{
    const ts_option options[] = {
        {"shape", 0, TS_OPT_TEXT, &q->shape, 0, 0, "NAME", TS_SYNTH_SHAPES},
        {"format", 'f', TS_OPT_TEXT, &q->format, 0, 0, "F", "safetensors (bf16), mlx (default) or gguf-q4_k_m"},
        {"bits", 'b', TS_OPT_INT, &q->bits, 2, 8, "B", "of mlx: 2, 3, 4 (default), 5, 6 or 8"},
        {"group", 'g', TS_OPT_INT, &q->group, 32, 128, "N", "of mlx: 32, 64 (default) or 128"},
        {"seed", 's', TS_OPT_U64, &q->seed, 0, 0, "N", "of the weights (0)"},
        {"out", 'o', TS_OPT_TEXT, &q->out, 0, 0, "DIR", "the new folder; appears whole or not at all"},
        {"json", 0, TS_OPT_FLAG, &q->json, 0, 0, NULL, "the result as a JSON object"},
    };
    ts_command_line c = {
        .usage = "synth --shape NAME -o DIR [OPTIONS]",
        .option = options,
        .n = sizeof options / sizeof *options,
    };
    return ts_options_parse(argc, argv, &c);
}

static ts_status read_format(const job *q, ts_synth_options *o, ts_error *err)
{
    static const char *const name[] = {"safetensors", "mlx", "gguf-q4_k_m"};
    for (int i = 0; i < 3; i++)
        if (strcmp(q->format, name[i]) == 0) {
            o->format = (ts_synth_format)i;
            return TS_OK;
        }
    return ts_fail(err, TS_USAGE, NULL, "--format", "'%s' is none of " FORMATS, q->format);
}

static ts_status read_options(const job *q, ts_synth_options *o, ts_error *err)
{
    *o = (ts_synth_options){.bits = (int)q->bits, .group = (int)q->group, .seed = q->seed};
    if (!q->shape || !q->out)
        return ts_fail(err, TS_USAGE, NULL, q->shape ? "--out" : "--shape", "is required");
    o->shape = ts_synth_shape_find(q->shape);
    if (!o->shape)
        return ts_fail(err, TS_USAGE, NULL, "--shape", "'%s' is none of " TS_SYNTH_SHAPES, q->shape);
    if (o->bits == 7)
        return ts_fail(err, TS_USAGE, NULL, "--bits", "MLX has no 7 bits");
    if (o->group != 32 && o->group != 64 && o->group != 128)
        return ts_fail(err, TS_USAGE, NULL, "--group", "is 32, 64 or 128");
    return read_format(q, o, err);
}

static int report(const job *q, const ts_synth_options *o, const ts_synth_result *r)
{
    if (!q->json) {
        fprintf(stderr, "%zu tensors, %.1f MB in %s\n", r->tensors, (double)r->bytes * 1e-6, q->out);
        return TS_OK;
    }
    cJSON *json = ts_tool_json();
    cJSON_AddStringToObject(json, "out", q->out);
    cJSON_AddStringToObject(json, "shape", o->shape->name);
    cJSON_AddStringToObject(json, "format", q->format);
    cJSON_AddNumberToObject(json, "tensors", (double)r->tensors);
    cJSON_AddNumberToObject(json, "bytes", (double)r->bytes);
    cJSON_AddNumberToObject(json, "files", r->files);
    return ts_tool_print(json, TS_OK);
}

int ts_cmd_synth(int argc, char **argv)
{
    ts_error err = {0};
    job q = {.format = "mlx", .bits = 4, .group = 64};
    ts_synth_options o;
    ts_synth_result r = {0};
    int done = parse(argc, argv, &q);
    if (done != TS_GO_ON)
        return done;
    ts_status status = read_options(&q, &o, &err);
    if (!status)
        status = ts_synth(&o, q.out, &r, &err);
    return status ? ts_tool_fail(status, &err, q.json) : report(&q, &o, &r);
}
