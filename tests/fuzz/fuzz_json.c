/* What the strict parser accepts can be read by every getter, and printed and parsed again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "fuzz/input.h"

static void get(const cJSON *object, const char *key)
{
    int64_t i = 0;
    double d = 0;
    uint64_t u;
    bool b;
    const char *text;
    ts_error err;
    if (ts_json_int("input", object, key, -5, 1000000, &i, &err) == TS_OK && (i < -5 || i > 1000000))
        __builtin_trap();
    if (ts_json_double("input", object, key, &d, &err) == TS_OK && !isfinite(d))
        __builtin_trap();
    if (ts_json_string("input", object, key, &text, &err) == TS_OK && text[strlen(text)] != 0)
        __builtin_trap();
    ts_json_opt_bool("input", object, key, &b, &err);
    ts_json_u64_string("input", object, key, &u, &err);
}

static void visit(const cJSON *json)
{
    for (const cJSON *i = json->child; i; i = i->next) {
        if (i->string)
            get(json, i->string);
        visit(i);
    }
    get(json, "absent");
}

static void print_and_parse(const cJSON *json)
{
    ts_error err;
    cJSON *again = NULL;
    char *text = cJSON_Print(json);
    if (!text)
        return;
    if (ts_json_parse("printed", text, strlen(text), &again, &err))
        __builtin_trap();
    cJSON_Delete(again);
    cJSON_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cJSON *json = NULL;
    ts_error err;
    if (ts_json_parse("input", (const char *)data, size, &json, &err))
        return 0;
    visit(json);
    print_and_parse(json);
    cJSON_Delete(json);
    return 0;
}
