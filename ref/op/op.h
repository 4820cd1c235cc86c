/* The definition of every operation: one file each, named as the function.
 * Compiled per precision (ts_real); over each function stand the equation, the
 * shapes and the rounding points. `exact` and `ts` differ in which of these run,
 * never inside one. */
#ifndef TS_OP_H
#define TS_OP_H

#include "case/args.h"
#include "case/op.h"
#include "format/block.h"

/* Elementary functions, one value. */
ts_real ts_exp(ts_real x);
ts_real ts_exp2(ts_real x);
ts_real ts_sigmoid(ts_real x);
ts_real ts_silu(ts_real x);
ts_real ts_silu_lse(ts_real x);
ts_real ts_softplus(ts_real x);
ts_real ts_rsqrt(ts_real x);
ts_real ts_round_bf16(ts_real x);
ts_real ts_round_f16(ts_real x);

/* Order dot32: the plain dot product of the house profile. */
ts_real ts_dot32(const ts_real *a, const ts_real *b, int64_t n);
/* The sum of squares of ggml's norms. */
double ts_squares_ggml(const ts_real *x, int64_t n);

/* Scale and bias of a group of an MLX matrix, widened. */
ts_real ts_mlx_scale(const ts_matrix *w, int64_t n, int64_t group);
ts_real ts_mlx_bias(const ts_matrix *w, int64_t n, int64_t group);

void ts_scale(const ts_scale_args *a);
void ts_residual_add(const ts_zip_args *a);
void ts_swiglu(const ts_zip_args *a);
void ts_swiglu_bf16(const ts_zip_args *a);
void ts_swiglu_lse(const ts_zip_args *a);
void ts_sigmoid_gate(const ts_zip_args *a);
void ts_sigmoid_gate_bf16(const ts_zip_args *a);
void ts_embed(const ts_embed_args *a);
void ts_rmsnorm(const ts_rmsnorm_args *a);
void ts_rmsnorm_ggml(const ts_rmsnorm_args *a);
void ts_rmsnorm_lse(const ts_rmsnorm_args *a);
void ts_l2norm(const ts_l2norm_args *a);
void ts_l2norm_mean(const ts_l2norm_args *a);
void ts_l2norm_ggml(const ts_l2norm_args *a);
void ts_l2norm_lse(const ts_l2norm_args *a);
void ts_l2norm_lse_rows(const ts_l2norm_args *a);
void ts_gated_norm(const ts_gated_norm_args *a);
void ts_gated_norm_bf16(const ts_gated_norm_args *a);
void ts_gated_norm_ggml(const ts_gated_norm_args *a);
void ts_gated_norm_lse(const ts_gated_norm_args *a);
void ts_gated_norm_sigmoid(const ts_gated_norm_args *a);
void ts_conv1d(const ts_conv1d_args *a);
void ts_conv1d_bf16(const ts_conv1d_args *a);
void ts_gdn_gates(const ts_gdn_gates_args *a);
void ts_gdn_gates_bf16(const ts_gdn_gates_args *a);
void ts_gdn_gates_ggml(const ts_gdn_gates_args *a);
void ts_gdn_gates_lse(const ts_gdn_gates_args *a);
void ts_gdn_step(const ts_gdn_args *a);
void ts_gdn_step_ggml(const ts_gdn_args *a);
void ts_gdn_step_lse(const ts_gdn_args *a);
void ts_gdn_scan_lse(const ts_gdn_args *a);
void ts_gdn_chunk(const ts_gdn_args *a);
void ts_gdn_chunk64(const ts_gdn_args *a);
void ts_gdn_lazy_rows(const ts_gdn_lazy_rows_args *a);
void ts_gdn_lazy_commit(const ts_gdn_lazy_commit_args *a);
void ts_kda_gates(const ts_kda_gates_args *a);
void ts_kda_gates_bounded(const ts_kda_gates_args *a);
void ts_kda_step(const ts_gdn_args *a);
void ts_kda_chunk(const ts_gdn_args *a);
void ts_kda_chunk_exp2(const ts_gdn_args *a);
void ts_rope(const ts_rope_args *a);
void ts_rope_bf16(const ts_rope_args *a);
void ts_kv_store(const ts_kv_store_args *a);
void ts_attention(const ts_attention_args *a);
void ts_attention_bf16(const ts_attention_args *a);
void ts_attention_lse(const ts_attention_args *a);
void ts_attention_flash_ggml(const ts_attention_args *a);
void ts_attention_tiled_ggml(const ts_attention_args *a);
void ts_attention_softmax_ggml(const ts_attention_args *a);
void ts_attention_wmma(const ts_attention_args *a);
void ts_attention_partial(const ts_attention_args *a);
void ts_attention_merge(const ts_attention_merge_args *a);
void ts_mla_attention(const ts_mla_args *a);
void ts_mla_absorbed(const ts_mla_args *a);
void ts_moe_router_softmax(const ts_moe_router_args *a);
void ts_moe_router_sigmoid(const ts_moe_router_args *a);
void ts_moe_accumulate(const ts_moe_accumulate_args *a);
void ts_row_gate(const ts_row_gate_args *a);
void ts_grouped_conv(const ts_grouped_conv_args *a);
void ts_selector_scores(const ts_selector_scores_args *a);
void ts_top_slots(const ts_top_slots_args *a);
void ts_matmul_dot32(const ts_matmul_args *a);
void ts_matmul_mlx(const ts_matmul_args *a);
void ts_matmul_mlx_bf16(const ts_matmul_args *a);
void ts_matmul_ggml(const ts_matmul_ggml_args *a);
void ts_matmul_ggml_x86(const ts_matmul_ggml_args *a);
void ts_quantize_q8_0(const ts_quantize_blocks_args *a);
void ts_quantize_q8_0_x86(const ts_quantize_blocks_args *a);
void ts_quantize_q8_1(const ts_quantize_blocks_args *a);
void ts_quantize_q8_1_x86(const ts_quantize_blocks_args *a);
void ts_quantize_q8_k(const ts_quantize_blocks_args *a);
void ts_quantize_w8a8(const ts_quantize_w8a8_args *a);
void ts_quantize_w8a8_f16div(const ts_quantize_w8a8_args *a);
void ts_matmul_w8a8(const ts_matmul_w8a8_args *a);
void ts_matmul_w8a8_bias(const ts_matmul_w8a8_args *a);
void ts_matmul_w8a8_unfused(const ts_matmul_w8a8_args *a);
void ts_matmul_w8a8_unfused_chain(const ts_matmul_w8a8_args *a);
void ts_quantize_a64(const ts_quantize_a64_args *a);
void ts_matmul_a64s8(const ts_matmul_a64s8_args *a);
void ts_matmul_lse_a64(const ts_matmul_a64s8_args *a);
void ts_matmul_lse_a64_fma(const ts_matmul_a64s8_args *a);
void ts_quantize_lse_a8(const ts_quantize_lse_a8_args *a);
void ts_matmul_lse_a8(const ts_matmul_lse_a8_args *a);
void ts_gate_up_lse_a8(const ts_gate_up_lse_a8_args *a);
void ts_matmul_lse_ex(const ts_matmul_args *a);
void ts_matmul_lse_f16(const ts_matmul_lse_f16_args *a);

/* Fused operations: the ones above in a row, under one name so that fused schedules can be checked whole. */
void ts_rmsnorm_a64(const ts_rmsnorm_a64_args *a);
void ts_gate_up_a64s8(const ts_gate_up_a64s8_args *a);
void ts_qkv_conv_a64s8(const ts_qkv_conv_a64s8_args *a);

/* Calls the operation `id` with its args struct. */
void ts_op_run(ts_op_id id, const void *args);

/* Rows of ggml's blocks (block.h): n values, a multiple of the block's. x and y are of ts_real; dot multiplies a
 * row of weights with one of the activation blocks that go with them. */
void ts_block_decode(ts_weight_format format, const uint8_t *row, int64_t n, void *x);
void ts_block_encode(ts_weight_format format, ts_block_rule rule, const float *x, int64_t n, uint8_t *row);
void ts_block_dot(ts_weight_format format, const uint8_t *w, const uint8_t *a, int64_t n, void *y);

/* MLX encoders mlx-cpu, mlx-metal and lse (always f32, whatever ts_real is): one row w[K] -> codes[K] and per
 * group the scale and bias, unrounded but for lse's. K % group == 0, every w finite. */
void ts_mlx_encode(const float *w, int64_t K, int bits, int group, uint8_t *code, float *scale, float *bias);
void ts_mlx_encode_metal(const float *w, int64_t K, int bits, int group, uint8_t *code, float *scale, float *bias);
void ts_lse_encode(const float *w, int64_t K, int bits, int group, uint8_t *code, float *scale, float *bias);

#endif
