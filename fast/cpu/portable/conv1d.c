#include "schedule.h"

#include "cpu/portable/elementary.h"
#include "num/real.h"

enum { BLOCK = 32 }; /* channels that go through silu together */

/* Input u of channel c; those before this call (u < 0) are in the state. */
static inline float input(const ts_conv1d_args *a, int64_t u, int64_t c)
{
    return u >= 0 ? a->x[u * a->C + c] : a->state[c * a->W + a->W + u];
}

static void block(const ts_conv1d_args *a, int64_t c0, int64_t n)
{
    for (int64_t t = 0; t < a->T; t++) {
        float acc[BLOCK] = {0};
        for (int64_t j = 0; j < a->W; j++)
            for (int64_t i = 0; i < n; i++)
                acc[i] = ts_fma(a->w[(c0 + i) * a->W + j], input(a, t - (a->W - 1) + j, c0 + i), acc[i]);
        for (int64_t i = 0; i < n; i++)
            a->y[t * a->C + c0 + i] = ts_fast_silu(acc[i]);
    }
    /* Slot s gets input T-W+s: still in place further up the state, or in x. */
    for (int64_t i = 0; i < n; i++)
        for (int64_t s = 0; s < a->W; s++)
            a->state[(c0 + i) * a->W + s] = input(a, a->T - a->W + s, c0 + i);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    for (int64_t c = begin; c < end; c += BLOCK)
        block(args, c, end - c < BLOCK ? end - c : BLOCK);
}

const ts_schedule ts_conv1d_portable = {
    .name = "conv1d.portable",
    .op = TS_OP_CONV1D,
    .backend = "cpu",
    .shapes = "any",
    .order = "taps",
    .profile = "any",
    .exposes = "",
    .run = run,
};
