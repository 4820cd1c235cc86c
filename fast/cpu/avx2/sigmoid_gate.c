#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/elementary.h"
#include "cpu/vector/map.h"

static inline vec sigmoid_gate(vec a, vec b)
{
    return v_mul(a, v_sigmoid(b));
}

static void run(const void *args, int64_t begin, int64_t end)
{
    v_zip(args, begin, end, sigmoid_gate);
}

const ts_schedule ts_sigmoid_gate_avx2 = {
    .name = "sigmoid_gate.avx2",
    .op = TS_OP_SIGMOID_GATE,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
