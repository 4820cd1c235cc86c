/* From a case to a call: allocates and generates every field of an operation's
 * args struct, in f32 or widened to double, so that any coding of it can run.
 *
 * Input generators beyond those of num/generate.h:
 *   real    "rope:THETA:POS"                   rows of the cos or sin table from position POS
 *   i32     "iota:START", "list:a,b,c" (cycled), "ints:LO:HI"
 *   i8      "ints:LO:HI"
 *   matrix  "bf16/GEN", "f16/GEN", "f32/GEN", "mlxB.gG/GEN of scales/GEN of biases", bf16 unless "/f16" or "/f32"
 * follows kv      "bf16|f16|real|fp8-e4m3|fp8-e5m2/GEN/PAGE/FILLED/CAPACITY/SPARE": FILLED tokens of CAPACITY in a
 * shuffled pool with SPARE free pages; everything not filled is NaN */
#ifndef TS_CHECK_CALL_H
#define TS_CHECK_CALL_H

#include <stdbool.h>
#include "case/case.h"
#include "check/guard.h"
#include "num/dtype.h"
#include "schedule.h"

/* Guards of a call: by field; then the arrays of the matrices, their structs, the page table, the second KV pool,
 * the args. */
enum {
    TS_MATRICES = 2,
    TS_MATRIX_PARTS = 3, /* data, scales, biases */
    TS_GUARD_MATRIX = TS_MAX_FIELDS,
    TS_GUARD_STRUCTS = TS_GUARD_MATRIX + TS_MATRICES * TS_MATRIX_PARTS,
    TS_GUARD_TABLE,
    TS_GUARD_V,
    TS_GUARD_ARGS,
    TS_GUARDS
};

/* Outputs are filled before a run in one of two ways: an element that holds the one after a run and the other
 * after another was not written. For reals, NaNs that no operation makes. */
enum { TS_FILLS = 2 };

typedef struct ts_call {
    const ts_op *op;
    bool wide;                 /* ts_real arrays hold double */
    void *args;                /* op->args_size bytes */
    void *data[TS_MAX_FIELDS]; /* the arrays; both KV pools in one */
    size_t size[TS_MAX_FIELDS];
    ts_matrix matrix[TS_MATRICES]; /* in the order of their fields */
    void *matrix_data[TS_MATRICES][3];
    bool packed_here; /* the packed copies are this call's own */
    int32_t *table;
    void *v_pool; /* the second KV pool, if it does not lie behind the first */
    bool guarded; /* then all of it is in guard */
    int fill;
    ts_guard guard[TS_GUARDS];
    int64_t kv_filled, kv_capacity; /* tokens */
} ts_call;

/* f32, inputs generated, outputs filled with a NaN that no operation makes. */
ts_status ts_call_from_case(const ts_case *c, ts_call *out, ts_error *err);
/* The same inputs (contents of INOUT fields included), fresh outputs, optionally widened to double. */
ts_status ts_call_copy(const ts_call *from, bool wide, ts_call *out, ts_error *err);
/* The same in guarded, shared memory for a child process to write, inner tensors as exposed. What is only read is
 * read-only: inputs, the args struct, the structs of the matrices. */
ts_status ts_call_guarded(const ts_call *from, const char *exposes, ts_call *out, ts_error *err);
/* Only the outputs, filled the `fill` way, INOUT fields with the contents of `from`; the args struct serves for the
 * dims. */
ts_status ts_call_outputs(const ts_call *from, const char *exposes, int fill, ts_call *out, ts_error *err);
bool ts_call_is_output(const ts_call *c, int field);
/* The outputs of `to` become those of `from`; of the same exposed tensors. */
void ts_call_take(ts_call *to, const ts_call *from);
/* Only elements that are no more as before go over. -1, or the first field of which *element was no more as before
 * in `to` either. */
int ts_call_merge(ts_call *to, const ts_call *from, const ts_call *before, int64_t *element);
/* Packs the matrices as p wants it (NULL: not at all); an earlier packing goes. Not for a copy or a guarded call.
 */
ts_status ts_call_pack(ts_call *c, const ts_packing *p, ts_error *err);
/* How many elements of field i were written neither in a, filled the way 0, nor in b, filled the way 1. */
int64_t ts_call_unwritten(const ts_call *a, const ts_call *b, int i, int64_t *first);

/* Rows t .. t+n-1 of every field whose first dim is T, f32, `pos` moved along. */
ts_status ts_call_slice(const ts_call *from, int64_t t, int64_t n, ts_call *out, ts_error *err);
void ts_call_free(ts_call *c);

/* Takes away the inner tensors not named in `exposes`. */
void ts_call_expose(ts_call *c, const char *exposes);

/* Does it store or read a KV pool of codes with scales? No schedule does. */
bool ts_call_kv_codes(const ts_call *c);

/* Field i as a tensor: real (F32 or F64), I8, I32, or the KV pools [2,pages,Hkv,page,D]; those of codes are bytes.
 */
ts_tensor ts_call_tensor(const ts_call *c, int field);
bool ts_call_has(const ts_call *c, int field);
/* Index of the field of that name, or -1. */
int ts_call_field(const ts_call *c, const char *name);
/* The dim of that name, or NULL if the operation has none. */
int64_t *ts_call_dim(const ts_call *c, const char *name);

#endif
