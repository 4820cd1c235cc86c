/* What each operation takes: one struct per operation, shared by ref32, ref64
 * (where ts_real is double) and every fast schedule. All arrays are dense and
 * row-major; `dims` are written as in the papers. The arithmetic is defined over
 * the reference function in ref/op/<name>.c. */
#ifndef TS_CASE_ARGS_H
#define TS_CASE_ARGS_H

#include <stdint.h>
#include "config/profile.h"
#include "format/matrix.h"
#include "num/real.h"

/* y[n] = f(x[n]): exp, sigmoid, silu, softplus, rsqrt */
typedef struct {
    int64_t n;
    const ts_real *x;
    ts_real *y;
} ts_map_args;

/* y[n] = x[n] * scale */
typedef struct {
    int64_t n;
    double scale;
    const ts_real *x;
    ts_real *y;
} ts_scale_args;

/* y[n] = a[n] (op) b[n]: residual_add h + branch, swiglu silu(gate) * up, sigmoid_gate x * sigmoid(gate) */
typedef struct {
    int64_t n;
    const ts_real *a, *b;
    ts_real *y;
} ts_zip_args;

/* y[T,C] = row id[t] of w[V,C] */
typedef struct {
    int64_t T, V, C;
    const int32_t *id;
    const ts_matrix *w;
    ts_real *y;
} ts_embed_args;

/* y[T,n] = rmsnorm(x[T,n]) * (centred ? 1 + w : w) */
typedef struct {
    int64_t T, n, centred;
    double eps;
    const ts_real *x, *w;
    ts_real *y;
} ts_rmsnorm_args;

/* y[T,H,D] = x / ||x|| * scale, per head */
typedef struct {
    int64_t T, H, D;
    double eps, scale;
    const ts_real *x;
    ts_real *y;
} ts_l2norm_args;

/* Depthwise causal conv + silu. x, y [T,C]; w [C,W]; state [C,W] = the last W inputs, oldest first */
typedef struct {
    int64_t T, C, W;
    const ts_real *x, *w;
    ts_real *state, *y;
} ts_conv1d_args;

/* a, b, g, beta [T,H]; A_log, dt_bias [H] */
typedef struct {
    int64_t T, H;
    const ts_real *a, *b, *A_log, *dt_bias;
    ts_real *g, *beta;
} ts_gdn_gates_args;

/* f, g [T,H,D]; b, beta [T,H]; A_log [H]; dt_bias [H,D]. beta_scale: 1, or 2 where eigenvalues may be negative;
 * lower_bound: what g of kda_gates_bounded never passes, -5 <= lower_bound < 0 */
typedef struct {
    int64_t T, H, D;
    double beta_scale, lower_bound;
    const ts_real *f, *b, *A_log, *dt_bias;
    ts_real *g, *beta;
} ts_kda_gates_args;

/* q, k [T,Hk,Dk] normalised and scaled; v, o [T,Hv,Dv]; beta [T,Hv]; g [T,Hv], of KDA [T,Hv,Dk]; state [Hv,Dk,Dv];
 * pos = absolute position of row 0 (chunk forms cut chunks at multiples of their length); chunk: that length, of
 * the forms that leave it open, 1 .. TS_MOST_CHUNK */
enum { TS_MOST_CHUNK = 256 };

typedef struct {
    int64_t T, Hk, Hv, Dk, Dv, pos, chunk;
    const ts_real *q, *k, *v, *g, *beta;
    ts_real *state, *o;
} ts_gdn_args;

/* Rows of a chunk kept to be committed later: k [T,Hk,Dk], v [T,Hv,Dv], g, beta [T,Hv] -> u [T,Hv,Dv], w [T,Hv,Dk],
 * G [T,Hv], T at most TS_MOST_CHUNK */
typedef struct {
    int64_t T, Hk, Hv, Dk, Dv;
    const ts_real *k, *v, *g, *beta;
    ts_real *u, *w, *G;
} ts_gdn_lazy_rows_args;

/* The first `kept` of T such rows go into state [Hv,Dk,Dv] */
typedef struct {
    int64_t T, Hk, Hv, Dk, Dv, kept;
    const ts_real *k, *u, *w, *G;
    ts_real *state;
} ts_gdn_lazy_commit_args;

/* x, z, y [T,H,D]; w [D] */
typedef struct {
    int64_t T, H, D;
    double eps;
    const ts_real *x, *w, *z;
    ts_real *y;
} ts_gated_norm_args;

/* x, y [T,H,D], the first R of D rotated half-split; cos, sin [T,R/2] (rows of the tables at each position) */
typedef struct {
    int64_t T, H, D, R;
    const ts_real *x, *cos, *sin;
    ts_real *y;
} ts_rope_args;

/* Paged KV pool: element (token j, head h, channel c) lies at
 * ((table[j / page] * Hkv + h) * page + j % page) * D + c of k and v. */
typedef struct {
    int64_t dtype;        /* ts_kv_dtype: ts_real, uint16_t patterns of bf16 or f16, or uint8_t codes of FP8 */
    int64_t page, pages;  /* tokens a page; pages in the pool */
    const int32_t *table; /* logical page -> pool page */
    void *k, *v;
    float *k_scale, *v_scale; /* of codes: [pages,Hkv,page], the value is code * scale; else NULL */
    int64_t width;            /* of codes: channels of a row, which share a scale */
} ts_kv;

/* Rounds and stores rows k, v [T,Hkv,D] as tokens pos .. pos+T-1 */
typedef struct {
    int64_t T, Hkv, D, pos;
    const ts_real *k, *v;
    ts_kv kv;
} ts_kv_store_args;

/* q, o [T,Hq,D]; row t sits at position pos[t] and sees keys j < len[t] and, unless `both` is 1, j <= pos[t]; if
 * window > 0, only those with |pos[t] - j| < window. parts = partitions of 128 keys covered. Inner tensors (NULL
 * unless exposed): m, l [T,Hq,parts], acc [T,Hq,parts,D], M, L [T,Hq]. attention_partial: m, l and acc are its
 * outputs, o, M and L are not looked at. */
typedef struct {
    int64_t T, Hq, Hkv, D, parts, window, both;
    double scale;
    const ts_real *q;
    const int32_t *pos, *len;
    ts_kv kv;
    ts_real *o, *m, *l, *acc, *M, *L;
} ts_attention_args;

/* Records m, l [T,Hq,parts], acc [T,Hq,parts,D] -> o [T,Hq,D], M, L [T,Hq] */
typedef struct {
    int64_t T, Hq, D, parts;
    const ts_real *m, *l, *acc;
    ts_real *o, *M, *L;
} ts_attention_merge_args;

/* Latent attention, mla_attention and mla_absorbed. kv holds one row a token, one head of R + Dr channels, in kv.k:
 * the normalised latent, then the part of the key that all heads share; kv.v is not used and may be NULL, and
 * kv_store with Hkv = 1, D = R + Dr fills it. q [T,H,Dn+Dr]; w [H*(Dn+Dv),R] as kv_b_proj has it: per head Dn rows
 * that make keys, then Dv that make values; o [T,H,Dv]; pos, len, parts, scale as above. mla_absorbed writes ql, ol
 * [T,H,R] as well, mla_attention leaves them alone. Inner: m, l [T,H,parts], acc [T,H,parts,Dv], absorbed
 * [T,H,parts,R]. */
typedef struct {
    int64_t T, H, Dn, Dr, Dv, R, parts;
    double scale;
    const ts_real *q;
    const int32_t *pos, *len;
    ts_kv kv;
    const ts_matrix *w;
    ts_real *o, *ql, *ol, *m, *l, *acc;
} ts_mla_args;

/* logits, weight [T,E]: of k experts a row, 0 of the others. renorm: do the weights of a row add up to 1, or to
 * scale? moe_router_sigmoid's alone: bias [E], groups, topk_groups, scale, score [T,groups]. */
typedef struct {
    int64_t T, E, k, renorm, groups, topk_groups;
    double scale;
    const ts_real *logits, *bias;
    ts_real *weight, *score;
} ts_moe_router_args;

/* weight [T,E], x [T,E,C] -> y [T,C] */
typedef struct {
    int64_t T, E, C;
    const ts_real *weight, *x;
    ts_real *y;
} ts_moe_accumulate_args;

/* y[T,C] = x[T,C] * sigmoid(gate[T]) */
typedef struct {
    int64_t T, C;
    const ts_real *x, *gate;
    ts_real *y;
} ts_row_gate_args;

/* Drafter DFlash2. x, y [T,C], blocks of `block` rows, y not x; base [2,W,C]; delta [T,2,W,C/group], as a
 * projection gives it: side, tap, group; side: 0 before a sublayer, 1 after it */
typedef struct {
    int64_t T, C, W, group, block, side;
    const ts_real *x, *base, *delta;
    ts_real *y;
} ts_grouped_conv_args;

/* prev [T], cand [T,K]: rows of pred and succ [V,R]; U, y [T,K]; g [T,R] */
typedef struct {
    int64_t T, K, R, V;
    const int32_t *prev, *cand;
    const ts_real *U, *g;
    const ts_matrix *pred, *succ;
    ts_real *y;
} ts_selector_scores_args;

/* logits [T,V] -> id, value [T,K], K at most TS_MOST_SLOTS and V */
enum { TS_MOST_SLOTS = 16 };

typedef struct {
    int64_t T, V, K;
    const ts_real *logits;
    int32_t *id;
    ts_real *value;
} ts_top_slots_args;

/* y[T,N] = x[T,K] w[N,K]^T */
typedef struct {
    int64_t T, N, K;
    const ts_real *x;
    const ts_matrix *w;
    ts_real *y;
} ts_matmul_args;

/* y[T,N] = x[T,K] w[N,K]^T by ggml's blocks; block[T,B] = x in activation blocks, B bytes a row */
typedef struct {
    int64_t T, N, K, B;
    const ts_real *x;
    const ts_matrix *w;
    int8_t *block;
    ts_real *y;
} ts_matmul_ggml_args;

/* x[T,K] -> code[T,K], step[T,K/64], sum[T,K/64] */
typedef struct {
    int64_t T, K;
    const ts_real *x;
    int8_t *code;
    ts_real *step, *sum;
} ts_quantize_a64_args;

/* y[T,N] from codes and an MLX group-64 matrix of 4 or 8 bits: matmul_a64s8, matmul_lse_a64* */
typedef struct {
    int64_t T, N, K;
    const int8_t *code;
    const ts_real *step, *sum;
    const ts_matrix *w;
    ts_real *y;
} ts_matmul_a64s8_args;

/* x [T,K] -> code [T,K]; sx: the one scale of all activations, positive */
typedef struct {
    int64_t T, K;
    double sx;
    const ts_real *x;
    int8_t *code;
} ts_quantize_w8a8_args;

/* y [T,N] from codes [T,K] and w [N,K]; sw [S], S divides N: output n has scale sw[n mod S], so S = 1 is one for
 * all outputs, S = N one for each, and any other S groups of outputs whose numbers are S apart. bias [N], of
 * matmul_w8a8_bias. acc [T,N]: the integer sums, of those that have them. */
typedef struct {
    int64_t T, N, K, S;
    double sx;
    const int8_t *code, *w;
    const ts_real *sw, *bias;
    int32_t *acc;
    ts_real *y;
} ts_matmul_w8a8_args;

/* x[T,K] -> block: rows of ggml's activation blocks, K/32*34 bytes (Q8_0), K/32*36 (Q8_1) or K/256*292 (Q8_K) */
typedef struct {
    int64_t T, K;
    const ts_real *x;
    int8_t *block;
} ts_quantize_blocks_args;

/* x[T,K] -> code[T,K], step[T,K/8], sum[T,K/64] */
typedef struct {
    int64_t T, K;
    const ts_real *x;
    int8_t *code;
    ts_real *step, *sum;
} ts_quantize_lse_a8_args;

/* y[T,N] from those and an MLX group-64 matrix of 4 bits, K in S splits */
typedef struct {
    int64_t T, N, K, S;
    const int8_t *code;
    const ts_real *step, *sum;
    const ts_matrix *w;
    ts_real *y;
} ts_matmul_lse_a8_args;

/* Two matmul_lse_a8 of the same codes, then y[T,I] = silu_lse(x gate^T) * (x up^T). gate, up [I,K]. Inner: g, u */
typedef struct {
    int64_t T, I, K, S;
    const int8_t *code;
    const ts_real *step, *sum;
    const ts_matrix *gate, *up;
    ts_real *y, *g, *u;
} ts_gate_up_lse_a8_args;

/* y[T,N] = x[T,K] w[N,K]^T, K in S slices */
typedef struct {
    int64_t T, N, K, S;
    const ts_real *x;
    const ts_matrix *w;
    ts_real *y;
} ts_matmul_lse_f16_args;

/* rmsnorm, then quantize_a64: x[T,n], w[n] -> code[T,n], step[T,n/64], sum[T,n/64]. Inner: y[T,n], the norm */
typedef struct {
    int64_t T, n, centred;
    double eps;
    const ts_real *x, *w;
    int8_t *code;
    ts_real *step, *sum, *y;
} ts_rmsnorm_a64_args;

/* Two matmul_a64s8 of the same codes, then swiglu: y[T,I] = silu(x gate^T) * (x up^T). gate, up [I,K].
 * Inner: g, u [T,I], the two products */
typedef struct {
    int64_t T, I, K;
    const int8_t *code;
    const ts_real *step, *sum;
    const ts_matrix *gate, *up;
    ts_real *y, *g, *u;
} ts_gate_up_a64s8_args;

/* matmul_a64s8, then conv1d over its outputs: w [C,K]; taps, state [C,W]; y [T,C]. Inner: qkv [T,C], the product */
typedef struct {
    int64_t T, C, K, W;
    const int8_t *code;
    const ts_real *step, *sum;
    const ts_matrix *w;
    const ts_real *taps;
    ts_real *state, *y, *qkv;
} ts_qkv_conv_a64s8_args;

#endif
