/* The generators of check/call.h, one field each. */
#ifndef TS_CHECK_INPUTS_H
#define TS_CHECK_INPUTS_H

#include <stdint.h>
#include "case/args.h"
#include "num/status.h"

typedef struct {
    const char *case_file, *field, *spec; /* names for errors; the generator's text */
    uint64_t seed;
    uint32_t stream;
} ts_input;

/* row = elements a row, for tables by position. */
ts_status ts_input_real(const ts_input *in, int64_t n, int64_t row, float *y, ts_error *err);
ts_status ts_input_i32(const ts_input *in, int64_t n, int32_t *y, ts_error *err);
ts_status ts_input_i8(const ts_input *in, int64_t n, int8_t *y, ts_error *err);
/* Fills *m; owned[3] gets the arrays to free (also on failure). */
ts_status ts_input_matrix(const ts_input *in, int64_t N, int64_t K, ts_matrix *m, void *owned[3], ts_error *err);
/* Shape and page table first, contents (k pool, then v pool) once they are allocated. */
ts_status ts_input_kv_shape(const ts_input *in, ts_kv *kv, int32_t **table, int64_t *filled, int64_t *capacity,
                            ts_error *err);
ts_status ts_input_kv_fill(const ts_input *in, const ts_kv *kv, int64_t Hkv, int64_t D, void *pools, ts_error *err);

#endif
