#include "check/bound.h"

#include <math.h>
#include <string.h>

#include "check/bound_op.h"

/* Every operation by name; the fields that are plain copies never come here. */
static ts_status fill(ts_op_id op, const void *a, const float *state, const char *field, double *bound,
                      ts_error *err)
{
    switch (op) {
    case TS_OP_EXP:
        ts_bound_map(ts_err_exp, a, bound);
        break;
    case TS_OP_SIGMOID:
        ts_bound_map(ts_err_sigmoid, a, bound);
        break;
    case TS_OP_SILU:
        ts_bound_map(ts_err_silu, a, bound);
        break;
    case TS_OP_SOFTPLUS:
        ts_bound_map(ts_err_softplus, a, bound);
        break;
    case TS_OP_RSQRT:
        ts_bound_map(ts_err_rsqrt, a, bound);
        break;
    case TS_OP_RESIDUAL_ADD:
        ts_bound_zip(ts_err_add, a, bound);
        break;
    case TS_OP_SWIGLU:
        ts_bound_zip(ts_err_swiglu, a, bound);
        break;
    case TS_OP_SIGMOID_GATE:
        ts_bound_zip(ts_err_sigmoid_gate, a, bound);
        break;
    case TS_OP_EMBED:
        ts_bound_embed(a, bound);
        break;
    case TS_OP_RMSNORM:
        ts_bound_rmsnorm(a, bound);
        break;
    case TS_OP_L2NORM:
        ts_bound_l2norm(a, bound);
        break;
    case TS_OP_GATED_NORM:
        ts_bound_gated_norm(a, ts_err_silu, bound);
        break;
    case TS_OP_CONV1D:
        ts_bound_conv1d(a, state, NULL, bound);
        break;
    case TS_OP_GDN_GATES:
        ts_bound_gdn_gates(a, field, bound);
        break;
    case TS_OP_GDN_STEP:
        return ts_bound_gdn_step(a, state, field, bound, err);
    case TS_OP_GDN_CHUNK64:
        return ts_bound_chunk(a, TS_CHUNK_GDN64, state, field, bound, err);
    case TS_OP_ROPE:
        ts_bound_rope(a, bound);
        break;
    case TS_OP_ATTENTION:
    case TS_OP_ATTENTION_PARTIAL:
        return ts_bound_attention(a, field, bound, err);
    case TS_OP_ATTENTION_MERGE:
        return ts_bound_attention_merge(a, field, bound, err);
    case TS_OP_MLA_ATTENTION:
        return ts_bound_mla_attention(a, field, bound, err);
    case TS_OP_MLA_ABSORBED:
        return ts_bound_mla_absorbed(a, field, bound, err);
    case TS_OP_MATMUL_DOT32:
        ts_bound_matmul_dot32(a, bound);
        break;
    case TS_OP_QUANTIZE_A64:
        ts_bound_quantize_a64(a, field, bound);
        break;
    case TS_OP_MATMUL_A64S8:
        ts_bound_matmul_a64s8(a, bound);
        break;
    case TS_OP_RMSNORM_A64:
        ts_bound_rmsnorm_a64(a, field, bound);
        break;
    case TS_OP_GATE_UP_A64S8:
        ts_bound_gate_up_a64s8(a, field, bound);
        break;
    case TS_OP_QKV_CONV_A64S8:
        ts_bound_qkv_conv_a64s8(a, state, field, bound);
        break;
    default:
        return ts_bound_form(op, a, state, field, bound, err);
    }
    return TS_OK;
}

static const ts_field *find_output(ts_op_id op, const char *field)
{
    for (int i = 0; i < TS_MAX_FIELDS && ts_op_table[op].field[i].name; i++) {
        const ts_field *f = &ts_op_table[op].field[i];
        if (f->role != TS_IN && strcmp(f->name, field) == 0)
            return f;
    }
    return NULL;
}

/* Does the operation start from what a field of its own holds? A cache is one that it only fills. */
static bool needs_state(ts_op_id op)
{
    for (int i = 0; i < TS_MAX_FIELDS && ts_op_table[op].field[i].name; i++)
        if (ts_op_table[op].field[i].role == TS_INOUT && ts_op_table[op].field[i].kind == TS_FIELD_REAL)
            return true;
    return false;
}

/* Are the outputs the same numbers in either precision? Copies, comparisons, codes of f32 numbers. */
static bool same_numbers(ts_op_id op, const ts_field *f)
{
    switch (op) {
    case TS_OP_KV_STORE:
    case TS_OP_TOP_SLOTS:
    case TS_OP_QUANTIZE_Q8_0:
    case TS_OP_QUANTIZE_Q8_0_X86:
    case TS_OP_QUANTIZE_Q8_1:
    case TS_OP_QUANTIZE_Q8_1_X86:
    case TS_OP_QUANTIZE_Q8_K:
        return true;
    case TS_OP_CONV1D:
    case TS_OP_CONV1D_BF16:
        return f->role == TS_INOUT;
    default:
        return false;
    }
}

ts_status ts_bound(ts_op_id op, const void *args, const float *state, const char *field, double *bound,
                   ts_error *err)
{
    if ((unsigned)op >= TS_OP_COUNT)
        return ts_fail(err, TS_USAGE, NULL, field, "no operation %d", (int)op);
    const ts_field *f = find_output(op, field);
    if (!f)
        return ts_fail(err, TS_USAGE, NULL, field, "not an output of %s", ts_op_table[op].name);
    if (needs_state(op) && !state)
        return ts_fail(err, TS_USAGE, NULL, field, "%s needs the state before the call", ts_op_table[op].name);
    if (!same_numbers(op, f))
        return fill(op, args, state, field, bound, err);
    int64_t n = ts_field_count(&ts_op_table[op], f, args);
    for (int64_t i = 0; i < n; i++)
        bound[i] = 0;
    return TS_OK;
}

bool ts_bound_holds(double x, double ref, double bound)
{
    if (isnan(x) || isnan(ref) || isinf(bound))
        return isinf(bound) || (isnan(x) && isnan(ref));
    return x == ref || fabs(x - ref) <= bound;
}
