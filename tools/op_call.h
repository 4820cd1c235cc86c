/* One operation on the user's tensors: fields by name from a file, weights and
 * constants from a model, ready to be run by any coding. */
#ifndef TS_TOOLS_OP_CALL_H
#define TS_TOOLS_OP_CALL_H

#include "case/op.h"
#include "config/profile.h"
#include "config/weights.h"
#include "inputs.h"

typedef struct {
    ts_op_id id;
    const ts_profile *profile;
    const ts_weights *w; /* NULL if the operation takes nothing from a model */
    int64_t layer;       /* -1 for the ends */
    const char *weight;  /* role of the weight, NULL if the operation has one kind only */
    int64_t K;           /* of quantize_a64, when a matrix is to follow; else 0 */
    ts_inputs *in;
} ts_op_source;

typedef struct {
    const ts_op *op;
    bool wide;                 /* ts_real is double */
    void *args;                /* op->args_size bytes */
    void *data[TS_MAX_FIELDS]; /* owned; both KV pools in one */
    const ts_tensor *given[TS_MAX_FIELDS];
    int32_t *table;
    int64_t tokens; /* in the KV pool, those to be stored included */
} ts_op_call;

/* Does it need a model, a layer of it, --weight? */
bool ts_op_wants_model(ts_op_id id);
bool ts_op_wants_layer(ts_op_id id, const char *weight);
bool ts_op_wants_weight(ts_op_id id);
/* Does it read a matrix that no model is asked for? */
bool ts_op_lacks_matrix(ts_op_id id);
/* The matrix to be read for it (ts_weights_load_part): a role, or "". */
const char *ts_op_matrix(ts_op_id id, const char *weight);

/* codes (may be NULL): a finished quantize_a64 whose outputs are the first fields of matmul_a64s8. */
ts_status ts_op_call_new(const ts_op_source *s, ts_real_as as, const ts_op_call *codes, ts_op_call *out,
                         ts_error *err);
void ts_op_call_free(ts_op_call *c);

/* Asks for what the file holds of the outputs, under their names or, read and written, NAME_out. A shape that is
 * not the output's: TS_BAD. */
ts_status ts_op_call_expected(const ts_op_call *c, ts_inputs *in, ts_error *err);

/* The name in the file of what an output should be; `state`: it is read and written. */
const char *ts_op_expected_name(const char *output, bool state, char *buf, size_t size);

/* What the operation wrote to field i: n tensors, 0 if it is no output, 2 for KV pools; `data` is the caller's to
 * free. */
ts_status ts_op_call_output(const ts_op_call *c, int field, ts_tensor out[2], int *n, ts_error *err);

#endif
