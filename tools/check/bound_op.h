/* The bounds by family of operations, behind ts_bound. Each fills the one output
 * field it is named after, or takes `field` where an operation has several. */
#ifndef TS_TOOLS_CHECK_BOUND_OP_H
#define TS_TOOLS_CHECK_BOUND_OP_H

#include "case/args.h"
#include "case/op.h"
#include "check/err.h"
#include "num/status.h"

void ts_bound_map(ts_err (*f)(ts_err), const ts_map_args *a, double *bound);
void ts_bound_zip(ts_err (*f)(ts_err, ts_err), const ts_zip_args *a, double *bound);
ts_err ts_err_swiglu(ts_err gate, ts_err up);
ts_err ts_err_sigmoid_gate(ts_err x, ts_err gate);
void ts_bound_gdn_gates(const ts_gdn_gates_args *a, const char *field, double *bound);
void ts_bound_rope(const ts_rope_args *a, double *bound);
void ts_bound_conv1d(const ts_conv1d_args *a, const float *state, ts_err (*narrow)(ts_err), double *bound);

ts_err ts_err_root_mean(const float *x, int64_t n, double eps);    /* rsqrt(mean of squares + eps) */
ts_err ts_err_normed(ts_err r, float x, float w, int64_t centred); /* one element, r from above */
void ts_bound_rmsnorm(const ts_rmsnorm_args *a, double *bound);
void ts_bound_l2norm(const ts_l2norm_args *a, double *bound);
void ts_bound_gated_norm(const ts_gated_norm_args *a, ts_err (*gate)(ts_err), double *bound);

ts_err ts_err_weight(const ts_matrix *w, int64_t n, int64_t k); /* exact, or one fma of MLX */
void ts_bound_embed(const ts_embed_args *a, double *bound);
void ts_bound_matmul_dot32(const ts_matmul_args *a, double *bound);
void ts_bound_quantize_a64(const ts_quantize_a64_args *a, const char *field, double *bound);
void ts_bound_rmsnorm_a64(const ts_rmsnorm_a64_args *a, const char *field, double *bound);
void ts_bound_matmul_a64s8(const ts_matmul_a64s8_args *a, double *bound);
void ts_bound_gate_up_a64s8(const ts_gate_up_a64s8_args *a, const char *field, double *bound);
void ts_bound_qkv_conv_a64s8(const ts_qkv_conv_a64s8_args *a, const float *state, const char *field, double *bound);

/* state: contents before the call. o and state of one step; of rows of one chunk. */
ts_status ts_bound_gdn_step(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                            ts_error *err);
ts_status ts_bound_kda_step(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                            ts_error *err);
typedef enum { TS_CHUNK_GDN64, TS_CHUNK_GDN, TS_CHUNK_KDA, TS_CHUNK_KDA_EXP2 } ts_chunk_form;
ts_status ts_bound_chunk(const ts_gdn_args *a, ts_chunk_form form, const float *state, const char *field,
                         double *bound, ts_error *err);
ts_status ts_bound_gdn_lazy_rows(const ts_gdn_lazy_rows_args *a, const char *field, double *bound, ts_error *err);
void ts_bound_gdn_lazy_commit(const ts_gdn_lazy_commit_args *a, const float *state, double *bound);
void ts_bound_kda_gates(const ts_kda_gates_args *a, bool bounded, const char *field, double *bound);

ts_status ts_bound_moe_router_softmax(const ts_moe_router_args *a, double *bound, ts_error *err);
ts_status ts_bound_moe_router_sigmoid(const ts_moe_router_args *a, const char *field, double *bound, ts_error *err);
void ts_bound_moe_accumulate(const ts_moe_accumulate_args *a, double *bound);
void ts_bound_row_gate(const ts_row_gate_args *a, double *bound);
void ts_bound_grouped_conv(const ts_grouped_conv_args *a, double *bound);
void ts_bound_selector_scores(const ts_selector_scores_args *a, double *bound);

ts_status ts_bound_attention(const ts_attention_args *a, const char *field, double *bound, ts_error *err);
ts_status ts_bound_attention_merge(const ts_attention_merge_args *a, const char *field, double *bound,
                                   ts_error *err);
ts_status ts_bound_mla_attention(const ts_mla_args *a, const char *field, double *bound, ts_error *err);
ts_status ts_bound_mla_absorbed(const ts_mla_args *a, const char *field, double *bound, ts_error *err);

void ts_bound_quantize_w8a8(const ts_quantize_w8a8_args *a, double *bound);
void ts_bound_matmul_w8a8(const ts_matmul_w8a8_args *a, bool bias, const char *field, double *bound);
void ts_bound_matmul_w8a8_unfused(const ts_matmul_w8a8_args *a, double *bound);
void ts_bound_matmul_w8a8_unfused_chain(const ts_matmul_w8a8_args *a, double *bound);

/* The rest of a layer in LSE. */
ts_err ts_err_fold(ts_err lane[32]);
void ts_bound_rmsnorm_lse(const ts_rmsnorm_args *a, double *bound);
void ts_bound_gated_norm_lse(const ts_gated_norm_args *a, double *bound);
void ts_bound_l2norm_lse(const ts_l2norm_args *a, bool one_row, double *bound);
void ts_bound_gdn_gates_lse(const ts_gdn_gates_args *a, const char *field, double *bound);
ts_status ts_bound_gdn_step_lse(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                                ts_error *err);
ts_status ts_bound_gdn_scan_lse(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                                ts_error *err);
ts_status ts_bound_attention_lse(const ts_attention_args *a, double *bound, ts_error *err);

/* Forms that other engines compute. */
ts_status ts_bound_form(ts_op_id op, const void *a, const float *state, const char *field, double *bound,
                        ts_error *err);
ts_err ts_err_mlx_scale(const ts_matrix *w, int64_t n, int64_t group);
ts_err ts_err_mlx_bias(const ts_matrix *w, int64_t n, int64_t group);
void ts_bound_scale(const ts_scale_args *a, double *bound);
ts_err ts_err_swiglu_bf16(ts_err gate, ts_err up);
ts_err ts_err_sigmoid_gate_bf16(ts_err x, ts_err gate);
void ts_bound_rope_bf16(const ts_rope_args *a, double *bound);
void ts_bound_gates_bf16(const ts_gdn_gates_args *a, const char *field, double *bound);
void ts_bound_gates_ggml(const ts_gdn_gates_args *a, const char *field, double *bound);
void ts_bound_gated_norm_bf16(const ts_gated_norm_args *a, double *bound);
void ts_bound_gated_norm_ggml(const ts_gated_norm_args *a, double *bound);
void ts_bound_rmsnorm_ggml(const ts_rmsnorm_args *a, double *bound);
void ts_bound_l2norm_mean(const ts_l2norm_args *a, double *bound);
void ts_bound_l2norm_ggml(const ts_l2norm_args *a, double *bound);
ts_status ts_bound_gdn_step_ggml(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                                 ts_error *err);
ts_status ts_bound_attention_wmma(const ts_attention_args *a, double *bound, ts_error *err);
void ts_bound_attention_bf16(const ts_attention_args *a, double *bound);
void ts_bound_attention_softmax_ggml(const ts_attention_args *a, double *bound);
ts_status ts_bound_attention_flash_ggml(const ts_attention_args *a, double *bound, ts_error *err);
ts_status ts_bound_attention_tiled_ggml(const ts_attention_args *a, double *bound, ts_error *err);
void ts_bound_matmul_mlx(const ts_matmul_args *a, double *bound);
ts_err ts_err_block_weight(const ts_matrix *w, int64_t n, int64_t k);
void ts_bound_matmul_mlx_bf16(const ts_matmul_args *a, double *bound);
void ts_bound_matmul_ggml(const ts_matmul_ggml_args *a, const char *field, double *bound);
/* The R9700 engine LSE's. */
void ts_bound_codec_run(const ts_err *x, int n, const char *field, double *bound); /* code[n] or *step of a run */
/* sum over i = k .. k+count-1 of the weight codes of row n and code[i], exact */
double ts_err_codes(const ts_matrix *w, int64_t n, const int8_t *code, int64_t k, int64_t count);
ts_err ts_err_a64_slice(const ts_matmul_a64s8_args *a, int64_t t, int64_t n, int64_t first, int64_t end);
void ts_bound_matmul_lse_a64(const ts_matmul_a64s8_args *a, double *bound);
void ts_bound_matmul_lse_a64_fma(const ts_matmul_a64s8_args *a, double *bound);
void ts_bound_quantize_lse_a8(const ts_quantize_lse_a8_args *a, const char *field, double *bound);
void ts_bound_matmul_lse_a8(const ts_matmul_lse_a8_args *a, double *bound);
void ts_bound_gate_up_lse_a8(const ts_gate_up_lse_a8_args *a, const char *field, double *bound);
void ts_bound_matmul_lse_ex(const ts_matmul_args *a, double *bound);
void ts_bound_matmul_lse_f16(const ts_matmul_lse_f16_args *a, double *bound);
/* What any order of the sums of a product of n values may err by. */
/* The largest minimum that a block subtracts from its values, 0 in formats that have none. */
double ts_bound_block_minimum(ts_weight_format format, const uint8_t *block);
double ts_bound_block_dot(ts_weight_format format, const uint8_t *w, const uint8_t *a, int64_t n);

#endif
