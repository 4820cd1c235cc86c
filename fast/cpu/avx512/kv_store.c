#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/kv_store.h"

const ts_schedule ts_kv_store_avx512 = {
    .name = "kv_store.avx512",
    .op = TS_OP_KV_STORE,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx512",
};
