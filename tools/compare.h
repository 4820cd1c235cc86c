/* Two tensors, element by element and in bits: do they agree, and if not, where
 * do they part first, how far, and how many more.
 *
 * Equal means equal bits, but any NaN equals any NaN; -0 and +0 differ. F32
 * against F64 is compared as f32, after one rounding. */
#ifndef TS_TOOLS_COMPARE_H
#define TS_TOOLS_COMPARE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include "num/dtype.h"
#include "num/status.h"

/* Distances are in units in the last place, counted in representable values, so -0 to +0 is 0 and
 * NaN to a number has none. Integers: the difference. Other patterns: the patterns as integers. */
#define TS_ULP_NAN UINT64_MAX

enum { TS_ULP_BINS = 9 };

typedef struct {
    char mismatch[160]; /* of shape or dtype, then nothing below is filled; else "" */
    bool mixed;         /* F32 against F64 */
    int64_t count, differing;
    int64_t first, worst; /* flat index of the first difference and of max_ulp; -1 if none */
    uint64_t first_ulp;
    uint64_t max_ulp;         /* over the pairs that have a distance */
    int64_t bin[TS_ULP_BINS]; /* differing elements by distance, see ts_ulp_bin_name */
    double max_abs, max_rel;  /* of the values as they are, NaN pairs left out; rel to the larger */
} ts_comparison;

/* TS_OK or TS_DIFFERS. */
ts_status ts_compare(const ts_tensor *a, const ts_tensor *b, ts_comparison *out);

/* "0 (sign of zero)", "1", "2", "3-4", ... "NaN against a number" */
const char *ts_ulp_bin_name(int bin);

/* What the comparison found, and `rows` rows of bits side by side from the first difference on. */
void ts_compare_print(FILE *f, const char *label_a, const char *label_b, const ts_tensor *a, const ts_tensor *b,
                      const ts_comparison *c, int rows);
/* The same in one line, without the elements. */
void ts_compare_print_line(FILE *f, const ts_tensor *a, const ts_comparison *c);
/* The same as an object, NULL if out of memory. */
cJSON *ts_compare_json(const ts_tensor *a, const ts_tensor *b, const ts_comparison *c);
/* A number, or null for what JSON has not: NaN, infinities. */
void ts_compare_add_number(cJSON *o, const char *key, double v);

#endif
