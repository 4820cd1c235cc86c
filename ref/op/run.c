#include "op.h"

/* y_i = f(x_i). x, y [n] */
static void map(ts_real (*f)(ts_real), const ts_map_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        a->y[i] = f(a->x[i]);
}

/* The forms of Apple's neural engine. */
static void run_w8a8(ts_op_id id, const void *args)
{
    switch (id) {
    case TS_OP_QUANTIZE_W8A8:
        ts_quantize_w8a8(args);
        break;
    case TS_OP_QUANTIZE_W8A8_F16DIV:
        ts_quantize_w8a8_f16div(args);
        break;
    case TS_OP_MATMUL_W8A8:
        ts_matmul_w8a8(args);
        break;
    case TS_OP_MATMUL_W8A8_BIAS:
        ts_matmul_w8a8_bias(args);
        break;
    case TS_OP_MATMUL_W8A8_UNFUSED:
        ts_matmul_w8a8_unfused(args);
        break;
    case TS_OP_MATMUL_W8A8_UNFUSED_CHAIN:
        ts_matmul_w8a8_unfused_chain(args);
        break;
    default:
        break;
    }
}

/* Those of the R9700 engine LSE. */
static void run_lse(ts_op_id id, const void *args)
{
    switch (id) {
    case TS_OP_RMSNORM_LSE:
        ts_rmsnorm_lse(args);
        break;
    case TS_OP_L2NORM_LSE:
        ts_l2norm_lse(args);
        break;
    case TS_OP_L2NORM_LSE_ROWS:
        ts_l2norm_lse_rows(args);
        break;
    case TS_OP_GATED_NORM_LSE:
        ts_gated_norm_lse(args);
        break;
    case TS_OP_GDN_GATES_LSE:
        ts_gdn_gates_lse(args);
        break;
    case TS_OP_GDN_STEP_LSE:
        ts_gdn_step_lse(args);
        break;
    case TS_OP_GDN_SCAN_LSE:
        ts_gdn_scan_lse(args);
        break;
    case TS_OP_SWIGLU_LSE:
        ts_swiglu_lse(args);
        break;
    case TS_OP_ATTENTION_LSE:
        ts_attention_lse(args);
        break;
    case TS_OP_MATMUL_LSE_A64:
        ts_matmul_lse_a64(args);
        break;
    case TS_OP_MATMUL_LSE_A64_FMA:
        ts_matmul_lse_a64_fma(args);
        break;
    case TS_OP_QUANTIZE_LSE_A8:
        ts_quantize_lse_a8(args);
        break;
    case TS_OP_MATMUL_LSE_A8:
        ts_matmul_lse_a8(args);
        break;
    case TS_OP_GATE_UP_LSE_A8:
        ts_gate_up_lse_a8(args);
        break;
    case TS_OP_MATMUL_LSE_EX:
        ts_matmul_lse_ex(args);
        break;
    case TS_OP_MATMUL_LSE_F16:
        ts_matmul_lse_f16(args);
        break;
    default:
        run_w8a8(id, args);
        break;
    }
}

/* Activations as ggml's products take them. */
static void run_blocks(ts_op_id id, const void *args)
{
    switch (id) {
    case TS_OP_QUANTIZE_Q8_0:
        ts_quantize_q8_0(args);
        break;
    case TS_OP_QUANTIZE_Q8_0_X86:
        ts_quantize_q8_0_x86(args);
        break;
    case TS_OP_QUANTIZE_Q8_1:
        ts_quantize_q8_1(args);
        break;
    case TS_OP_QUANTIZE_Q8_1_X86:
        ts_quantize_q8_1_x86(args);
        break;
    case TS_OP_QUANTIZE_Q8_K:
        ts_quantize_q8_k(args);
        break;
    default:
        run_lse(id, args);
        break;
    }
}

/* What the drafter DFlash2 adds. */
static void run_draft(ts_op_id id, const void *args)
{
    switch (id) {
    case TS_OP_GROUPED_CONV:
        ts_grouped_conv(args);
        break;
    case TS_OP_SELECTOR_SCORES:
        ts_selector_scores(args);
        break;
    case TS_OP_TOP_SLOTS:
        ts_top_slots(args);
        break;
    default:
        run_blocks(id, args);
        break;
    }
}

/* What Kimi Linear and sparse models add. */
static void run_kimi_and_sparse(ts_op_id id, const void *args)
{
    switch (id) {
    case TS_OP_GDN_LAZY_ROWS:
        ts_gdn_lazy_rows(args);
        break;
    case TS_OP_GDN_LAZY_COMMIT:
        ts_gdn_lazy_commit(args);
        break;
    case TS_OP_KDA_GATES:
        ts_kda_gates(args);
        break;
    case TS_OP_KDA_GATES_BOUNDED:
        ts_kda_gates_bounded(args);
        break;
    case TS_OP_KDA_STEP:
        ts_kda_step(args);
        break;
    case TS_OP_KDA_CHUNK:
        ts_kda_chunk(args);
        break;
    case TS_OP_KDA_CHUNK_EXP2:
        ts_kda_chunk_exp2(args);
        break;
    case TS_OP_GATED_NORM_SIGMOID:
        ts_gated_norm_sigmoid(args);
        break;
    case TS_OP_MOE_ROUTER_SOFTMAX:
        ts_moe_router_softmax(args);
        break;
    case TS_OP_MOE_ROUTER_SIGMOID:
        ts_moe_router_sigmoid(args);
        break;
    case TS_OP_MOE_ACCUMULATE:
        ts_moe_accumulate(args);
        break;
    case TS_OP_ROW_GATE:
        ts_row_gate(args);
        break;
    case TS_OP_MLA_ATTENTION:
        ts_mla_attention(args);
        break;
    case TS_OP_MLA_ABSORBED:
        ts_mla_absorbed(args);
        break;
    default:
        run_draft(id, args);
        break;
    }
}

/* The forms that other engines compute. */
static void run_form(ts_op_id id, const void *args)
{
    switch (id) {
    case TS_OP_ROUND_BF16:
        map(ts_round_bf16, args);
        break;
    case TS_OP_ROUND_F16:
        map(ts_round_f16, args);
        break;
    case TS_OP_SCALE:
        ts_scale(args);
        break;
    case TS_OP_SWIGLU_BF16:
        ts_swiglu_bf16(args);
        break;
    case TS_OP_SIGMOID_GATE_BF16:
        ts_sigmoid_gate_bf16(args);
        break;
    case TS_OP_RMSNORM_GGML:
        ts_rmsnorm_ggml(args);
        break;
    case TS_OP_L2NORM_MEAN:
        ts_l2norm_mean(args);
        break;
    case TS_OP_L2NORM_GGML:
        ts_l2norm_ggml(args);
        break;
    case TS_OP_GATED_NORM_BF16:
        ts_gated_norm_bf16(args);
        break;
    case TS_OP_GATED_NORM_GGML:
        ts_gated_norm_ggml(args);
        break;
    case TS_OP_CONV1D_BF16:
        ts_conv1d_bf16(args);
        break;
    case TS_OP_GDN_GATES_BF16:
        ts_gdn_gates_bf16(args);
        break;
    case TS_OP_GDN_GATES_GGML:
        ts_gdn_gates_ggml(args);
        break;
    case TS_OP_GDN_STEP_GGML:
        ts_gdn_step_ggml(args);
        break;
    case TS_OP_ROPE_BF16:
        ts_rope_bf16(args);
        break;
    case TS_OP_ATTENTION_BF16:
        ts_attention_bf16(args);
        break;
    case TS_OP_ATTENTION_FLASH_GGML:
        ts_attention_flash_ggml(args);
        break;
    case TS_OP_ATTENTION_TILED_GGML:
        ts_attention_tiled_ggml(args);
        break;
    case TS_OP_ATTENTION_SOFTMAX_GGML:
        ts_attention_softmax_ggml(args);
        break;
    case TS_OP_MATMUL_MLX:
        ts_matmul_mlx(args);
        break;
    case TS_OP_MATMUL_MLX_BF16:
        ts_matmul_mlx_bf16(args);
        break;
    case TS_OP_MATMUL_GGML:
        ts_matmul_ggml(args);
        break;
    case TS_OP_MATMUL_GGML_X86:
        ts_matmul_ggml_x86(args);
        break;
    default:
        run_kimi_and_sparse(id, args);
        break;
    }
}

void ts_op_run(ts_op_id id, const void *args)
{
    switch (id) {
    case TS_OP_EXP:
        map(ts_exp, args);
        break;
    case TS_OP_EXP2:
        map(ts_exp2, args);
        break;
    case TS_OP_SIGMOID:
        map(ts_sigmoid, args);
        break;
    case TS_OP_SILU:
        map(ts_silu, args);
        break;
    case TS_OP_SOFTPLUS:
        map(ts_softplus, args);
        break;
    case TS_OP_RSQRT:
        map(ts_rsqrt, args);
        break;
    case TS_OP_RESIDUAL_ADD:
        ts_residual_add(args);
        break;
    case TS_OP_SWIGLU:
        ts_swiglu(args);
        break;
    case TS_OP_SIGMOID_GATE:
        ts_sigmoid_gate(args);
        break;
    case TS_OP_EMBED:
        ts_embed(args);
        break;
    case TS_OP_RMSNORM:
        ts_rmsnorm(args);
        break;
    case TS_OP_L2NORM:
        ts_l2norm(args);
        break;
    case TS_OP_GATED_NORM:
        ts_gated_norm(args);
        break;
    case TS_OP_CONV1D:
        ts_conv1d(args);
        break;
    case TS_OP_GDN_GATES:
        ts_gdn_gates(args);
        break;
    case TS_OP_GDN_STEP:
        ts_gdn_step(args);
        break;
    case TS_OP_GDN_CHUNK:
        ts_gdn_chunk(args);
        break;
    case TS_OP_GDN_CHUNK64:
        ts_gdn_chunk64(args);
        break;
    case TS_OP_ROPE:
        ts_rope(args);
        break;
    case TS_OP_KV_STORE:
        ts_kv_store(args);
        break;
    case TS_OP_ATTENTION:
        ts_attention(args);
        break;
    case TS_OP_ATTENTION_WMMA:
        ts_attention_wmma(args);
        break;
    case TS_OP_ATTENTION_PARTIAL:
        ts_attention_partial(args);
        break;
    case TS_OP_ATTENTION_MERGE:
        ts_attention_merge(args);
        break;
    case TS_OP_MATMUL_DOT32:
        ts_matmul_dot32(args);
        break;
    case TS_OP_QUANTIZE_A64:
        ts_quantize_a64(args);
        break;
    case TS_OP_MATMUL_A64S8:
        ts_matmul_a64s8(args);
        break;
    case TS_OP_RMSNORM_A64:
        ts_rmsnorm_a64(args);
        break;
    case TS_OP_GATE_UP_A64S8:
        ts_gate_up_a64s8(args);
        break;
    case TS_OP_QKV_CONV_A64S8:
        ts_qkv_conv_a64s8(args);
        break;
    default:
        run_form(id, args);
        break;
    }
}
