/* A case that is accepted and becomes a call can be run: ref32 stays inside its arrays. */
#include "case/case.h"
#include "check/call.h"
#include "fuzz/input.h"
#include "ref.h"

/* Larger ones are right, only slow. */
static bool small(const ts_case *c)
{
    double product = 1;
    const cJSON *dim;
    cJSON_ArrayForEach (dim, cJSON_GetObjectItemCaseSensitive(c->json, "dims")) {
        product *= dim->valuedouble > 1 ? dim->valuedouble : 1;
    }
    return product <= 1 << 16;
}

static void run(const ts_case *c)
{
    ts_call call;
    ts_error err;
    if (ts_call_from_case(c, &call, &err))
        return;
    ts_ref32.op(c->op, call.args);
    ts_call_free(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[TS_INPUT_PATH];
    ts_case c;
    ts_error err;
    ts_input_file(data, size, path);
    if (ts_case_load("/proc", path, &c, &err))
        return 0;
    if (c.kind == TS_CASE_OP && small(&c))
        run(&c);
    ts_case_free(&c);
    return 0;
}
