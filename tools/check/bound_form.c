/* The bounds of the forms that only the reference computes, by name. */
#include "check/bound_op.h"

/* The forms of Apple's neural engine. */
static ts_status bound_w8a8(ts_op_id op, const void *a, const char *field, double *bound, ts_error *err)
{
    switch (op) {
    case TS_OP_QUANTIZE_W8A8:
    case TS_OP_QUANTIZE_W8A8_F16DIV:
        ts_bound_quantize_w8a8(a, bound);
        break;
    case TS_OP_MATMUL_W8A8:
    case TS_OP_MATMUL_W8A8_BIAS:
        ts_bound_matmul_w8a8(a, op == TS_OP_MATMUL_W8A8_BIAS, field, bound);
        break;
    case TS_OP_MATMUL_W8A8_UNFUSED:
        ts_bound_matmul_w8a8_unfused(a, bound);
        break;
    case TS_OP_MATMUL_W8A8_UNFUSED_CHAIN:
        ts_bound_matmul_w8a8_unfused_chain(a, bound);
        break;
    default:
        return ts_fail(err, TS_USAGE, NULL, field, "operation %d has no bound", (int)op);
    }
    return TS_OK;
}

/* What the R9700 engine LSE computes. */
static ts_status bound_lse(ts_op_id op, const void *a, const float *state, const char *field, double *bound,
                           ts_error *err)
{
    switch (op) {
    case TS_OP_RMSNORM_LSE:
        ts_bound_rmsnorm_lse(a, bound);
        break;
    case TS_OP_GATED_NORM_LSE:
        ts_bound_gated_norm_lse(a, bound);
        break;
    case TS_OP_L2NORM_LSE:
    case TS_OP_L2NORM_LSE_ROWS:
        ts_bound_l2norm_lse(a, op == TS_OP_L2NORM_LSE, bound);
        break;
    case TS_OP_GDN_GATES_LSE:
        ts_bound_gdn_gates_lse(a, field, bound);
        break;
    case TS_OP_GDN_STEP_LSE:
        return ts_bound_gdn_step_lse(a, state, field, bound, err);
    case TS_OP_GDN_SCAN_LSE:
        return ts_bound_gdn_scan_lse(a, state, field, bound, err);
    case TS_OP_SWIGLU_LSE:
        ts_bound_zip(ts_err_swiglu, a, bound);
        break;
    case TS_OP_ATTENTION_LSE:
        return ts_bound_attention_lse(a, bound, err);
    case TS_OP_MATMUL_LSE_A64:
        ts_bound_matmul_lse_a64(a, bound);
        break;
    case TS_OP_MATMUL_LSE_A64_FMA:
        ts_bound_matmul_lse_a64_fma(a, bound);
        break;
    case TS_OP_QUANTIZE_LSE_A8:
        ts_bound_quantize_lse_a8(a, field, bound);
        break;
    case TS_OP_MATMUL_LSE_A8:
        ts_bound_matmul_lse_a8(a, bound);
        break;
    case TS_OP_GATE_UP_LSE_A8:
        ts_bound_gate_up_lse_a8(a, field, bound);
        break;
    case TS_OP_MATMUL_LSE_EX:
        ts_bound_matmul_lse_ex(a, bound);
        break;
    case TS_OP_MATMUL_LSE_F16:
        ts_bound_matmul_lse_f16(a, bound);
        break;
    default:
        return bound_w8a8(op, a, field, bound, err);
    }
    return TS_OK;
}

/* What the drafter DFlash2 adds. */
static ts_status bound_draft(ts_op_id op, const void *a, const float *state, const char *field, double *bound,
                             ts_error *err)
{
    switch (op) {
    case TS_OP_GROUPED_CONV:
        ts_bound_grouped_conv(a, bound);
        break;
    case TS_OP_SELECTOR_SCORES:
        ts_bound_selector_scores(a, bound);
        break;
    default:
        return bound_lse(op, a, state, field, bound, err);
    }
    return TS_OK;
}

/* What Kimi Linear and sparse models add. */
static ts_status bound_kimi_and_sparse(ts_op_id op, const void *a, const float *state, const char *field,
                                       double *bound, ts_error *err)
{
    switch (op) {
    case TS_OP_KDA_GATES:
    case TS_OP_KDA_GATES_BOUNDED:
        ts_bound_kda_gates(a, op == TS_OP_KDA_GATES_BOUNDED, field, bound);
        break;
    case TS_OP_GDN_LAZY_ROWS:
        return ts_bound_gdn_lazy_rows(a, field, bound, err);
    case TS_OP_GDN_LAZY_COMMIT:
        ts_bound_gdn_lazy_commit(a, state, bound);
        break;
    case TS_OP_KDA_STEP:
        return ts_bound_kda_step(a, state, field, bound, err);
    case TS_OP_GDN_CHUNK:
        return ts_bound_chunk(a, TS_CHUNK_GDN, state, field, bound, err);
    case TS_OP_KDA_CHUNK:
        return ts_bound_chunk(a, TS_CHUNK_KDA, state, field, bound, err);
    case TS_OP_KDA_CHUNK_EXP2:
        return ts_bound_chunk(a, TS_CHUNK_KDA_EXP2, state, field, bound, err);
    case TS_OP_GATED_NORM_SIGMOID:
        ts_bound_gated_norm(a, ts_err_sigmoid, bound);
        break;
    case TS_OP_MOE_ROUTER_SOFTMAX:
        return ts_bound_moe_router_softmax(a, bound, err);
    case TS_OP_MOE_ROUTER_SIGMOID:
        return ts_bound_moe_router_sigmoid(a, field, bound, err);
    case TS_OP_MOE_ACCUMULATE:
        ts_bound_moe_accumulate(a, bound);
        break;
    case TS_OP_ROW_GATE:
        ts_bound_row_gate(a, bound);
        break;
    default:
        return bound_draft(op, a, state, field, bound, err);
    }
    return TS_OK;
}

ts_status ts_bound_form(ts_op_id op, const void *a, const float *state, const char *field, double *bound,
                        ts_error *err)
{
    switch (op) {
    case TS_OP_ROUND_BF16:
        ts_bound_map(ts_err_bf16, a, bound);
        break;
    case TS_OP_ROUND_F16:
        ts_bound_map(ts_err_f16, a, bound);
        break;
    case TS_OP_SCALE:
        ts_bound_scale(a, bound);
        break;
    case TS_OP_SWIGLU_BF16:
        ts_bound_zip(ts_err_swiglu_bf16, a, bound);
        break;
    case TS_OP_SIGMOID_GATE_BF16:
        ts_bound_zip(ts_err_sigmoid_gate_bf16, a, bound);
        break;
    case TS_OP_RMSNORM_GGML:
        ts_bound_rmsnorm_ggml(a, bound);
        break;
    case TS_OP_L2NORM_MEAN:
        ts_bound_l2norm_mean(a, bound);
        break;
    case TS_OP_L2NORM_GGML:
        ts_bound_l2norm_ggml(a, bound);
        break;
    case TS_OP_GATED_NORM_BF16:
        ts_bound_gated_norm_bf16(a, bound);
        break;
    case TS_OP_GATED_NORM_GGML:
        ts_bound_gated_norm_ggml(a, bound);
        break;
    case TS_OP_CONV1D_BF16:
        ts_bound_conv1d(a, state, ts_err_bf16, bound);
        break;
    case TS_OP_GDN_GATES_BF16:
        ts_bound_gates_bf16(a, field, bound);
        break;
    case TS_OP_GDN_GATES_GGML:
        ts_bound_gates_ggml(a, field, bound);
        break;
    case TS_OP_GDN_STEP_GGML:
        return ts_bound_gdn_step_ggml(a, state, field, bound, err);
    case TS_OP_ROPE_BF16:
        ts_bound_rope_bf16(a, bound);
        break;
    case TS_OP_ATTENTION_BF16:
        ts_bound_attention_bf16(a, bound);
        break;
    case TS_OP_ATTENTION_WMMA:
        return ts_bound_attention_wmma(a, bound, err);
    case TS_OP_ATTENTION_FLASH_GGML:
        return ts_bound_attention_flash_ggml(a, bound, err);
    case TS_OP_ATTENTION_TILED_GGML:
        return ts_bound_attention_tiled_ggml(a, bound, err);
    case TS_OP_ATTENTION_SOFTMAX_GGML:
        ts_bound_attention_softmax_ggml(a, bound);
        break;
    case TS_OP_MATMUL_MLX:
        ts_bound_matmul_mlx(a, bound);
        break;
    case TS_OP_MATMUL_MLX_BF16:
        ts_bound_matmul_mlx_bf16(a, bound);
        break;
    case TS_OP_MATMUL_GGML:
    case TS_OP_MATMUL_GGML_X86:
        ts_bound_matmul_ggml(a, field, bound);
        break;
    case TS_OP_EXP2:
        ts_bound_map(ts_err_exp2, a, bound);
        break;
    default:
        return bound_kimi_and_sparse(op, a, state, field, bound, err);
    }
    return TS_OK;
}
