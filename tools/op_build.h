/* Private to op_call.c, op_model.c, op_kv.c and op_output.c: a call being put together. */
#ifndef TS_TOOLS_OP_BUILD_H
#define TS_TOOLS_OP_BUILD_H

#include "op_call.h"

enum { TS_MOST_TOKENS = 1 << 24 };

typedef struct {
    const ts_op_source *s;
    ts_real_as as;
    ts_op_call *c;
    bool known[TS_MAX_OP_DIMS];
    ts_error *err;
} ts_op_builder;

void *ts_op_member(const ts_op_call *c, size_t offset);
int ts_op_field_index(const ts_op *op, const char *name);
size_t ts_op_real_size(const ts_op_builder *b);
/* A dim from the model or from a tensor's shape: all that say it must agree. */
ts_status ts_op_settle(ts_op_builder *b, const char *name, int64_t value, const char *tensor);
/* Weights, constants and dims of the model, for the operations that take any (op_model.c). */
ts_status ts_op_from_model(ts_op_builder *b);
ts_status ts_op_allocate(ts_op_builder *b, int i, int64_t n, size_t size);

/* Has t the shape of the field? More dims in front count as rows, and at the end as a split last dim; else
 * TS_BAD. Tensors of the same dims must also agree in how these are split. */
ts_status ts_op_check_shape(const ts_op_call *c, const ts_field *f, const ts_tensor *t, const char *path,
                            ts_error *err);

/* The paged KV cache, given as k and v [Hkv,tokens,D]. Operations without one: TS_OK. */
ts_status ts_op_kv_settle(ts_op_builder *b);
ts_status ts_op_kv_fill(ts_op_builder *b);
extern const char *const ts_op_pool_name[2]; /* of the outputs: "cache_k", "cache_v" */
ts_status ts_op_kv_output(const ts_op_call *c, ts_tensor out[2], int *n, ts_error *err);

#endif
