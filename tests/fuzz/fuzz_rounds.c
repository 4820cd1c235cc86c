/* What is accepted as a round prints as one that reads back the same. */
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "fuzz/input.h"
#include "round.h"

static char *print(const ts_round *r)
{
    cJSON *o = ts_round_json(r);
    char *text = cJSON_PrintUnformatted(o);
    cJSON_Delete(o);
    return text;
}

static ts_status again(void *user, const ts_round *r, ts_error *err)
{
    static ts_round back;
    (void)user;
    cJSON *o = NULL;
    char *text = print(r);
    if (ts_json_parse("again", text, strlen(text), &o, err) != TS_OK ||
        ts_round_parse("again", o, true, &back, err) != TS_OK)
        __builtin_trap();
    char *same = print(&back);
    if (strcmp(text, same) != 0 || r->a > r->k || r->n_emitted > r->a + 1 || r->tested > r->k)
        __builtin_trap();
    cJSON_free(text);
    cJSON_free(same);
    cJSON_Delete(o);
    return TS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[TS_INPUT_PATH];
    ts_error err;
    ts_input_file(data, size, path);
    ts_rounds_load(path, again, NULL, &err);
    return 0;
}
