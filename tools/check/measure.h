/* How alike two tensors of one shape are as a whole, beside where they part first. */
#ifndef TS_CHECK_MEASURE_H
#define TS_CHECK_MEASURE_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include "num/dtype.h"

/* A line with the histogram of ulp distances. */
void ts_measure_print_ulps(FILE *f, const ts_tensor *ref, const ts_tensor *x);
/* A line with ||x|| / ||ref||, ||x - ref|| / ||ref|| and the cosine. */
void ts_measure_print_norms(FILE *f, const ts_tensor *ref, const ts_tensor *x);
/* The same and what ts_compare_json says (a: ref, b: x). NULL: out of memory. */
cJSON *ts_measure_json(const ts_tensor *ref, const ts_tensor *x);

#endif
