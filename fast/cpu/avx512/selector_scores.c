#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/selector_scores.h"

const ts_schedule ts_selector_scores_avx512 = {
    .name = "selector_scores.avx512",
    .op = TS_OP_SELECTOR_SCORES,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx512",
};
