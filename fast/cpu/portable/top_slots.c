#include "schedule.h"

#include "cpu/portable/slots.h"

static void row(const float *x, int64_t V, ts_slots *s)
{
    bool number = true;
    for (int64_t v = 0; v < V && number; v++)
        if (s->kept < s->K || !(x[v] <= ts_slots_least(s)))
            number = ts_slots_take(s, x[v], v);
    if (!number)
        ts_slots_spoil(s);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_top_slots_args *a = args;
    for (int64_t t = begin; t < end; t++) {
        ts_slots s = {.K = a->K, .value = a->value + t * a->K, .id = a->id + t * a->K};
        row(a->logits + t * a->V, a->V, &s);
    }
}

const ts_schedule ts_top_slots_portable = {
    .name = "top_slots.portable",
    .op = TS_OP_TOP_SLOTS,
    .backend = "cpu",
    .shapes = "any",
    .order = "by value, by id",
    .profile = "any",
    .exposes = "",
    .run = run,
};
