#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/selector_scores.h"

const ts_schedule ts_selector_scores_avx2 = {
    .name = "selector_scores.avx2",
    .op = TS_OP_SELECTOR_SCORES,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx2",
};
