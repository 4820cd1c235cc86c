/* A whole model on the fast engine: prefill and decode beside the machine's limits. */
#ifndef TS_BENCH_MODEL_H
#define TS_BENCH_MODEL_H

#include "bench/result.h"

typedef struct {
    const char *folder;
    int threads;
    double seconds;
    bool quiet;
} ts_model_options;

/* Rows "prefill" and "decode" go to out; loading and packing times are rows of their own. */
ts_status ts_model_run(const ts_model_options *o, ts_result *out, ts_error *err);

#endif
