/* Private to ref/model: what a model, a state and a forward pass's buffers are. */
#ifndef TS_MODEL_MODEL_H
#define TS_MODEL_MODEL_H

#include "ops.h"
#include "ref.h"

enum { TS_PAGE = 16, TS_PARTITION = 128 };

/* 1-D parameters in this precision (widened exactly). */
typedef struct {
    ts_real *input_norm, *post_norm;
    ts_real *conv, *A_log, *dt_bias, *gdn_norm; /* linear attention */
    ts_real *rate;                              /* [Hv] -exp(A_log) of a GGUF file, or NULL: A_log is zeros then */
    ts_real *q_norm, *k_norm;                   /* gated attention */
    ts_real *kv_a_norm;                         /* latent attention */
    ts_real *router_bias;                       /* experts */
    ts_real *attn_conv, *mlp_conv;              /* DFlash2 */
} ts_ref_layer;

struct ts_ref_model {
    const ts_weights *w;
    const ts_profile *profile;
    ts_ops op; /* what the profile chooses */
    ts_ref_layer *layer;
    ts_real *final_norm;
    ts_real *embed_norm, *hidden_norm; /* drafters */
    double *freq;                      /* [R/2], of the angles */
};

typedef struct {
    ts_real *conv;               /* [CD,W] */
    ts_real *S;                  /* [Hv,Dk,Dv] */
    ts_real *kept_conv, *kept_S; /* [most][..] after each row of the last pass, or NULL */
    ts_kv kv;                    /* full attention: pages in order, or of a drafter in a ring */
} ts_layer_state;

struct ts_ref_state {
    int64_t pos, capacity;
    int64_t most, kept; /* rows of a pass that are kept at most, and were of the last one, up to pos */
    ts_layer_state *layer;
    int32_t *table;
    int64_t layers, pages;
};

/* Buffers of one forward pass over T rows; names as in the traces. */
typedef struct {
    int64_t T;
    ts_real *h, *x, *branch;                                            /* [T,C] */
    ts_real *qkv, *conv, *q, *k, *v, *a, *b, *g, *beta, *z, *o, *gated; /* linear attention */
    ts_real *qg, *aq, *gate, *ak, *av, *attn;                           /* full attention */
    ts_real *gate_proj, *up_proj, *act;                                 /* [T,I] */
    ts_real *cos, *sin;                                                 /* [T,R/2] */
    ts_real *step, *sum, *narrow;                                       /* activations as codes, or rounded */
    ts_real *wide_q, *wide_k;                                           /* [T,Hv,Dk] */
    ts_real *grouped;                                                   /* [T,CD+VD]: projections by key head */
    ts_real *low, *f, *decay;                                           /* KDA: [T,Dk] [T,Hv,Dk] [T,Hv,Dk] */
    ts_real *latent, *shared_key, *row;                                 /* MLA: [T,rank] [T,Dr] [T,rank+Dr] */
    ts_real *router, *weight, *score;                                   /* experts: [T,E] [T,E] [T,groups] */
    ts_real *expert, *shared;                                           /* [E,C] of one token; [T,C] */
    ts_real *joint;         /* drafters: what fc reads, [T,2*C] or [T,taps*C] */
    ts_real *mixed, *delta; /* DFlash2: [T,C] [T,2*conv_taps*G] */
    int8_t *code;           /* [T,K], or ggml's blocks */
    int32_t *pos, *len;     /* [T] */
} ts_work;

/* One forward pass: what every layer function needs. */
typedef struct ts_pass {
    const ts_ref_model *m;
    ts_ref_state *s;
    ts_work *w;
    ts_trace *trace;
    const ts_taps *taps; /* or NULL */
    int64_t layer;
} ts_pass;

ts_status ts_work_new(const ts_ref_model *m, int64_t T, ts_work *w, ts_error *err);
void ts_work_free(ts_work *w);

ts_status ts_model_new(const ts_weights *w, const ts_profile *p, ts_ref_model **out, ts_error *err);
void ts_model_free(ts_ref_model *m);
ts_status ts_state_new(const ts_ref_model *m, int64_t capacity, ts_ref_state **out, ts_error *err);
void ts_state_free(ts_ref_state *s);
void ts_state_trace(const ts_ref_model *m, const ts_ref_state *s, const char *suffix, ts_trace *out);
ts_status ts_forward(const ts_ref_model *m, ts_ref_state *s, const int32_t *ids, int64_t T, int64_t rows,
                     void *logits, ts_trace *trace, ts_error *err);
ts_status ts_layer_run(const ts_ref_model *m, ts_ref_state *s, int64_t layer, const void *x, int64_t T,
                       ts_trace *trace, ts_error *err);
ts_status ts_forward_taps(const ts_ref_model *m, ts_ref_state *s, const int32_t *ids, int64_t T, int64_t rows,
                          void *logits, const ts_taps *taps, ts_error *err);
ts_status ts_mtp_rows(const ts_ref_model *m, ts_ref_state *s, const int32_t *ids, const void *hidden, int64_t T,
                      void *logits, void *out, ts_error *err);
ts_status ts_dflash_context(const ts_ref_model *m, ts_ref_state *s, const void *taps, int64_t T, ts_error *err);
ts_status ts_dflash_block(const ts_ref_model *m, ts_ref_state *s, int32_t anchor, int64_t k, void *logits, void *g,
                          ts_error *err);
ts_status ts_dflash_candidates(const ts_ref_model *m, const void *logits, int32_t *cand, void *U, ts_error *err);
ts_status ts_dflash_scores(const ts_ref_model *m, int32_t prev, const int32_t *cand, const void *U, const void *g,
                           void *s, ts_error *err);
void ts_state_forget(ts_ref_state *s); /* keeps nothing */
ts_status ts_state_keep(const ts_ref_model *m, ts_ref_state *s, int64_t rows, ts_error *err);
ts_status ts_state_rewind(const ts_ref_model *m, ts_ref_state *s, int64_t pos, ts_error *err);
ts_status ts_state_put(const ts_ref_model *m, ts_ref_state *s, int64_t layer, int64_t pos, const void *conv_or_k,
                       const void *recurrent_or_v, ts_error *err);

/* h[T,C] -> x[T,C] = norm(h) * weight, and what passes share: rows' positions and angles, one layer from its first
 * norm to its last sum. */
void ts_norm_stream(const ts_pass *p, const ts_real *weight);
void ts_positions(const ts_pass *p);
void ts_layer_pass(const ts_pass *p);
/* x[T,H,D] = rope(norm(x) * weight), in place. */
void ts_norm_and_rotate(const ts_pass *p, ts_real *x, const ts_real *weight, int64_t H);
/* logits[rows][V] of the last rows, normalised in x. */
void ts_head(const ts_pass *p, int64_t rows, ts_real *logits);
ts_status ts_check_room(const ts_ref_model *m, const ts_ref_state *s, int64_t T, ts_error *err);
ts_status ts_check_ids(const ts_ref_model *m, const int32_t *ids, int64_t T, ts_error *err);
/* The convolution and the delta rule over a layer's state: all rows at once, or, where the state keeps them, row by
 * row. */
void ts_conv_rows(const ts_pass *p, ts_conv1d_args a);
void ts_delta_rows(const ts_pass *p, void (*rule)(const ts_gdn_args *a), ts_gdn_args a);

/* y[T,N] = x[T,K] w^T in the class the profile demands for this matrix, stored as it demands. */
void ts_linear(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
/* The classes. */
void ts_linear_dot32(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
void ts_linear_a64s8(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
void ts_linear_ggml(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
void ts_linear_ggml_generic(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
void ts_linear_mlx(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
void ts_linear_mlx_bf16(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
void ts_linear_lse_a(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
void ts_linear_lse_b(const ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
/* Mixers: w->x -> w->branch. */
void ts_gdn_layer(const ts_pass *p);
void ts_attention_layer(const ts_pass *p);
void ts_kda_layer(const ts_pass *p);
void ts_mla_layer(const ts_pass *p);
/* Experts: w->x -> w->branch. */
void ts_moe_layer(const ts_pass *p);
/* branch = Wdown (silu(Wgate x) * Wup x) of T rows. */
void ts_mlp(const ts_pass *p, const ts_matrix *gate, const ts_matrix *up, const ts_matrix *down, const ts_real *x,
            int64_t T, ts_real *branch);
/* Traces "layer.N.name"; unused trailing dims are 0. */
void ts_note(const ts_pass *p, const char *name, const ts_real *data, int64_t d0, int64_t d1, int64_t d2);

/* The dtype of ts_real. */
extern const ts_dtype ts_real_dtype;

#endif
