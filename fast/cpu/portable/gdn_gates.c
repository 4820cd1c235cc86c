#include "schedule.h"

#include "cpu/portable/elementary.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_gdn_gates_args *a = args;
    for (int64_t u = begin; u < end; u++) {
        int64_t h = u % a->H;
        a->g[u] = -(ts_fast_exp(a->A_log[h]) * ts_fast_softplus(a->a[u] + a->dt_bias[h]));
        a->beta[u] = ts_fast_sigmoid(a->b[u]);
    }
}

const ts_schedule ts_gdn_gates_portable = {
    .name = "gdn_gates.portable",
    .op = TS_OP_GDN_GATES,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
};
