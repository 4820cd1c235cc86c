/* touchstone convert: a checkpoint in the format of another family of programs. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "convert.h"
#include "options.h"
#include "quantize.h"
#include "staging.h"
#include "tool.h"

typedef struct {
    const char *operand[2]; /* from, to */
    const char *type;
    bool force, json;
} job;

/* "x/.gguf" and ".gguf" too: never a folder of that name. */
static bool is_gguf(const char *to)
{
    size_t n = strlen(to);
    return n >= 5 && strcmp(to + n - 5, ".gguf") == 0;
}

/* A folder for mlx-lm: what touchstone quantize writes, in groups of 64. */
static ts_status write_mlx(const job *c, ts_error *err)
{
    bool holds = false;
    ts_quantize_options o = {.group = 64};
    if (strcmp(c->type, "mlx-4") != 0 && strcmp(c->type, "mlx-8") != 0)
        return ts_fail(err, TS_USAGE, NULL, "--type",
                       "'%s' needs a DST that ends in .gguf; a folder is mlx-4 (default) or mlx-8", c->type);
    o.bits = c->type[4] - '0';
    ts_status status = ts_folder_holds_files(c->operand[1], &holds, err);
    if (!status && holds && !c->force)
        return ts_fail(err, TS_USAGE, c->operand[1], NULL, "is not empty (--force replaces the checkpoint in it)");
    return status ? status : ts_quantize(c->operand[0], c->operand[1], &o, err);
}

/* A link is there whatever it names; a pipe would wait for a reader, and a device keeps no model. */
static ts_status check_target(const job *c, ts_error *err)
{
    struct stat st;
    const char *to = c->operand[1];
    if (lstat(to, &st) != 0)
        return TS_OK;
    if (!c->force)
        return ts_fail(err, TS_USAGE, to, NULL, "is there already (--force replaces it)");
    if (stat(to, &st) == 0 && !S_ISREG(st.st_mode))
        return ts_fail(err, TS_USAGE, to, NULL, "is no regular file");
    return TS_OK;
}

static ts_status write_gguf(const job *c, ts_convert_result *r, ts_error *err)
{
    ts_status status = check_target(c, err);
    if (status)
        return status;
    return ts_convert_gguf(c->operand[0], c->operand[1], c->type, r, err);
}

int ts_cmd_convert(int argc, char **argv)
{
    ts_error err = {0};
    ts_convert_result r = {0};
    job c = {0};
    const ts_option options[] = {
        {"type", 't', TS_OPT_TEXT, &c.type, 0, 0, "NAME",
         "of a GGUF's matrices: " TS_CONVERT_TYPES " (bf16); of a folder: mlx-4 (default), mlx-8"},
        {"force", 0, TS_OPT_FLAG, &c.force, 0, 0, NULL, "replace what is there"},
        {"json", 0, TS_OPT_FLAG, &c.json, 0, 0, NULL, "the result as a JSON object"},
    };
    ts_command_line line = {"convert SRC DST.gguf|DST [OPTIONS]", options, 3, c.operand, 2, 0};
    int done = ts_options_parse(argc, argv, &line);
    if (done != TS_GO_ON)
        return done;
    const bool gguf = is_gguf(c.operand[1]);
    if (!c.type)
        c.type = gguf ? "bf16" : "mlx-4";
    ts_status status = gguf ? write_gguf(&c, &r, &err) : write_mlx(&c, &err);
    if (status)
        return ts_tool_fail(status, &err, c.json);
    if (!c.json)
        return ts_tool_flush(false);
    cJSON *o = ts_tool_json();
    cJSON_AddStringToObject(o, "out", c.operand[1]);
    cJSON_AddStringToObject(o, "type", c.type);
    if (gguf) {
        cJSON_AddNumberToObject(o, "tensors", (double)r.tensors);
        cJSON_AddNumberToObject(o, "bytes", (double)r.bytes);
    }
    return ts_tool_print(o, TS_OK);
}
