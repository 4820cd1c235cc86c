/* A trace: tensors in execution order, written as safetensors with metadata
 * `order` = JSON list of names. Names are those of the goldens: layer.N.mixer,
 * layer.N.mlp, layer.N.out, final_norm, logits, and finer ones in between. */
#ifndef TS_TRACE_TRACE_H
#define TS_TRACE_TRACE_H

#include "format/safetensors.h"

typedef struct ts_trace ts_trace;

ts_trace *ts_trace_new(void);
void ts_trace_free(ts_trace *t);

/* Copies data. A second put under the same name appends rows (dim 0 grows; the other dims and the
 * dtype must agree), so that a run in pieces traces like a whole one. A NULL trace ignores it; NULL data says
 * that there was no memory for them.
 * Errors are kept and returned by ts_trace_write and ts_trace_status. */
void ts_trace_put(ts_trace *t, const char *name, ts_dtype dtype, int ndim, const int64_t *dim, const void *data);

/* What was put is all there. */
ts_status ts_trace_status(const ts_trace *t, ts_error *err);
size_t ts_trace_count(const ts_trace *t);
const ts_tensor *ts_trace_at(const ts_trace *t, size_t i); /* execution order */
const ts_tensor *ts_trace_find(const ts_trace *t, const char *name);

ts_status ts_trace_write(const ts_trace *t, const char *path, const ts_meta *meta, size_t n_meta, ts_error *err);

/* The names of a trace file in execution order (file order when `order` is absent). *names is
 * malloc'd, the strings belong to f. `order` must list exactly the tensors: else TS_BAD. */
ts_status ts_trace_order(const ts_safetensors *f, const char ***names, size_t *n, ts_error *err);

#endif
