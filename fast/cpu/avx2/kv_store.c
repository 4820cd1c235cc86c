#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/kv_store.h"

const ts_schedule ts_kv_store_avx2 = {
    .name = "kv_store.avx2",
    .op = TS_OP_KV_STORE,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx2",
};
