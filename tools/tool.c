#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

cJSON *ts_tool_json(void)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "schema", 1);
    return o;
}

static void print_error(ts_status status, const ts_error *err)
{
    cJSON *o = ts_tool_json(), *e = cJSON_AddObjectToObject(o, "error");
    cJSON_AddStringToObject(e, "file", err->file);
    cJSON_AddStringToObject(e, "tensor", err->tensor);
    cJSON_AddStringToObject(e, "reason", err->reason);
    cJSON_AddNumberToObject(o, "exit", status);
    char *text = cJSON_Print(o);
    if (text)
        puts(text);
    fflush(stdout); /* the exit code says already that something failed */
    cJSON_free(text);
    cJSON_Delete(o);
}

int ts_tool_fail(ts_status status, const ts_error *err, bool json)
{
    char text[sizeof *err + 8];
    fprintf(stderr, "touchstone: %s\n", ts_error_text(err, text, sizeof text));
    if (json)
        print_error(status, err);
    return (int)status;
}

int ts_tool_flush(bool json)
{
    ts_error err = {0};
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TS_OK;
    return ts_tool_fail(ts_fail(&err, TS_BAD, "stdout", NULL, "%s", strerror(errno)), &err, json);
}

int ts_tool_print(cJSON *result, ts_status status)
{
    ts_error err = {0};
    char *text = result ? cJSON_Print(result) : NULL;
    cJSON_Delete(result);
    if (!text)
        return ts_tool_fail(ts_fail(&err, TS_BAD, NULL, NULL, "out of memory for the result"), &err, false);
    puts(text);
    cJSON_free(text);
    int flushed = ts_tool_flush(false);
    return flushed ? flushed : (int)status;
}
