#include "ops.h"

#include <math.h>

#include "model.h"
#include "num/rope_table.h"
#include "op.h"

static void keep(ts_real *x, int64_t n)
{
    (void)x;
    (void)n;
}

static void keep_bf16(ts_real *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = ts_round_bf16(x[i]);
}

static void keep_scale(const ts_scale_args *a)
{
    (void)a;
}

/* torch's: the chunk form unless there is one token. */
static void chunk64_prefill(const ts_gdn_args *a)
{
    (a->T > 1 ? ts_gdn_chunk64 : ts_gdn_step)(a);
}

/* LSE's v0.5.4: the row scan in prefill. */
static void gdn_lse_b(const ts_gdn_args *a)
{
    (a->T >= 16 ? ts_gdn_scan_lse : ts_gdn_step_lse)(a);
}

/* ggml's: tiles from 64 rows on. */
static void flash_ggml(const ts_attention_args *a)
{
    (a->T >= 64 ? ts_attention_tiled_ggml : ts_attention_flash_ggml)(a);
}

/* LSE's: one row in a wave, more in one chain each. */
static void l2norm_lse(const ts_l2norm_args *a)
{
    (a->T > 1 ? ts_l2norm_lse_rows : ts_l2norm_lse)(a);
}

static void angles_exact(const double *freq, int64_t R, int64_t pos, ts_real *c, ts_real *s)
{
#if TS_PRECISION == 64
    ts_rope_row_f64(freq, R, pos, c, s);
#else
    ts_rope_row_f32(freq, R, pos, c, s);
#endif
}

static void angles_hf(const double *freq, int64_t R, int64_t pos, ts_real *c, ts_real *s)
{
    for (int64_t i = 0; i < R / 2; i++) {
        float cosine, sine;
        ts_rope_pair_hf(freq, i, pos, &cosine, &sine);
        c[i] = (ts_real)cosine;
        s[i] = (ts_real)sine;
    }
}

static void angles_ggml(const double *freq, int64_t R, int64_t pos, ts_real *c, ts_real *s)
{
    for (int64_t i = 0; i < R / 2; i++) {
        float cosine, sine;
        ts_rope_pair_ggml(freq, i, pos, &cosine, &sine);
        c[i] = (ts_real)cosine;
        s[i] = (ts_real)sine;
    }
}

/* One array a choice, by its values. */
static const struct {
    void (*linear[8])(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
    void (*store[2])(ts_real *x, int64_t n);
    void (*norm[3])(const ts_rmsnorm_args *a);
    void (*conv[2])(const ts_conv1d_args *a);
    void (*l2norm[4])(const ts_l2norm_args *a);
    void (*gates[4])(const ts_gdn_gates_args *a);
    void (*gdn[5])(const ts_gdn_args *a);
    void (*scale_output[2])(const ts_scale_args *a);
    void (*gated_norm[4])(const ts_gated_norm_args *a);
    void (*freq[3])(double theta, int64_t R, double *freq);
    void (*angles[3])(const double *freq, int64_t R, int64_t pos, ts_real *c, ts_real *s);
    void (*rotate[2])(const ts_rope_args *a);
    void (*attention[5])(const ts_attention_args *a);
    void (*swiglu[3])(const ts_zip_args *a);
    void (*gate[2])(const ts_zip_args *a);
} table = {
    .linear = {[TS_LINEAR_DOT32] = ts_linear_dot32,
               [TS_LINEAR_A64S8] = ts_linear_a64s8,
               [TS_LINEAR_GGML] = ts_linear_ggml,
               [TS_LINEAR_GGML_GENERIC] = ts_linear_ggml_generic,
               [TS_LINEAR_MLX_METAL] = ts_linear_mlx,
               [TS_LINEAR_MLX_CPU] = ts_linear_mlx_bf16,
               [TS_LINEAR_LSE_A] = ts_linear_lse_a,
               [TS_LINEAR_LSE_B] = ts_linear_lse_b},
    .store = {[TS_STREAM_REAL] = keep, [TS_STREAM_BF16] = keep_bf16},
    .norm = {[TS_NORM_DOT32] = ts_rmsnorm, [TS_NORM_GGML] = ts_rmsnorm_ggml, [TS_NORM_LSE] = ts_rmsnorm_lse},
    .conv = {[TS_CONV_REAL] = ts_conv1d, [TS_CONV_BF16] = ts_conv1d_bf16},
    .l2norm = {[TS_L2NORM_EPS] = ts_l2norm,
               [TS_L2NORM_MEAN] = ts_l2norm_mean,
               [TS_L2NORM_GGML] = ts_l2norm_ggml,
               [TS_L2NORM_LSE] = l2norm_lse},
    .gates = {[TS_GATES_REAL] = ts_gdn_gates,
              [TS_GATES_BF16_BETA] = ts_gdn_gates_bf16,
              [TS_GATES_GGML] = ts_gdn_gates_ggml,
              [TS_GATES_LSE] = ts_gdn_gates_lse},
    .gdn = {[TS_GDN_STEP] = ts_gdn_step,
            [TS_GDN_CHUNK64_PREFILL] = chunk64_prefill,
            [TS_GDN_GGML] = ts_gdn_step_ggml,
            [TS_GDN_LSE] = ts_gdn_step_lse,
            [TS_GDN_LSE_B] = gdn_lse_b},
    .scale_output = {[TS_Q_SCALE_IN_NORM] = keep_scale, [TS_Q_SCALE_ON_OUTPUT] = ts_scale},
    .gated_norm = {[TS_GATED_NORM_REAL] = ts_gated_norm,
                   [TS_GATED_NORM_BF16] = ts_gated_norm_bf16,
                   [TS_GATED_NORM_GGML] = ts_gated_norm_ggml,
                   [TS_GATED_NORM_LSE] = ts_gated_norm_lse},
    .freq = {[TS_ANGLES_EXACT] = ts_rope_inv_freq,
             [TS_ANGLES_HF] = ts_rope_freq_hf,
             [TS_ANGLES_GGML] = ts_rope_freq_ggml},
    .angles = {[TS_ANGLES_EXACT] = angles_exact, [TS_ANGLES_HF] = angles_hf, [TS_ANGLES_GGML] = angles_ggml},
    .rotate = {[TS_ROTATE_REAL] = ts_rope, [TS_ROTATE_BF16] = ts_rope_bf16},
    .attention = {[TS_ATTENTION_SPLIT128] = ts_attention,
                  [TS_ATTENTION_EAGER_BF16] = ts_attention_bf16,
                  [TS_ATTENTION_FLASH_GGML] = flash_ggml,
                  [TS_ATTENTION_SOFTMAX_GGML] = ts_attention_softmax_ggml,
                  [TS_ATTENTION_LSE] = ts_attention_lse},
    .swiglu = {[TS_SWIGLU_REAL] = ts_swiglu, [TS_SWIGLU_BF16] = ts_swiglu_bf16, [TS_SWIGLU_LSE] = ts_swiglu_lse},
    .gate = {[TS_GATE_REAL] = ts_sigmoid_gate, [TS_GATE_BF16] = ts_sigmoid_gate_bf16},
};

/* eps and scales of the norm of q and k, in the terms of the chosen one. */
static void norm_of_qk(const ts_profile *p, int64_t Dk, ts_ops *o)
{
    const double root = pow((double)Dk, -0.5);
    o->l2_eps = p->l2norm == TS_L2NORM_GGML ? 1e-6 / (double)Dk : 1e-6;
    o->k_scale = p->l2norm == TS_L2NORM_EPS || p->l2norm == TS_L2NORM_LSE ? 1 : root;
    o->q_scale = p->q_scale == TS_Q_SCALE_ON_OUTPUT ? o->k_scale : o->k_scale * root;
}

ts_ops ts_ops_of(const ts_profile *p, int64_t Dk)
{
    ts_ops o = {
        .linear = table.linear[p->linear],
        .store = table.store[p->stream],
        .norm = table.norm[p->norm],
        .conv = table.conv[p->conv],
        .l2norm = table.l2norm[p->l2norm],
        .gates = table.gates[p->gates],
        .gdn = table.gdn[p->gdn],
        .scale_output = table.scale_output[p->q_scale],
        .gated_norm = table.gated_norm[p->gated_norm],
        .freq = table.freq[p->angles],
        .angles = table.angles[p->angles],
        .rotate = table.rotate[p->rotate],
        .attention = table.attention[p->attention],
        .swiglu = table.swiglu[p->swiglu],
        .gate = table.gate[p->gate],
    };
    norm_of_qk(p, Dk, &o);
    return o;
}
