/* Cases of the drafter's operations that no coding could run: each is refused for what is wrong with it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "check/call.h"

/* The recorded case `name` with another value in one place. */
typedef struct {
    const char *name, *group, *key, *value;
    int number;         /* if value is NULL */
    const char *reason; /* part of it; NULL: it is good */
} change;

static ts_status build(const change *x, ts_error *err)
{
    char path[128];
    ts_case c;
    ts_call call;
    snprintf(path, sizeof path, "golden/own/cases/%s.json", x->name);
    assert_int_equal(ts_case_load("golden/own/cases", path, &c, err), TS_OK);
    cJSON *group = cJSON_GetObjectItemCaseSensitive(c.json, x->group);
    cJSON *item = x->value ? cJSON_CreateString(x->value) : cJSON_CreateNumber(x->number);
    assert_true(cJSON_ReplaceItemInObjectCaseSensitive(group, x->key, item));
    ts_status s = ts_call_from_case(&c, &call, err);
    if (!s)
        ts_call_free(&call);
    ts_case_free(&c);
    return s;
}

static void contents_are_looked_at(void **state)
{
    (void)state;
    static const change all[] = {
        {"selector_scores/small", "inputs", "cand", "list:96,0", 0, NULL},
        {"selector_scores/small", "inputs", "cand", "list:0,97", 0, "ids outside the vocabulary"},
        {"selector_scores/small", "inputs", "cand", "list:-1", 0, "ids outside the vocabulary"},
        {"selector_scores/small", "inputs", "prev", "list:0,1,2,3,4,5,6,97", 0, "ids outside the vocabulary"},
        {"selector_scores/small", "inputs", "pred", "mlx4.g64/normal/normal", 0, "does not fit"},
        {"selector_scores/small", "inputs", "succ", "f31/normal", 0, "unknown generator"},
        {"grouped_conv/before8", "dims", "W", NULL, 1 << 24, "too many"},
        {"attention/both_window5_context4", "inputs", "len", "list:13", 0, "keys past those in the cache"},
        {"attention/both_window5_context4", "inputs", "len", "list:-1", 0, "keys past those in the cache"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ts_error err = {0};
        ts_status s = build(&all[i], &err);
        if ((s == TS_OK) != (all[i].reason == NULL) || (s && !strstr(err.reason, all[i].reason)))
            fail_msg("%s, %s: status %d, %s", all[i].name, all[i].key, (int)s, err.reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(contents_are_looked_at)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
