#include "schedule.h"

#include "cpu/portable/elementary.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->y[i] = a->a[i] * ts_fast_sigmoid(a->b[i]);
}

const ts_schedule ts_sigmoid_gate_portable = {
    .name = "sigmoid_gate.portable",
    .op = TS_OP_SIGMOID_GATE,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
};
