/* How a checkpoint wants to be sampled: generation_config.json. Its stop ids
 * are read with the config (config/config.h). */
#ifndef TS_CONFIG_GENERATION_H
#define TS_CONFIG_GENERATION_H

#include <stdint.h>
#include "num/status.h"

/* What the file leaves out, or says null to, is neutral: 1, 0, 1, 0, 1. */
typedef struct {
    float temperature; /* 0 if do_sample is false: greedy */
    int64_t top_k;     /* 0 or -1: off */
    float top_p, min_p, repetition;
} ts_generation_config;

/* dir/generation_config.json, which must exist. */
ts_status ts_generation_config_load(const char *dir, ts_generation_config *out, ts_error *err);

#endif
