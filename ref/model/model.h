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
} ts_ref_layer;

struct ts_ref_model {
    const ts_weights *w;
    const ts_profile *profile;
    ts_ops op; /* what the profile chooses */
    ts_ref_layer *layer;
    ts_real *final_norm;
    double *freq; /* [R/2], of the angles */
};

typedef struct {
    ts_real *conv; /* [CD,W] */
    ts_real *S;    /* [Hv,Dk,Dv] */
    ts_kv kv;      /* full attention: pages in order */
} ts_layer_state;

struct ts_ref_state {
    int64_t pos, capacity;
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
    int8_t *code;                                                       /* [T,K], or ggml's blocks */
    int32_t *pos, *len;                                                 /* [T] */
} ts_work;

/* One forward pass: what every layer function needs. */
typedef struct ts_pass {
    const ts_ref_model *m;
    ts_ref_state *s;
    ts_work *w;
    ts_trace *trace;
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
ts_status ts_state_put(const ts_ref_model *m, ts_ref_state *s, int64_t layer, int64_t pos, const void *conv_or_k,
                       const void *recurrent_or_v, ts_error *err);

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
