#include "case/op.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define DIM(T, f) {#f, offsetof(T, f)}
#define FIELD(T, f, role, kind, ...) {#f, role, kind, offsetof(T, f), {__VA_ARGS__}}
#define REAL(T, f, role, ...) FIELD(T, f, role, TS_FIELD_REAL, __VA_ARGS__)

#define MAP_OP(op, file, how, only) \
    [op] = {file, how, 1, sizeof(ts_map_args), {DIM(ts_map_args, n)}, {{0}}, \
            {REAL(ts_map_args, x, TS_IN, "n"), REAL(ts_map_args, y, TS_OUT, "n")}, "n", "", only}
#define ZIP_OP(op, file, only) \
    [op] = {file, "elementwise", 1, sizeof(ts_zip_args), {DIM(ts_zip_args, n)}, {{0}}, \
            {REAL(ts_zip_args, a, TS_IN, "n"), REAL(ts_zip_args, b, TS_IN, "n"), REAL(ts_zip_args, y, TS_OUT, "n")}, "n", "", only}
#define GDN_OP(op, file, how, only, ...) \
    [op] = {file, how, 1, sizeof(ts_gdn_args), \
            {DIM(ts_gdn_args, T), DIM(ts_gdn_args, Hk), DIM(ts_gdn_args, Hv), DIM(ts_gdn_args, Dk), \
             DIM(ts_gdn_args, Dv), DIM(ts_gdn_args, pos)}, {{0}}, \
            {REAL(ts_gdn_args, q, TS_IN, "T", "Hk", "Dk"), REAL(ts_gdn_args, k, TS_IN, "T", "Hk", "Dk"), \
             REAL(ts_gdn_args, v, TS_IN, "T", "Hv", "Dv"), REAL(ts_gdn_args, g, TS_IN, "T", __VA_ARGS__), \
             REAL(ts_gdn_args, beta, TS_IN, "T", "Hv"), REAL(ts_gdn_args, state, TS_INOUT, "Hv", "Dk", "Dv"), \
             REAL(ts_gdn_args, o, TS_OUT, "T", "Hv", "Dv")}, "Hv", "+pos Hv%Hk", only}
#define CHUNK_OP(op, file, how, ...) \
    [op] = {file, how, 1, sizeof(ts_gdn_args), \
            {DIM(ts_gdn_args, T), DIM(ts_gdn_args, Hk), DIM(ts_gdn_args, Hv), DIM(ts_gdn_args, Dk), \
             DIM(ts_gdn_args, Dv), DIM(ts_gdn_args, pos), DIM(ts_gdn_args, chunk)}, {{0}}, \
            {REAL(ts_gdn_args, q, TS_IN, "T", "Hk", "Dk"), REAL(ts_gdn_args, k, TS_IN, "T", "Hk", "Dk"), \
             REAL(ts_gdn_args, v, TS_IN, "T", "Hv", "Dv"), REAL(ts_gdn_args, g, TS_IN, "T", __VA_ARGS__), \
             REAL(ts_gdn_args, beta, TS_IN, "T", "Hv"), REAL(ts_gdn_args, state, TS_INOUT, "Hv", "Dk", "Dv"), \
             REAL(ts_gdn_args, o, TS_OUT, "T", "Hv", "Dv")}, "Hv", "+pos Hv%Hk chunk<=256", true}
#define RMSNORM_OP(op, file, how, only) \
    [op] = {file, how, 1, sizeof(ts_rmsnorm_args), \
        {DIM(ts_rmsnorm_args, T), DIM(ts_rmsnorm_args, n), DIM(ts_rmsnorm_args, centred)}, {DIM(ts_rmsnorm_args, eps)}, \
        {REAL(ts_rmsnorm_args, x, TS_IN, "T", "n"), REAL(ts_rmsnorm_args, w, TS_IN, "n"), REAL(ts_rmsnorm_args, y, TS_OUT, "T", "n")}, "T", "+centred centred<=1", only}
#define L2NORM_OP(op, file, how, only) \
    [op] = {file, how, 1, sizeof(ts_l2norm_args), \
        {DIM(ts_l2norm_args, T), DIM(ts_l2norm_args, H), DIM(ts_l2norm_args, D)}, {DIM(ts_l2norm_args, eps), DIM(ts_l2norm_args, scale)}, \
        {REAL(ts_l2norm_args, x, TS_IN, "T", "H", "D"), REAL(ts_l2norm_args, y, TS_OUT, "T", "H", "D")}, "T*H", "", only}
#define GATED_NORM_OP(op, file, how, only) \
    [op] = {file, how, 1, sizeof(ts_gated_norm_args), \
        {DIM(ts_gated_norm_args, T), DIM(ts_gated_norm_args, H), DIM(ts_gated_norm_args, D)}, {DIM(ts_gated_norm_args, eps)}, \
        {REAL(ts_gated_norm_args, x, TS_IN, "T", "H", "D"), REAL(ts_gated_norm_args, w, TS_IN, "D"), \
         REAL(ts_gated_norm_args, z, TS_IN, "T", "H", "D"), REAL(ts_gated_norm_args, y, TS_OUT, "T", "H", "D")}, "T*H", "", only}
#define CONV1D_OP(op, file, how, only) \
    [op] = {file, how, 1, sizeof(ts_conv1d_args), \
        {DIM(ts_conv1d_args, T), DIM(ts_conv1d_args, C), DIM(ts_conv1d_args, W)}, {{0}}, \
        {REAL(ts_conv1d_args, x, TS_IN, "T", "C"), REAL(ts_conv1d_args, w, TS_IN, "C", "W"), \
         REAL(ts_conv1d_args, state, TS_INOUT, "C", "W"), REAL(ts_conv1d_args, y, TS_OUT, "T", "C")}, "C", "", only}
#define GATES_OP(op, file, how, only) \
    [op] = {file, how, 1, sizeof(ts_gdn_gates_args), \
        {DIM(ts_gdn_gates_args, T), DIM(ts_gdn_gates_args, H)}, {{0}}, \
        {REAL(ts_gdn_gates_args, a, TS_IN, "T", "H"), REAL(ts_gdn_gates_args, b, TS_IN, "T", "H"), \
         REAL(ts_gdn_gates_args, A_log, TS_IN, "H"), REAL(ts_gdn_gates_args, dt_bias, TS_IN, "H"), \
         REAL(ts_gdn_gates_args, g, TS_OUT, "T", "H"), REAL(ts_gdn_gates_args, beta, TS_OUT, "T", "H")}, "T*H", "", only}
#define KDA_GATES_OP(op, file, ...) \
    [op] = {file, "elementwise", 1, sizeof(ts_kda_gates_args), \
        {DIM(ts_kda_gates_args, T), DIM(ts_kda_gates_args, H), DIM(ts_kda_gates_args, D)}, {__VA_ARGS__}, \
        {REAL(ts_kda_gates_args, f, TS_IN, "T", "H", "D"), REAL(ts_kda_gates_args, b, TS_IN, "T", "H"), \
         REAL(ts_kda_gates_args, A_log, TS_IN, "H"), REAL(ts_kda_gates_args, dt_bias, TS_IN, "H", "D"), \
         REAL(ts_kda_gates_args, g, TS_OUT, "T", "H", "D"), REAL(ts_kda_gates_args, beta, TS_OUT, "T", "H")}, "T*H", "", true}
#define ROPE_OP(op, file, how, only) \
    [op] = {file, how, 1, sizeof(ts_rope_args), \
        {DIM(ts_rope_args, T), DIM(ts_rope_args, H), DIM(ts_rope_args, D), DIM(ts_rope_args, R)}, {{0}}, \
        {REAL(ts_rope_args, x, TS_IN, "T", "H", "D"), REAL(ts_rope_args, cos, TS_IN, "T", "R/2"), \
         REAL(ts_rope_args, sin, TS_IN, "T", "R/2"), REAL(ts_rope_args, y, TS_OUT, "T", "H", "D")}, "T*H", "R<=D R%2", only}
#define MATMUL_OP(op, file, how, only) \
    [op] = {file, how, 1, sizeof(ts_matmul_args), \
        {DIM(ts_matmul_args, T), DIM(ts_matmul_args, N), DIM(ts_matmul_args, K)}, {{0}}, \
        {REAL(ts_matmul_args, x, TS_IN, "T", "K"), FIELD(ts_matmul_args, w, TS_IN, TS_FIELD_MATRIX, "N", "K"), \
         REAL(ts_matmul_args, y, TS_OUT, "T", "N")}, "N", "", only}

#define MATMUL_GGML_OP(op, file) \
    [op] = {file, "blocks", 1, sizeof(ts_matmul_ggml_args), \
        {DIM(ts_matmul_ggml_args, T), DIM(ts_matmul_ggml_args, N), DIM(ts_matmul_ggml_args, K), DIM(ts_matmul_ggml_args, B)}, {{0}}, \
        {REAL(ts_matmul_ggml_args, x, TS_IN, "T", "K"), FIELD(ts_matmul_ggml_args, w, TS_IN, TS_FIELD_MATRIX, "N", "K"), \
         FIELD(ts_matmul_ggml_args, block, TS_OUT, TS_FIELD_I8, "T", "B"), REAL(ts_matmul_ggml_args, y, TS_OUT, "T", "N")}, "N", "K%32", true}

#define QUANTIZE_BLOCKS_OP(op, file, bytes, whole) \
    [op] = {file, "blocks", 1, sizeof(ts_quantize_blocks_args), \
        {DIM(ts_quantize_blocks_args, T), DIM(ts_quantize_blocks_args, K)}, {{0}}, \
        {REAL(ts_quantize_blocks_args, x, TS_IN, "T", "K"), FIELD(ts_quantize_blocks_args, block, TS_OUT, TS_FIELD_I8, "T", bytes)}, "T", whole, true}
#define QUANTIZE_W8A8_OP(op, file) \
    [op] = {file, "elementwise", 1, sizeof(ts_quantize_w8a8_args), \
        {DIM(ts_quantize_w8a8_args, T), DIM(ts_quantize_w8a8_args, K)}, {DIM(ts_quantize_w8a8_args, sx)}, \
        {REAL(ts_quantize_w8a8_args, x, TS_IN, "T", "K"), FIELD(ts_quantize_w8a8_args, code, TS_OUT, TS_FIELD_I8, "T", "K")}, "T", "", true}
#define MATMUL_W8A8_OP(op, file, how, ...) \
    [op] = {file, how, 1, sizeof(ts_matmul_w8a8_args), \
        {DIM(ts_matmul_w8a8_args, T), DIM(ts_matmul_w8a8_args, N), DIM(ts_matmul_w8a8_args, K), DIM(ts_matmul_w8a8_args, S)}, \
        {DIM(ts_matmul_w8a8_args, sx)}, \
        {FIELD(ts_matmul_w8a8_args, code, TS_IN, TS_FIELD_I8, "T", "K"), FIELD(ts_matmul_w8a8_args, w, TS_IN, TS_FIELD_I8, "N", "K"), \
         REAL(ts_matmul_w8a8_args, sw, TS_IN, "S"), REAL(ts_matmul_w8a8_args, y, TS_OUT, "T", "N"), __VA_ARGS__}, "N", "N%S K<=131071", true}
#define MATMUL_A64_OP(op, file, how, only) \
    [op] = {file, how, 1, sizeof(ts_matmul_a64s8_args), \
        {DIM(ts_matmul_a64s8_args, T), DIM(ts_matmul_a64s8_args, N), DIM(ts_matmul_a64s8_args, K)}, {{0}}, \
        {FIELD(ts_matmul_a64s8_args, code, TS_IN, TS_FIELD_I8, "T", "K"), REAL(ts_matmul_a64s8_args, step, TS_IN, "T", "K/64"), \
         REAL(ts_matmul_a64s8_args, sum, TS_IN, "T", "K/64"), FIELD(ts_matmul_a64s8_args, w, TS_IN, TS_FIELD_MATRIX, "N", "K"), \
         REAL(ts_matmul_a64s8_args, y, TS_OUT, "T", "N")}, "N", "K%64", only}

#define RECORDS(role) \
    REAL(ts_attention_args, m, role, "T", "Hq", "parts"), REAL(ts_attention_args, l, role, "T", "Hq", "parts"), \
    REAL(ts_attention_args, acc, role, "T", "Hq", "parts", "D")
#define ATTENTION_OP(op, file, how, ref_only, ...) \
    [op] = {file, how, 1, sizeof(ts_attention_args), \
            {DIM(ts_attention_args, T), DIM(ts_attention_args, Hq), DIM(ts_attention_args, Hkv), DIM(ts_attention_args, D), \
             DIM(ts_attention_args, parts), DIM(ts_attention_args, window), DIM(ts_attention_args, both)}, {DIM(ts_attention_args, scale)}, \
            {REAL(ts_attention_args, q, TS_IN, "T", "Hq", "D"), FIELD(ts_attention_args, pos, TS_IN, TS_FIELD_I32, "T"), \
             FIELD(ts_attention_args, len, TS_IN, TS_FIELD_I32, "T"), FIELD(ts_attention_args, kv, TS_IN, TS_FIELD_KV, "Hkv", "D"), \
             __VA_ARGS__}, "T*Hq", "+window ?both both<=1 Hq%Hkv", ref_only}
#define MLA_OP(op, file, how, width, ...) \
    [op] = {file, how, 1, sizeof(ts_mla_args), \
            {DIM(ts_mla_args, T), DIM(ts_mla_args, H), DIM(ts_mla_args, Dn), DIM(ts_mla_args, Dr), DIM(ts_mla_args, Dv), \
             DIM(ts_mla_args, R), DIM(ts_mla_args, parts)}, {DIM(ts_mla_args, scale)}, \
            {REAL(ts_mla_args, q, TS_IN, "T", "H", "Dn+Dr"), FIELD(ts_mla_args, pos, TS_IN, TS_FIELD_I32, "T"), \
             FIELD(ts_mla_args, len, TS_IN, TS_FIELD_I32, "T"), FIELD(ts_mla_args, kv, TS_IN, TS_FIELD_KV, "1", "R+Dr"), \
             FIELD(ts_mla_args, w, TS_IN, TS_FIELD_MATRIX, "Dn+Dv*H", "R"), REAL(ts_mla_args, o, TS_OUT, "T", "H", "Dv"), \
             REAL(ts_mla_args, m, TS_INNER, "T", "H", "parts"), REAL(ts_mla_args, l, TS_INNER, "T", "H", "parts"), \
             REAL(ts_mla_args, acc, TS_INNER, "T", "H", "parts", width), __VA_ARGS__}, "T*H", "+Dr", true}

const ts_op ts_op_table[TS_OP_COUNT] = {
    MAP_OP(TS_OP_EXP, "exp", "elementwise", false),
    MAP_OP(TS_OP_EXP2, "exp2", "elementwise", true),
    MAP_OP(TS_OP_SIGMOID, "sigmoid", "elementwise", false),
    MAP_OP(TS_OP_SILU, "silu", "elementwise", false),
    MAP_OP(TS_OP_SOFTPLUS, "softplus", "elementwise", false),
    MAP_OP(TS_OP_RSQRT, "rsqrt", "elementwise", false),
    MAP_OP(TS_OP_ROUND_BF16, "round_bf16", "elementwise", true),
    MAP_OP(TS_OP_ROUND_F16, "round_f16", "elementwise", true),
    [TS_OP_SCALE] = {"scale", "elementwise", 1, sizeof(ts_scale_args), {DIM(ts_scale_args, n)}, {DIM(ts_scale_args, scale)},
        {REAL(ts_scale_args, x, TS_IN, "n"), REAL(ts_scale_args, y, TS_OUT, "n")}, "n", "", true},
    ZIP_OP(TS_OP_RESIDUAL_ADD, "residual_add", false),
    ZIP_OP(TS_OP_SWIGLU, "swiglu", false),
    ZIP_OP(TS_OP_SWIGLU_BF16, "swiglu_bf16", true),
    ZIP_OP(TS_OP_SWIGLU_LSE, "swiglu_lse", true),
    ZIP_OP(TS_OP_SIGMOID_GATE, "sigmoid_gate", false),
    ZIP_OP(TS_OP_SIGMOID_GATE_BF16, "sigmoid_gate_bf16", true),
    [TS_OP_EMBED] = {"embed", "elementwise", 1, sizeof(ts_embed_args),
        {DIM(ts_embed_args, T), DIM(ts_embed_args, V), DIM(ts_embed_args, C)}, {{0}},
        {FIELD(ts_embed_args, id, TS_IN, TS_FIELD_I32, "T"), FIELD(ts_embed_args, w, TS_IN, TS_FIELD_MATRIX, "V", "C"),
         REAL(ts_embed_args, y, TS_OUT, "T", "C")}, "T", "", false},
    RMSNORM_OP(TS_OP_RMSNORM, "rmsnorm", "dot32", false),
    RMSNORM_OP(TS_OP_RMSNORM_GGML, "rmsnorm_ggml", "double", true),
    RMSNORM_OP(TS_OP_RMSNORM_LSE, "rmsnorm_lse", "fold256", true),
    L2NORM_OP(TS_OP_L2NORM, "l2norm", "dot32", false),
    L2NORM_OP(TS_OP_L2NORM_MEAN, "l2norm_mean", "dot32", true),
    L2NORM_OP(TS_OP_L2NORM_GGML, "l2norm_ggml", "double", true),
    L2NORM_OP(TS_OP_L2NORM_LSE, "l2norm_lse", "wave32", true),
    L2NORM_OP(TS_OP_L2NORM_LSE_ROWS, "l2norm_lse_rows", "chain", true),
    GATED_NORM_OP(TS_OP_GATED_NORM, "gated_norm", "dot32", false),
    GATED_NORM_OP(TS_OP_GATED_NORM_BF16, "gated_norm_bf16", "dot32", true),
    GATED_NORM_OP(TS_OP_GATED_NORM_GGML, "gated_norm_ggml", "double", true),
    GATED_NORM_OP(TS_OP_GATED_NORM_LSE, "gated_norm_lse", "fold256", true),
    GATED_NORM_OP(TS_OP_GATED_NORM_SIGMOID, "gated_norm_sigmoid", "dot32", true),
    CONV1D_OP(TS_OP_CONV1D, "conv1d", "taps", false),
    CONV1D_OP(TS_OP_CONV1D_BF16, "conv1d_bf16", "taps", true),
    GATES_OP(TS_OP_GDN_GATES, "gdn_gates", "elementwise", false),
    GATES_OP(TS_OP_GDN_GATES_BF16, "gdn_gates_bf16", "elementwise", true),
    GATES_OP(TS_OP_GDN_GATES_GGML, "gdn_gates_ggml", "elementwise", true),
    GATES_OP(TS_OP_GDN_GATES_LSE, "gdn_gates_lse", "elementwise", true),
    GDN_OP(TS_OP_GDN_STEP, "gdn_step", "gdn-step", false, "Hv"),
    GDN_OP(TS_OP_GDN_STEP_GGML, "gdn_step_ggml", "gdn-step-dot32", true, "Hv"),
    GDN_OP(TS_OP_GDN_STEP_LSE, "gdn_step_lse", "gdn-step-wave32", true, "Hv"),
    GDN_OP(TS_OP_GDN_SCAN_LSE, "gdn_scan_lse", "gdn-step-rows2", true, "Hv"),
    CHUNK_OP(TS_OP_GDN_CHUNK, "gdn_chunk", "gdn-chunk", "Hv"),
    GDN_OP(TS_OP_GDN_CHUNK64, "gdn_chunk64", "gdn-chunk64", false, "Hv"),
    [TS_OP_GDN_LAZY_ROWS] = {"gdn_lazy_rows", "gdn-chunk", 1, sizeof(ts_gdn_lazy_rows_args),
        {DIM(ts_gdn_lazy_rows_args, T), DIM(ts_gdn_lazy_rows_args, Hk), DIM(ts_gdn_lazy_rows_args, Hv),
         DIM(ts_gdn_lazy_rows_args, Dk), DIM(ts_gdn_lazy_rows_args, Dv)}, {{0}},
        {REAL(ts_gdn_lazy_rows_args, k, TS_IN, "T", "Hk", "Dk"), REAL(ts_gdn_lazy_rows_args, v, TS_IN, "T", "Hv", "Dv"),
         REAL(ts_gdn_lazy_rows_args, g, TS_IN, "T", "Hv"), REAL(ts_gdn_lazy_rows_args, beta, TS_IN, "T", "Hv"),
         REAL(ts_gdn_lazy_rows_args, u, TS_OUT, "T", "Hv", "Dv"), REAL(ts_gdn_lazy_rows_args, w, TS_OUT, "T", "Hv", "Dk"),
         REAL(ts_gdn_lazy_rows_args, G, TS_OUT, "T", "Hv")}, "Hv", "Hv%Hk T<=256", true},
    [TS_OP_GDN_LAZY_COMMIT] = {"gdn_lazy_commit", "gdn-chunk", 1, sizeof(ts_gdn_lazy_commit_args),
        {DIM(ts_gdn_lazy_commit_args, T), DIM(ts_gdn_lazy_commit_args, Hk), DIM(ts_gdn_lazy_commit_args, Hv),
         DIM(ts_gdn_lazy_commit_args, Dk), DIM(ts_gdn_lazy_commit_args, Dv), DIM(ts_gdn_lazy_commit_args, kept)}, {{0}},
        {REAL(ts_gdn_lazy_commit_args, k, TS_IN, "T", "Hk", "Dk"), REAL(ts_gdn_lazy_commit_args, u, TS_IN, "T", "Hv", "Dv"),
         REAL(ts_gdn_lazy_commit_args, w, TS_IN, "T", "Hv", "Dk"), REAL(ts_gdn_lazy_commit_args, G, TS_IN, "T", "Hv"),
         REAL(ts_gdn_lazy_commit_args, state, TS_INOUT, "Hv", "Dk", "Dv")}, "Hv", "+kept kept<=T Hv%Hk T<=256", true},
    KDA_GATES_OP(TS_OP_KDA_GATES, "kda_gates", DIM(ts_kda_gates_args, beta_scale)),
    KDA_GATES_OP(TS_OP_KDA_GATES_BOUNDED, "kda_gates_bounded", DIM(ts_kda_gates_args, beta_scale), DIM(ts_kda_gates_args, lower_bound)),
    GDN_OP(TS_OP_KDA_STEP, "kda_step", "gdn-step", true, "Hv", "Dk"),
    CHUNK_OP(TS_OP_KDA_CHUNK, "kda_chunk", "kda-chunk", "Hv", "Dk"),
    CHUNK_OP(TS_OP_KDA_CHUNK_EXP2, "kda_chunk_exp2", "kda-chunk", "Hv", "Dk"),
    ROPE_OP(TS_OP_ROPE, "rope", "elementwise", false),
    ROPE_OP(TS_OP_ROPE_BF16, "rope_bf16", "elementwise", true),
    [TS_OP_KV_STORE] = {"kv_store", "elementwise", 1, sizeof(ts_kv_store_args),
        {DIM(ts_kv_store_args, T), DIM(ts_kv_store_args, Hkv), DIM(ts_kv_store_args, D), DIM(ts_kv_store_args, pos)}, {{0}},
        {REAL(ts_kv_store_args, k, TS_IN, "T", "Hkv", "D"), REAL(ts_kv_store_args, v, TS_IN, "T", "Hkv", "D"),
         FIELD(ts_kv_store_args, kv, TS_INOUT, TS_FIELD_KV, "Hkv", "D")}, "T*Hkv", "+pos", false},
    ATTENTION_OP(TS_OP_ATTENTION, "attention", "split128", false, REAL(ts_attention_args, o, TS_OUT, "T", "Hq", "D"), RECORDS(TS_INNER),
                 REAL(ts_attention_args, M, TS_INNER, "T", "Hq"), REAL(ts_attention_args, L, TS_INNER, "T", "Hq")),
    ATTENTION_OP(TS_OP_ATTENTION_PARTIAL, "attention_partial", "split128", true, RECORDS(TS_OUT)),
    [TS_OP_ATTENTION_MERGE] = {"attention_merge", "split128", 1, sizeof(ts_attention_merge_args),
        {DIM(ts_attention_merge_args, T), DIM(ts_attention_merge_args, Hq), DIM(ts_attention_merge_args, D),
         DIM(ts_attention_merge_args, parts)}, {{0}},
        {REAL(ts_attention_merge_args, m, TS_IN, "T", "Hq", "parts"), REAL(ts_attention_merge_args, l, TS_IN, "T", "Hq", "parts"),
         REAL(ts_attention_merge_args, acc, TS_IN, "T", "Hq", "parts", "D"), REAL(ts_attention_merge_args, o, TS_OUT, "T", "Hq", "D"),
         REAL(ts_attention_merge_args, M, TS_OUT, "T", "Hq"), REAL(ts_attention_merge_args, L, TS_OUT, "T", "Hq")}, "T*Hq", "", true},
    ATTENTION_OP(TS_OP_ATTENTION_WMMA, "attention_wmma", "wmma256", true, REAL(ts_attention_args, o, TS_OUT, "T", "Hq", "D")),
    ATTENTION_OP(TS_OP_ATTENTION_BF16, "attention_bf16", "eager", true, REAL(ts_attention_args, o, TS_OUT, "T", "Hq", "D")),
    ATTENTION_OP(TS_OP_ATTENTION_LSE, "attention_lse", "split128-fold", true, REAL(ts_attention_args, o, TS_OUT, "T", "Hq", "D")),
    ATTENTION_OP(TS_OP_ATTENTION_FLASH_GGML, "attention_flash_ggml", "running", true, REAL(ts_attention_args, o, TS_OUT, "T", "Hq", "D")),
    ATTENTION_OP(TS_OP_ATTENTION_TILED_GGML, "attention_tiled_ggml", "tile64", true, REAL(ts_attention_args, o, TS_OUT, "T", "Hq", "D")),
    ATTENTION_OP(TS_OP_ATTENTION_SOFTMAX_GGML, "attention_softmax_ggml", "eager", true, REAL(ts_attention_args, o, TS_OUT, "T", "Hq", "D")),
    MLA_OP(TS_OP_MLA_ATTENTION, "mla_attention", "dot32, split128", "Dv", {0}),
    MLA_OP(TS_OP_MLA_ABSORBED, "mla_absorbed", "chain, split128, dot32", "R", REAL(ts_mla_args, ql, TS_OUT, "T", "H", "R"),
           REAL(ts_mla_args, ol, TS_OUT, "T", "H", "R")),
    [TS_OP_MOE_ROUTER_SOFTMAX] = {"moe_router_softmax", "by id", 1, sizeof(ts_moe_router_args),
        {DIM(ts_moe_router_args, T), DIM(ts_moe_router_args, E), DIM(ts_moe_router_args, k), DIM(ts_moe_router_args, renorm)}, {{0}},
        {REAL(ts_moe_router_args, logits, TS_IN, "T", "E"), REAL(ts_moe_router_args, weight, TS_OUT, "T", "E")}, "T", "k<=E +renorm renorm<=1", true},
    [TS_OP_MOE_ROUTER_SIGMOID] = {"moe_router_sigmoid", "by id", 1, sizeof(ts_moe_router_args),
        {DIM(ts_moe_router_args, T), DIM(ts_moe_router_args, E), DIM(ts_moe_router_args, k), DIM(ts_moe_router_args, renorm),
         DIM(ts_moe_router_args, groups), DIM(ts_moe_router_args, topk_groups)}, {DIM(ts_moe_router_args, scale)},
        {REAL(ts_moe_router_args, logits, TS_IN, "T", "E"), REAL(ts_moe_router_args, bias, TS_IN, "E"),
         REAL(ts_moe_router_args, weight, TS_OUT, "T", "E"), REAL(ts_moe_router_args, score, TS_OUT, "T", "groups")}, "T",
        "k<=E E%groups topk_groups<=groups +renorm renorm<=1", true},
    [TS_OP_MOE_ACCUMULATE] = {"moe_accumulate", "by id", 1, sizeof(ts_moe_accumulate_args),
        {DIM(ts_moe_accumulate_args, T), DIM(ts_moe_accumulate_args, E), DIM(ts_moe_accumulate_args, C)}, {{0}},
        {REAL(ts_moe_accumulate_args, weight, TS_IN, "T", "E"), REAL(ts_moe_accumulate_args, x, TS_IN, "T", "E", "C"),
         REAL(ts_moe_accumulate_args, y, TS_OUT, "T", "C")}, "T", "", true},
    [TS_OP_ROW_GATE] = {"row_gate", "elementwise", 1, sizeof(ts_row_gate_args),
        {DIM(ts_row_gate_args, T), DIM(ts_row_gate_args, C)}, {{0}},
        {REAL(ts_row_gate_args, x, TS_IN, "T", "C"), REAL(ts_row_gate_args, gate, TS_IN, "T"),
         REAL(ts_row_gate_args, y, TS_OUT, "T", "C")}, "T", "", true},
    [TS_OP_GROUPED_CONV] = {"grouped_conv", "taps, newest first", 1, sizeof(ts_grouped_conv_args),
        {DIM(ts_grouped_conv_args, T), DIM(ts_grouped_conv_args, C), DIM(ts_grouped_conv_args, W), DIM(ts_grouped_conv_args, group),
         DIM(ts_grouped_conv_args, block), DIM(ts_grouped_conv_args, side)}, {{0}},
        {REAL(ts_grouped_conv_args, x, TS_IN, "T", "C"), REAL(ts_grouped_conv_args, base, TS_IN, "2", "W", "C"),
         REAL(ts_grouped_conv_args, delta, TS_IN, "T", "2", "W", "C/group"), REAL(ts_grouped_conv_args, y, TS_OUT, "T", "C")}, "T",
        "+side side<=1 C%group", false},
    [TS_OP_SELECTOR_SCORES] = {"selector_scores", "dot32", 1, sizeof(ts_selector_scores_args),
        {DIM(ts_selector_scores_args, T), DIM(ts_selector_scores_args, K), DIM(ts_selector_scores_args, R), DIM(ts_selector_scores_args, V)}, {{0}},
        {FIELD(ts_selector_scores_args, prev, TS_IN, TS_FIELD_I32, "T"), FIELD(ts_selector_scores_args, cand, TS_IN, TS_FIELD_I32, "T", "K"),
         REAL(ts_selector_scores_args, U, TS_IN, "T", "K"), REAL(ts_selector_scores_args, g, TS_IN, "T", "R"),
         FIELD(ts_selector_scores_args, pred, TS_IN, TS_FIELD_MATRIX, "V", "R"), FIELD(ts_selector_scores_args, succ, TS_IN, TS_FIELD_MATRIX, "V", "R"),
         REAL(ts_selector_scores_args, y, TS_OUT, "T", "K")}, "T*K", "", false},
    [TS_OP_TOP_SLOTS] = {"top_slots", "by value, by id", 1, sizeof(ts_top_slots_args),
        {DIM(ts_top_slots_args, T), DIM(ts_top_slots_args, V), DIM(ts_top_slots_args, K)}, {{0}},
        {REAL(ts_top_slots_args, logits, TS_IN, "T", "V"), FIELD(ts_top_slots_args, id, TS_OUT, TS_FIELD_I32, "T", "K"),
         REAL(ts_top_slots_args, value, TS_OUT, "T", "K")}, "T", "K<=V K<=16", false},
    MATMUL_OP(TS_OP_MATMUL_DOT32, "matmul_dot32", "dot32", false),
    MATMUL_OP(TS_OP_MATMUL_MLX, "matmul_mlx", "groups", true),
    MATMUL_OP(TS_OP_MATMUL_MLX_BF16, "matmul_mlx_bf16", "chain", true),
    QUANTIZE_BLOCKS_OP(TS_OP_QUANTIZE_Q8_0, "quantize_q8_0", "K/32*34", "K%32"),
    QUANTIZE_BLOCKS_OP(TS_OP_QUANTIZE_Q8_0_X86, "quantize_q8_0_x86", "K/32*34", "K%32"),
    QUANTIZE_BLOCKS_OP(TS_OP_QUANTIZE_Q8_1, "quantize_q8_1", "K/32*36", "K%32"),
    QUANTIZE_BLOCKS_OP(TS_OP_QUANTIZE_Q8_1_X86, "quantize_q8_1_x86", "K/32*36", "K%32"),
    QUANTIZE_BLOCKS_OP(TS_OP_QUANTIZE_Q8_K, "quantize_q8_k", "K/256*292", "K%256"),
    MATMUL_GGML_OP(TS_OP_MATMUL_GGML, "matmul_ggml"),
    MATMUL_GGML_OP(TS_OP_MATMUL_GGML_X86, "matmul_ggml_x86"),
    QUANTIZE_W8A8_OP(TS_OP_QUANTIZE_W8A8, "quantize_w8a8"),
    QUANTIZE_W8A8_OP(TS_OP_QUANTIZE_W8A8_F16DIV, "quantize_w8a8_f16div"),
    MATMUL_W8A8_OP(TS_OP_MATMUL_W8A8, "matmul_w8a8", "int32", FIELD(ts_matmul_w8a8_args, acc, TS_OUT, TS_FIELD_I32, "T", "N")),
    MATMUL_W8A8_OP(TS_OP_MATMUL_W8A8_BIAS, "matmul_w8a8_bias", "int32", FIELD(ts_matmul_w8a8_args, acc, TS_OUT, TS_FIELD_I32, "T", "N"),
                   REAL(ts_matmul_w8a8_args, bias, TS_IN, "N")),
    MATMUL_W8A8_OP(TS_OP_MATMUL_W8A8_UNFUSED, "matmul_w8a8_unfused", "exact", {0}),
    MATMUL_W8A8_OP(TS_OP_MATMUL_W8A8_UNFUSED_CHAIN, "matmul_w8a8_unfused_chain", "chain", {0}),
    [TS_OP_QUANTIZE_A64] = {"quantize_a64", "A64", 1, sizeof(ts_quantize_a64_args),
        {DIM(ts_quantize_a64_args, T), DIM(ts_quantize_a64_args, K)}, {{0}},
        {REAL(ts_quantize_a64_args, x, TS_IN, "T", "K"), FIELD(ts_quantize_a64_args, code, TS_OUT, TS_FIELD_I8, "T", "K"),
         REAL(ts_quantize_a64_args, step, TS_OUT, "T", "K/64"), REAL(ts_quantize_a64_args, sum, TS_OUT, "T", "K/64")}, "T", "K%64", false},
    MATMUL_A64_OP(TS_OP_MATMUL_A64S8, "matmul_a64s8", "A64S8", false),
    MATMUL_A64_OP(TS_OP_MATMUL_LSE_A64, "matmul_lse_a64", "A64", true),
    MATMUL_A64_OP(TS_OP_MATMUL_LSE_A64_FMA, "matmul_lse_a64_fma", "A64", true),
    [TS_OP_QUANTIZE_LSE_A8] = {"quantize_lse_a8", "A8", 1, sizeof(ts_quantize_lse_a8_args),
        {DIM(ts_quantize_lse_a8_args, T), DIM(ts_quantize_lse_a8_args, K)}, {{0}},
        {REAL(ts_quantize_lse_a8_args, x, TS_IN, "T", "K"), FIELD(ts_quantize_lse_a8_args, code, TS_OUT, TS_FIELD_I8, "T", "K"),
         REAL(ts_quantize_lse_a8_args, step, TS_OUT, "T", "K/8"), REAL(ts_quantize_lse_a8_args, sum, TS_OUT, "T", "K/64")}, "T", "K%64", true},
    [TS_OP_MATMUL_LSE_A8] = {"matmul_lse_a8", "A8", 1, sizeof(ts_matmul_lse_a8_args),
        {DIM(ts_matmul_lse_a8_args, T), DIM(ts_matmul_lse_a8_args, N), DIM(ts_matmul_lse_a8_args, K), DIM(ts_matmul_lse_a8_args, S)}, {{0}},
        {FIELD(ts_matmul_lse_a8_args, code, TS_IN, TS_FIELD_I8, "T", "K"), REAL(ts_matmul_lse_a8_args, step, TS_IN, "T", "K/8"),
         REAL(ts_matmul_lse_a8_args, sum, TS_IN, "T", "K/64"), FIELD(ts_matmul_lse_a8_args, w, TS_IN, TS_FIELD_MATRIX, "N", "K"),
         REAL(ts_matmul_lse_a8_args, y, TS_OUT, "T", "N")}, "N", "K%64 K/64%S", true},
    [TS_OP_GATE_UP_LSE_A8] = {"gate_up_lse_a8", "A8", 1, sizeof(ts_gate_up_lse_a8_args),
        {DIM(ts_gate_up_lse_a8_args, T), DIM(ts_gate_up_lse_a8_args, I), DIM(ts_gate_up_lse_a8_args, K), DIM(ts_gate_up_lse_a8_args, S)}, {{0}},
        {FIELD(ts_gate_up_lse_a8_args, code, TS_IN, TS_FIELD_I8, "T", "K"), REAL(ts_gate_up_lse_a8_args, step, TS_IN, "T", "K/8"),
         REAL(ts_gate_up_lse_a8_args, sum, TS_IN, "T", "K/64"), FIELD(ts_gate_up_lse_a8_args, gate, TS_IN, TS_FIELD_MATRIX, "I", "K"),
         FIELD(ts_gate_up_lse_a8_args, up, TS_IN, TS_FIELD_MATRIX, "I", "K"), REAL(ts_gate_up_lse_a8_args, y, TS_OUT, "T", "I"),
         REAL(ts_gate_up_lse_a8_args, g, TS_INNER, "T", "I"), REAL(ts_gate_up_lse_a8_args, u, TS_INNER, "T", "I")}, "I", "K%64 K/64%S", true},
    MATMUL_OP(TS_OP_MATMUL_LSE_EX, "matmul_lse_ex", "EX", true),
    [TS_OP_MATMUL_LSE_F16] = {"matmul_lse_f16", "F16", 1, sizeof(ts_matmul_lse_f16_args),
        {DIM(ts_matmul_lse_f16_args, T), DIM(ts_matmul_lse_f16_args, N), DIM(ts_matmul_lse_f16_args, K), DIM(ts_matmul_lse_f16_args, S)}, {{0}},
        {REAL(ts_matmul_lse_f16_args, x, TS_IN, "T", "K"), FIELD(ts_matmul_lse_f16_args, w, TS_IN, TS_FIELD_MATRIX, "N", "K"),
         REAL(ts_matmul_lse_f16_args, y, TS_OUT, "T", "N")}, "N", "K%64 K/64%S", true},
    [TS_OP_RMSNORM_A64] = {"rmsnorm_a64", "dot32, A64", 1, sizeof(ts_rmsnorm_a64_args),
        {DIM(ts_rmsnorm_a64_args, T), DIM(ts_rmsnorm_a64_args, n), DIM(ts_rmsnorm_a64_args, centred)}, {DIM(ts_rmsnorm_a64_args, eps)},
        {REAL(ts_rmsnorm_a64_args, x, TS_IN, "T", "n"), REAL(ts_rmsnorm_a64_args, w, TS_IN, "n"),
         FIELD(ts_rmsnorm_a64_args, code, TS_OUT, TS_FIELD_I8, "T", "n"), REAL(ts_rmsnorm_a64_args, step, TS_OUT, "T", "n/64"),
         REAL(ts_rmsnorm_a64_args, sum, TS_OUT, "T", "n/64"), REAL(ts_rmsnorm_a64_args, y, TS_INNER, "T", "n")}, "T", "+centred centred<=1 n%64", false},
    [TS_OP_GATE_UP_A64S8] = {"gate_up_a64s8", "A64S8", 1, sizeof(ts_gate_up_a64s8_args),
        {DIM(ts_gate_up_a64s8_args, T), DIM(ts_gate_up_a64s8_args, I), DIM(ts_gate_up_a64s8_args, K)}, {{0}},
        {FIELD(ts_gate_up_a64s8_args, code, TS_IN, TS_FIELD_I8, "T", "K"), REAL(ts_gate_up_a64s8_args, step, TS_IN, "T", "K/64"),
         REAL(ts_gate_up_a64s8_args, sum, TS_IN, "T", "K/64"), FIELD(ts_gate_up_a64s8_args, gate, TS_IN, TS_FIELD_MATRIX, "I", "K"),
         FIELD(ts_gate_up_a64s8_args, up, TS_IN, TS_FIELD_MATRIX, "I", "K"), REAL(ts_gate_up_a64s8_args, y, TS_OUT, "T", "I"),
         REAL(ts_gate_up_a64s8_args, g, TS_INNER, "T", "I"), REAL(ts_gate_up_a64s8_args, u, TS_INNER, "T", "I")}, "I", "K%64", false},
    [TS_OP_QKV_CONV_A64S8] = {"qkv_conv_a64s8", "A64S8, taps", 1, sizeof(ts_qkv_conv_a64s8_args),
        {DIM(ts_qkv_conv_a64s8_args, T), DIM(ts_qkv_conv_a64s8_args, C), DIM(ts_qkv_conv_a64s8_args, K), DIM(ts_qkv_conv_a64s8_args, W)}, {{0}},
        {FIELD(ts_qkv_conv_a64s8_args, code, TS_IN, TS_FIELD_I8, "T", "K"), REAL(ts_qkv_conv_a64s8_args, step, TS_IN, "T", "K/64"),
         REAL(ts_qkv_conv_a64s8_args, sum, TS_IN, "T", "K/64"), FIELD(ts_qkv_conv_a64s8_args, w, TS_IN, TS_FIELD_MATRIX, "C", "K"),
         REAL(ts_qkv_conv_a64s8_args, taps, TS_IN, "C", "W"), REAL(ts_qkv_conv_a64s8_args, state, TS_INOUT, "C", "W"),
         REAL(ts_qkv_conv_a64s8_args, y, TS_OUT, "T", "C"), REAL(ts_qkv_conv_a64s8_args, qkv, TS_INNER, "T", "C")}, "C", "K%64", false},
};
/* clang-format on */

ts_op_id ts_op_find(const char *name)
{
    for (int i = 0; i < TS_OP_COUNT; i++)
        if (strcmp(ts_op_table[i].name, name) == 0)
            return (ts_op_id)i;
    return TS_OP_COUNT;
}

static int64_t named_dim(const ts_op *op, const void *args, const char *name, size_t len)
{
    for (int i = 0; i < TS_MAX_OP_DIMS && op->dim[i].name; i++)
        if (strlen(op->dim[i].name) == len && memcmp(op->dim[i].name, name, len) == 0)
            return *(const int64_t *)((const char *)args + op->dim[i].offset);
    return strtoll(name, NULL, 10);
}

int64_t ts_op_dim(const ts_op *op, const void *args, const char *expr)
{
    size_t len = strcspn(expr, "*/+%<");
    int64_t value = named_dim(op, args, expr, len);
    while (expr[len] && strchr("*/+", expr[len])) {
        char sign = expr[len];
        expr += len + 1;
        len = strcspn(expr, "*/+%<");
        int64_t next = named_dim(op, args, expr, len);
        value = sign == '*' ? value * next : sign == '/' ? value / next : value + next;
    }
    return value;
}

int64_t ts_op_units(const ts_op *op, const void *args)
{
    return ts_op_dim(op, args, op->units);
}

int64_t ts_field_count(const ts_op *op, const ts_field *f, const void *args)
{
    int64_t n = 1;
    for (int i = 0; i < 4 && f->dim[i]; i++) {
        int64_t d = ts_op_dim(op, args, f->dim[i]);
        if (d > 0 && n > INT64_MAX / d)
            return INT64_MAX;
        n *= d;
    }
    return n;
}

/* One rule: "+dim", "?dim", "a%b" (a, which may be an expression, is a multiple of b) or "a<=b". */
static bool rule_holds(const ts_op *op, const void *args, const char *rule, size_t len)
{
    size_t a = strcspn(rule, "%<");
    if (strchr("+?", rule[0]) || a >= len)
        return true;
    int64_t left = ts_op_dim(op, args, rule);
    if (rule[a] == '%')
        return left % named_dim(op, args, rule + a + 1, len - a - 1) == 0;
    return left <= named_dim(op, args, rule + a + 2, len - a - 2);
}

/* What stands before the first mention of a dim in the rules. */
static char mark_of(const ts_op *op, const char *dim)
{
    const char *at = op->rules ? strstr(op->rules, dim) : NULL;
    return at && at > op->rules ? at[-1] : ' ';
}

bool ts_op_dim_optional(const ts_op *op, const char *dim)
{
    return mark_of(op, dim) == '?';
}

static bool may_be_zero(const ts_op *op, const char *dim)
{
    return mark_of(op, dim) == '+' || ts_op_dim_optional(op, dim);
}

bool ts_op_dims_ok(const ts_op *op, const void *args, const char **rule)
{
    for (int i = 0; i < TS_MAX_OP_DIMS && op->dim[i].name; i++) {
        int64_t v = *(const int64_t *)((const char *)args + op->dim[i].offset);
        *rule = op->dim[i].name;
        if (v > 1 << 24 || v < (may_be_zero(op, op->dim[i].name) ? 0 : 1))
            return false;
    }
    for (*rule = op->rules; *rule && **rule; *rule += strcspn(*rule, " "), *rule += **rule == ' ')
        if (!rule_holds(op, args, *rule, strcspn(*rule, " ")))
            return false;
    return true;
}
