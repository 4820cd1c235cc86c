/* touchstone.h: everything libtouchstone offers, for authors of other engines.
 * Installed, it is one file: `make install` puts the headers below in their places.
 *
 * What is here
 *   errors       ts_status, ts_error: what a function that can fail returns, and the one error it explains
 *   operations   ts_op_table, one args struct each: the definitions by name, with their orders
 *   reference    ts_ref32.op, ts_ref64.op run one operation; model_new, state_new, forward a whole model
 *   checkpoints  ts_weights_load (Hugging Face and MLX folders), ts_profile_find
 *   traces       ts_trace: tensors in execution order, written as safetensors
 *   schedules    ts_schedule, one way to compute an operation; a plugin is two symbols that point at some
 *   check        ts_verify: your schedules against ref32 on every recorded case, bit for bit
 *
 * Shapes and units. Arrays are dense, row-major, in host byte order (little-endian). T tokens, V vocabulary, C
 * hidden, H heads (Hq query, Hkv key and value, Hk and Hv of linear attention), D head dim (Dk, Dv), R rotary dims,
 * W taps, N outputs and K inputs of a matrix. Lengths, positions, `begin` and `end` count elements, tokens or
 * units, never bytes; `size` is bytes. Angles are radians, exp is natural. eps and scale are double, rounded once
 * to f32.
 *
 * Precision. ts_real is float. ref64's args hold double arrays in the same places: compile the file that fills them
 * with -DTS_PRECISION=64, or cast the pointers; numbers of other types do not change.
 *
 * Errors. TS_OK is 0. Others fill *err (which may be NULL) with file, tensor and reason; ts_error_text makes a line
 * of it. What the call should have given is then not to be used. Nothing aborts, prints or exits. ts_ref.op and a
 * schedule's run cannot fail: their arguments must be as the struct says. What X_new or X_load gives, X_free takes;
 * NULL is fine. Functions may be called from several threads at once, on different objects; ts_verify by one
 * at a time.
 *
 * Operations, with their args struct, and where the formulas come from (docs/contract.md has each to the bit):
 *
 *   exp exp2 sigmoid silu softplus rsqrt
 *                                      ts_map_args
 *       Cody and Waite's reduction and a minimax polynomial; silu: Elfwing et al., arXiv 1702.03118
 *   residual_add swiglu sigmoid_gate   ts_zip_args
 *       swiglu: Shazeer, arXiv 2002.05202
 *   embed                              ts_embed_args
 *   rmsnorm l2norm gated_norm          ts_rmsnorm_args, ts_l2norm_args, ts_gated_norm_args
 *       Zhang and Sennrich, arXiv 1910.07467; gated: Dao and Gu, arXiv 2405.21060
 *   conv1d                             ts_conv1d_args
 *       the causal depthwise convolution of Mamba: Gu and Dao, arXiv 2312.00752
 *   gdn_gates gdn_step gdn_chunk64     ts_gdn_gates_args, ts_gdn_args
 *       Gated DeltaNet: Yang, Kautz and Hatamizadeh, arXiv 2412.06464; by chunks: Yang et al., arXiv 2406.06484
 *   gdn_chunk                          ts_gdn_args
 *   gdn_lazy_rows gdn_lazy_commit      ts_gdn_lazy_rows_args, ts_gdn_lazy_commit_args
 *       chunks of any length; rows kept until it is known how many of them count
 *   kda_gates kda_gates_bounded        ts_kda_gates_args
 *   kda_step kda_chunk kda_chunk_exp2  ts_gdn_args
 *   gated_norm_sigmoid                 ts_gated_norm_args
 *       Kimi Delta Attention: Kimi Team, arXiv 2510.26692
 *   moe_router_softmax                 ts_moe_router_args
 *   moe_router_sigmoid                 ts_moe_router_args
 *       Shazeer et al., arXiv 1701.06538; sigmoid, groups and the bias: DeepSeek-V3, arXiv 2412.19437
 *   moe_accumulate row_gate            ts_moe_accumulate_args, ts_row_gate_args
 *   grouped_conv selector_scores       ts_grouped_conv_args, ts_selector_scores_args
 *   top_slots                          ts_top_slots_args
 *       the drafter DFlash2: z-lab's dflash, and arXiv 2602.06036 for its first form
 *   rope                               ts_rope_args
 *       Su et al., arXiv 2104.09864; halves rotated, not neighbours
 *   kv_store attention                 ts_kv_store_args, ts_attention_args
 *       pages: Kwon et al., arXiv 2309.06180; split softmax: Milakov and Gimelshein, arXiv 1805.02867
 *   attention_wmma                     ts_attention_args
 *       operands of 16 bits, sums of f32, as matrix units have them
 *   attention_partial                  ts_attention_args
 *   attention_merge                    ts_attention_merge_args
 *       attention in its two steps: Flash-Decoding, Dao et al. 2023
 *   mla_attention mla_absorbed         ts_mla_args
 *       latent attention, its keys made or its weights absorbed: DeepSeek-V2, arXiv 2405.04434
 *   matmul_dot32                       ts_matmul_args
 *   quantize_a64 matmul_a64s8          ts_quantize_a64_args, ts_matmul_a64s8_args
 *       integer products of activation codes and MLX weight codes
 *   quantize_q8_0 quantize_q8_1 quantize_q8_k quantize_q8_0_x86 quantize_q8_1_x86
 *                                      ts_quantize_blocks_args
 *       activations in blocks of 8-bit codes, as ggml's products take them: llama.cpp
 *   quantize_w8a8 quantize_w8a8_f16div ts_quantize_w8a8_args
 *   matmul_w8a8 matmul_w8a8_bias matmul_w8a8_unfused matmul_w8a8_unfused_chain
 *                                      ts_matmul_w8a8_args
 *       8-bit weights and activations with f16 results, as Apple's neural engine has them
 *   rmsnorm_a64 gate_up_a64s8          ts_rmsnorm_a64_args, ts_gate_up_a64s8_args
 *   qkv_conv_a64s8                     ts_qkv_conv_a64s8_args
 *       the above in a row, as fused kernels compute them */
#ifndef TOUCHSTONE_H
#define TOUCHSTONE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "case/op.h"
#include "config/profile.h"
#include "config/weights.h"
#include "num/convert.h"
#include "num/status.h"
#include "plugin_abi.h"
#include "ref.h"
#include "schedule.h"
#include "trace/trace.h"
#include "verify.h"

#ifdef __cplusplus
}
#endif

#endif
