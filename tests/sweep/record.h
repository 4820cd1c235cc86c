/* What the sweeps found, as golden/own/exhaustive.json and tools/check/ulp.h. */
#ifndef TS_TESTS_SWEEP_RECORD_H
#define TS_TESTS_SWEEP_RECORD_H

#include <cjson/cJSON.h>
#include "sweep/sweep.h"

/* The record of one function. */
cJSON *ts_sweep_json(const ts_sweep_function *f, const ts_sweep *s, uint64_t stride);

/* Replaces the record of one function in a file (which is made if there is none); takes `record`. */
ts_status ts_sweep_save(const char *file, const char *function, cJSON *record, ts_error *err);

/* The largest recorded error of a function in ulp, where x >= split. TS_BAD unless all inputs were swept. */
ts_status ts_sweep_recorded_ulp(const char *file, const cJSON *json, const char *function, double *ulp,
                                ts_error *err);

/* The text of tools/check/ulp.h for this file; malloc'd. */
ts_status ts_sweep_header(const char *file, char **text, ts_error *err);

#endif
