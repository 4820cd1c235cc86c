/* Private to config/weights.c: tensors of Kimi-Linear that files have in several pieces. */
#ifndef TS_CONFIG_BIND_KIMI_H
#define TS_CONFIG_BIND_KIMI_H

#include "config/bind.h"

/* The convolutions of queries, keys and values, P channels each, one after the other: *out is [3*P*W]. Their
 * tensors are [P,1,W], in GGUF files also [1,P,1,W]. */
ts_status ts_bind_convs(ts_binder *b, const char *const name[3], int64_t P, int64_t W, ts_vector *out);

/* GGUF's halves of kv_b: keys [Hq,rank,Dn], every head turned, and values [Hq,Dm,rank]. *out is kv_b as f32, its
 * data *own, malloc'd. They must be plain numbers: a row of blocks cannot be turned. Nothing unless b->read. */
ts_status ts_bind_kv_halves(ts_binder *b, const char *keys, const char *values, const ts_config *c, ts_matrix *out,
                            float **own);

#endif
