/* A safetensors file of the user's own tensors. Whatever is in it must be asked
 * for: a misspelt name is an error, not a default. */
#ifndef TS_TOOLS_INPUTS_H
#define TS_TOOLS_INPUTS_H

#include <stdbool.h>
#include "format/safetensors.h"

typedef struct {
    const char *path;
    ts_safetensors *file;
    bool *asked; /* per tensor */
} ts_inputs;

/* What a real is converted to: f32, f64, or f32 widened again. */
typedef enum { TS_AS_F32, TS_AS_F64, TS_AS_F32_IN_F64 } ts_real_as;

ts_status ts_inputs_open(const char *path, ts_inputs *in, ts_error *err);
void ts_inputs_close(ts_inputs *in);

/* The tensor, or NULL. */
const ts_tensor *ts_inputs_find(ts_inputs *in, const char *name);
/* Fills out[count] from an F32, BF16, F16 or F64 tensor: f64 is rounded once, the others are exact. */
ts_status ts_inputs_real(const ts_inputs *in, const ts_tensor *t, ts_real_as as, void *out, ts_error *err);
/* Fills out[count] from an I8, U8, I16, I32 or I64 tensor; every value within lo..hi. */
ts_status ts_inputs_int(const ts_inputs *in, const ts_tensor *t, int64_t lo, int64_t hi, int64_t *out,
                        ts_error *err);
/* An F32 or F64 tensor rounded once to BF16 or F16. */
void ts_inputs_narrow(const ts_tensor *t, ts_dtype to, uint16_t *out);
/* TS_BAD for the first tensor that nobody asked for; `known` says what would be. */
ts_status ts_inputs_done(const ts_inputs *in, const char *known, ts_error *err);

#endif
