/* touchstone inspect: what a model folder or a file holds. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/gguf.h"
#include "inspect.h"
#include "options.h"
#include "tool.h"

typedef enum { SAFETENSORS, JSON, NEITHER } content;

/* A safetensors file begins with a small 64-bit number, JSON text holds no NUL and begins with its object. */
static content content_of(const char *path)
{
    char head[64] = "";
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f)
        fclose(f);
    if (n == 0 || memchr(head, '\0', n < 8 ? n : 8) != NULL)
        return SAFETENSORS;
    const char *text = memcmp(head, "\xef\xbb\xbf", 3) == 0 ? head + 3 : head;
    char first = text[strspn(text, " \t\r\n")];
    return first == '{' || first == '[' || first == '\0' ? JSON : NEITHER;
}

static ts_status inspect(const char *path, bool stats, cJSON *o, ts_error *err)
{
    struct stat st;
    bool folder = (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) || ts_gguf_is(path);
    content what = !folder && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? content_of(path) : SAFETENSORS;
    bool json = what == JSON;
    cJSON_AddStringToObject(o, "path", path);
    if (what == NEITHER)
        return ts_fail(err, TS_BAD, path, NULL, "neither a safetensors file nor JSON");
    if (stats && (folder || json))
        return ts_fail(err, TS_USAGE, path, "--stats", "is for a safetensors file");
    if (folder)
        return ts_inspect_model(path, o, err);
    return json ? ts_inspect_json(path, o, err) : ts_inspect_safetensors(path, stats, o, err);
}

int ts_cmd_inspect(int argc, char **argv)
{
    const char *path;
    bool json = false, stats = false;
    const ts_option options[] = {
        {"stats", 's', TS_OPT_FLAG, &stats, 0, 0, NULL, "of a file: min, max, mean, NaN and Inf of every tensor"},
        {"json", 0, TS_OPT_FLAG, &json, 0, 0, NULL, "the result as a JSON object"},
    };
    ts_command_line c = {"inspect FILE|DIR [OPTIONS]", options, 2, &path, 1, 0};
    int done = ts_options_parse(argc, argv, &c);
    if (done != TS_GO_ON)
        return done;
    ts_error err = {0};
    cJSON *o = ts_tool_json();
    ts_status status = o ? inspect(path, stats, o, &err) : ts_no_memory(&err, 0);
    if (!status && json)
        return ts_tool_print(o, TS_OK);
    if (!status)
        ts_inspect_print(o);
    cJSON_Delete(o);
    return status ? ts_tool_fail(status, &err, json) : ts_tool_flush(json);
}
