/* touchstone quantize: a checkpoint as MLX affine, 2 to 8 bits. */
#include "quantize.h"

#include <stdio.h>

#include "format/safetensors.h"
#include "num/sha256.h"
#include "options.h"
#include "staging.h"
#include "tool.h"

typedef struct {
    const char *model, *out, *encoder;
    int64_t bits, group, draft_bits;
    ts_option_list overrides;
    bool force, json;
} job;

static int parse(int argc, char **argv, job *q)
{
    const ts_option options[] = {
        {"model", 'm', TS_OPT_TEXT, &q->model, 0, 0, "DIR", "checkpoint folder, bf16, f16 or f32"},
        {"out", 'o', TS_OPT_TEXT, &q->out, 0, 0, "DIR", "the new checkpoint; appears whole or not at all"},
        {"bits", 'b', TS_OPT_INT, &q->bits, 2, 8, "B", "2, 3, 4 (default), 5, 6 or 8"},
        {"group", 'g', TS_OPT_INT, &q->group, 32, 128, "N", "columns that share a scale: 32, 64 (default) or 128"},
        {"draft-bits", 0, TS_OPT_INT, &q->draft_bits, 2, 8, "B", "of drafters beside the model (8)"},
        {"encoder", 'e', TS_OPT_TEXT, &q->encoder, 0, 0, "NAME", "mlx-cpu (default), mlx-metal or lse"},
        {"override", 0, TS_OPT_LIST, &q->overrides, 0, 0, "P=B[:G]",
         "modules that match P get B bits in groups of G; P=none: stay as they are; more after , or again"},
        {"force", 0, TS_OPT_FLAG, &q->force, 0, 0, NULL, "replace the checkpoint in a folder that is not empty"},
        {"json", 0, TS_OPT_FLAG, &q->json, 0, 0, NULL, "the result as a JSON object"},
    };
    ts_command_line c = {
        .usage = "quantize --model DIR -o DIR [OPTIONS]",
        .option = options,
        .n = sizeof options / sizeof *options,
    };
    return ts_options_parse(argc, argv, &c);
}

static ts_status quantize(const job *q, ts_error *err)
{
    bool holds = false;
    const ts_quantize_options o = {.bits = (int)q->bits,
                                   .group = (int)q->group,
                                   .encoder = q->encoder,
                                   .draft_bits = (int)q->draft_bits,
                                   .overrides = q->overrides};
    if (!q->model || !q->out)
        return ts_fail(err, TS_USAGE, NULL, q->model ? "--out" : "--model", "is required");
    ts_status status = ts_folder_holds_files(q->out, &holds, err);
    if (status)
        return status;
    if (holds && !q->force)
        return ts_fail(err, TS_USAGE, q->out, NULL, "is not empty (--force replaces the checkpoint in it)");
    return ts_quantize(q->model, q->out, &o, err);
}

static cJSON *result_json(const job *q, const ts_safetensors *f, const char *hex)
{
    size_t bytes = 0;
    for (size_t i = 0; i < ts_safetensors_count(f); i++)
        bytes += ts_safetensors_at(f, i)->size;
    cJSON *o = ts_tool_json();
    cJSON_AddStringToObject(o, "out", q->out);
    cJSON_AddStringToObject(o, "encoder", q->encoder);
    cJSON_AddNumberToObject(o, "bits", (double)q->bits);
    cJSON_AddNumberToObject(o, "group", (double)q->group);
    cJSON_AddNumberToObject(o, "tensors", (double)ts_safetensors_count(f));
    cJSON_AddNumberToObject(o, "bytes", (double)bytes);
    cJSON_AddStringToObject(o, "sha256", hex);
    return o;
}

/* Of the file as it lies there. */
static int report(const job *q, ts_error *err)
{
    char path[TS_STAGING_PATH + 128], hex[TS_SHA256_HEX];
    ts_safetensors *f = NULL;
    snprintf(path, sizeof path, "%s/model.safetensors", q->out);
    ts_status status = ts_safetensors_open(path, &f, err);
    if (!status && q->json)
        status = ts_sha256_file(path, hex, err);
    int code = TS_OK;
    if (status)
        code = ts_tool_fail(status, err, q->json);
    else if (q->json)
        code = ts_tool_print(result_json(q, f, hex), TS_OK);
    else
        fprintf(stderr, "%zu tensors in %s\n", ts_safetensors_count(f), path);
    ts_safetensors_close(f);
    return code;
}

int ts_cmd_quantize(int argc, char **argv)
{
    ts_error err = {0};
    job q = {.encoder = "mlx-cpu", .bits = 4, .group = 64};
    int done = parse(argc, argv, &q);
    if (done != TS_GO_ON)
        return done;
    ts_status status = quantize(&q, &err);
    return status ? ts_tool_fail(status, &err, q.json) : report(&q, &err);
}
