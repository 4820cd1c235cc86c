/* The body of gdn_gates.c of every isa, whose header comes first. */
#include "cpu/vector/elementary.h"

/* Units u .. u+n of one row, n <= VEC: heads h on. */
static inline void gates(const ts_gdn_gates_args *a, int64_t u, int64_t h, int64_t n)
{
    vmask m = v_first(n);
    vec rate = v_exp(v_load_some(a->A_log + h, m));
    vec sum = v_add(v_load_some(a->a + u, m), v_load_some(a->dt_bias + h, m));
    v_store_some(a->g + u, m, v_negate(v_mul(rate, v_softplus(sum))));
    v_store_some(a->beta + u, m, v_sigmoid(v_load_some(a->b + u, m)));
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_gdn_gates_args *a = args;
    for (int64_t u = begin, n; u < end; u += n) {
        int64_t h = u % a->H;
        n = a->H - h < VEC ? a->H - h : VEC;
        n = end - u < n ? end - u : n;
        gates(a, u, h, n);
    }
}
