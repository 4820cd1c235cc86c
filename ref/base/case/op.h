/* The operations by name: one entry is one definition with one declared order
 * ("a new order is a new name"). The tables let `check` make inputs for any
 * operation, call any coding of it, and compare its outputs, without knowing it. */
#ifndef TS_CASE_OP_H
#define TS_CASE_OP_H

#include <stdbool.h>
#include <stddef.h>
#include "case/args.h"

typedef enum {
    TS_OP_EXP,
    TS_OP_EXP2,
    TS_OP_SIGMOID,
    TS_OP_SILU,
    TS_OP_SOFTPLUS,
    TS_OP_RSQRT,
    TS_OP_ROUND_BF16,
    TS_OP_ROUND_F16,
    TS_OP_SCALE,
    TS_OP_RESIDUAL_ADD,
    TS_OP_SWIGLU,
    TS_OP_SWIGLU_BF16,
    TS_OP_SWIGLU_LSE,
    TS_OP_SIGMOID_GATE,
    TS_OP_SIGMOID_GATE_BF16,
    TS_OP_EMBED,
    TS_OP_RMSNORM,
    TS_OP_RMSNORM_GGML,
    TS_OP_RMSNORM_LSE,
    TS_OP_L2NORM,
    TS_OP_L2NORM_MEAN,
    TS_OP_L2NORM_GGML,
    TS_OP_L2NORM_LSE,
    TS_OP_L2NORM_LSE_ROWS,
    TS_OP_GATED_NORM,
    TS_OP_GATED_NORM_BF16,
    TS_OP_GATED_NORM_GGML,
    TS_OP_GATED_NORM_LSE,
    TS_OP_GATED_NORM_SIGMOID,
    TS_OP_CONV1D,
    TS_OP_CONV1D_BF16,
    TS_OP_GDN_GATES,
    TS_OP_GDN_GATES_BF16,
    TS_OP_GDN_GATES_GGML,
    TS_OP_GDN_GATES_LSE,
    TS_OP_GDN_STEP,
    TS_OP_GDN_STEP_GGML,
    TS_OP_GDN_STEP_LSE,
    TS_OP_GDN_SCAN_LSE,
    TS_OP_GDN_CHUNK,
    TS_OP_GDN_CHUNK64,
    TS_OP_GDN_LAZY_ROWS,
    TS_OP_GDN_LAZY_COMMIT,
    TS_OP_KDA_GATES,
    TS_OP_KDA_GATES_BOUNDED,
    TS_OP_KDA_STEP,
    TS_OP_KDA_CHUNK,
    TS_OP_KDA_CHUNK_EXP2,
    TS_OP_ROPE,
    TS_OP_ROPE_BF16,
    TS_OP_KV_STORE,
    TS_OP_ATTENTION,
    TS_OP_ATTENTION_BF16,
    TS_OP_ATTENTION_LSE,
    TS_OP_ATTENTION_FLASH_GGML,
    TS_OP_ATTENTION_TILED_GGML,
    TS_OP_ATTENTION_SOFTMAX_GGML,
    TS_OP_ATTENTION_WMMA,
    TS_OP_ATTENTION_PARTIAL,
    TS_OP_ATTENTION_MERGE,
    TS_OP_MLA_ATTENTION,
    TS_OP_MLA_ABSORBED,
    TS_OP_MOE_ROUTER_SOFTMAX,
    TS_OP_MOE_ROUTER_SIGMOID,
    TS_OP_MOE_ACCUMULATE,
    TS_OP_ROW_GATE,
    TS_OP_GROUPED_CONV,
    TS_OP_SELECTOR_SCORES,
    TS_OP_TOP_SLOTS,
    TS_OP_MATMUL_DOT32,
    TS_OP_MATMUL_MLX,
    TS_OP_MATMUL_MLX_BF16,
    TS_OP_QUANTIZE_Q8_0,
    TS_OP_QUANTIZE_Q8_0_X86,
    TS_OP_QUANTIZE_Q8_1,
    TS_OP_QUANTIZE_Q8_1_X86,
    TS_OP_QUANTIZE_Q8_K,
    TS_OP_MATMUL_GGML,
    TS_OP_MATMUL_GGML_X86,
    TS_OP_QUANTIZE_W8A8,
    TS_OP_QUANTIZE_W8A8_F16DIV,
    TS_OP_MATMUL_W8A8,
    TS_OP_MATMUL_W8A8_BIAS,
    TS_OP_MATMUL_W8A8_UNFUSED,
    TS_OP_MATMUL_W8A8_UNFUSED_CHAIN,
    TS_OP_QUANTIZE_A64,
    TS_OP_MATMUL_A64S8,
    TS_OP_MATMUL_LSE_A64,
    TS_OP_MATMUL_LSE_A64_FMA,
    TS_OP_QUANTIZE_LSE_A8,
    TS_OP_MATMUL_LSE_A8,
    TS_OP_GATE_UP_LSE_A8,
    TS_OP_MATMUL_LSE_EX,
    TS_OP_MATMUL_LSE_F16,
    TS_OP_RMSNORM_A64,
    TS_OP_GATE_UP_A64S8,
    TS_OP_QKV_CONV_A64S8,
    TS_OP_COUNT,
} ts_op_id;

typedef enum {
    TS_IN,    /* read */
    TS_INOUT, /* read and written: part of the inputs and of the outputs */
    TS_OUT,   /* written */
    TS_INNER, /* written only by codings that expose it; NULL otherwise */
} ts_role;

typedef enum {
    TS_FIELD_REAL,   /* ts_real[] */
    TS_FIELD_I8,     /* int8_t[] */
    TS_FIELD_I32,    /* int32_t[] */
    TS_FIELD_MATRIX, /* const ts_matrix * [N,K] */
    TS_FIELD_KV,     /* ts_kv embedded in the struct */
} ts_field_kind;

typedef struct {
    const char *name;
    ts_role role;
    ts_field_kind kind;
    size_t offset;      /* in the args struct */
    const char *dim[4]; /* names of dims, "K/64" or "Dn+Dv*H" (from left to right), or NULL */
} ts_field;

typedef struct {
    const char *name;
    size_t offset; /* of an int64_t */
} ts_dim;

typedef struct {
    const char *name;
    size_t offset; /* of a double */
} ts_param;

enum { TS_MAX_FIELDS = 12, TS_MAX_OP_DIMS = 8, TS_MAX_PARAMS = 2 };

typedef struct {
    const char *name;  /* file, function, test and golden share it */
    const char *order; /* docs/contract.md */
    int version;       /* op semantics version: part of every golden */
    size_t args_size;
    ts_dim dim[TS_MAX_OP_DIMS];
    ts_param param[TS_MAX_PARAMS];
    ts_field field[TS_MAX_FIELDS];
    const char *units; /* product of dims that is the number of independent outputs, e.g. "T*Hq" */
    const char
        *rules; /* what the dims must satisfy beside being positive: "Hv%Hk" (divides), "K/64%S", "R<=D"; dims named
                   "+pos" may be 0; "?both" too, and a case may leave them out */
    bool ref_only; /* a form that only the reference computes: no schedule is demanded */
} ts_op;

extern const ts_op ts_op_table[TS_OP_COUNT];

/* TS_OP_COUNT if there is none. */
ts_op_id ts_op_find(const char *name);

/* "T", "T*Hq", "K/64", up to the end or to "%" or "<"; from left to right: "Dn+Dv*H" is (Dn + Dv) H. */
int64_t ts_op_dim(const ts_op *op, const void *args, const char *expr);
int64_t ts_op_units(const ts_op *op, const void *args);
/* May a case leave this dim out? Then it is 0. */
bool ts_op_dim_optional(const ts_op *op, const char *dim);
/* Are the dims in args positive, within 2^24, and do they follow op->rules? If not, *rule says which fails. */
bool ts_op_dims_ok(const ts_op *op, const void *args, const char **rule);
/* Elements; INT64_MAX if the product overflows. */
int64_t ts_field_count(const ts_op *op, const ts_field *f, const void *args);

#endif
