/* Profiles: the rounding axis. A profile selects among named functions; no
 * operation branches on it. docs/contract.md defines each. */
#ifndef TS_CONFIG_PROFILE_H
#define TS_CONFIG_PROFILE_H

#include <stdbool.h>

/* As computed; rounded once (RNE) at the store; or FP8 codes with a scale per token and head, which only the
 * reference stores and reads. */
typedef enum { TS_KV_REAL, TS_KV_BF16, TS_KV_F16, TS_KV_E4M3, TS_KV_E5M2 } ts_kv_dtype;

typedef struct {
    const char *name;
    ts_kv_dtype kv;
    bool codes; /* MLX group-64 4/8-bit linears run as A64S8; otherwise dot32 on widened weights */
} ts_profile;

/* "exact" or "ts"; NULL if there is no such profile. */
const ts_profile *ts_profile_find(const char *name);
const ts_profile *ts_profile_at(int i); /* NULL past the last */

/* "real", "bf16", "f16", "fp8-e4m3" and "fp8-e5m2". */
const char *ts_kv_name(ts_kv_dtype d);
bool ts_kv_find(const char *name, ts_kv_dtype *out);

#endif
