/* Private to config/weights.c: one tensor, or the three of an MLX matrix, checked
 * on the way into its slot. */
#ifndef TS_CONFIG_BIND_H
#define TS_CONFIG_BIND_H

#include "config/quant.h"
#include "config/weights.h"

typedef struct {
    ts_checkpoint *ckpt;
    ts_quant quant;
    const char *path;       /* of the checkpoint, for what is missing from it */
    bool read;              /* fill the slot and look at the data; else dtype and shape only */
    const ts_tensor **used; /* tensors that found their slot */
    size_t n_used;
    ts_error *err;
} ts_binder;

/* The tensor of that name, of shape dim[ndim], widened; *out is left alone unless b->read. */
ts_status ts_bind_vector(ts_binder *b, const char *name, int ndim, const int64_t *dim, ts_vector *out);
/* A linear's [N,K] weights; `module` is a full name without ".weight". */
ts_status ts_bind_matrix(ts_binder *b, const char *module, int64_t N, int64_t K, ts_matrix *out);
/* E of them in one tensor [E,N,K], named with ".weight" or without: *out is [E*N,K]. */
ts_status ts_bind_stack(ts_binder *b, const char *module, int64_t E, int64_t N, int64_t K, ts_matrix *out);

/* TS_BAD: a tensor of that prefix that found no slot. A drafter with parts that this one lacks is another function. */
ts_status ts_bind_leftover(const ts_binder *b, const char *prefix);

#endif
