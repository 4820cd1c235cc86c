/* The checkpoint's tensors bound to the model's slots (config/slots.h): HF names
 * (model.[language_model.]layers.N…), MLX names (language_model.model.…) and
 * GGUF names (blk.N.…), shapes checked against the config, every float finite. */
#ifndef TS_CONFIG_WEIGHTS_H
#define TS_CONFIG_WEIGHTS_H

#include "config/config.h"
#include "format/checkpoint.h"
#include "format/matrix.h"

/* 1-D parameters, widened exactly to f32. conv1d is [CD][W] flattened. */
typedef struct {
    int64_t n;
    float *v;
} ts_vector;

/* Symbols as in ts_config; VD = Hv*Dv, CD = 2*Hk*Dk + VD. What a layer does not have is empty (n, N = 0). */
typedef struct {
    ts_vector input_norm, post_norm;          /* [C] */
    ts_matrix gate_proj, up_proj, down_proj;  /* dense: [I,C] [I,C] [C,I] */
    ts_matrix in_qkv, in_z, in_b, in_a, out;  /* Gated DeltaNet: [CD,C] [VD,C] [Hv,C] [Hv,C] [C,VD] */
    ts_matrix in_qkvz, in_ba;                 /* the same by key head (Qwen3-Next): [CD+VD,C] [2*Hv,C] */
    ts_vector conv, A_log, dt_bias, gdn_norm; /* [CD*W] [Hv] [Hv], of KDA [Hv*Dk], [Dv] */
    ts_matrix q_proj, k_proj, v_proj,
        o_proj;                    /* full: [2*Hq*D,C] [Hkv*D,C] [Hkv*D,C] [C,Hq*D]; KDA: q, k, v [VD,C] */
    ts_vector q_norm, k_norm;      /* [D] */
    ts_matrix f_a, f_b, g_a, g_b;  /* KDA: [Dk,C] [VD,Dk] [Dk,C] [VD,Dk]; its beta is in_b */
    ts_matrix kv_a, kv_b;          /* latent attention: [rank+Dr,C] [Hq*(Dn+Dm),rank]; q_proj [Hq*(Dn+Dr),C] */
    ts_vector kv_a_norm;           /* [rank] */
    float *own_kv_b;               /* kv_b's data where the file has it in two halves (GGUF), else NULL */
    ts_matrix router, shared_gate; /* experts: [E,C] [1,C] */
    ts_vector router_bias;         /* [E] */
    ts_matrix shared_gate_proj, shared_up_proj, shared_down_proj; /* [shared,C] [shared,C] [C,shared] */
    ts_matrix *expert_gate, *expert_up, *expert_down;             /* [moe.E] of [moe.I,C] [moe.I,C] [C,moe.I] */
    ts_vector attn_conv, mlp_conv;           /* DFlash2, G = C / conv_group: [2*conv_taps*C], side, tap, channel */
    ts_matrix attn_conv_proj, mlp_conv_proj; /* [2*conv_taps*G,C] */
} ts_layer;

typedef struct {
    ts_config cfg;
    bool folded;           /* norm weights are what is multiplied with: 1+w added (MLX, GGUF), or plain (Kimi) */
    bool rate;             /* A_log holds the rate -exp(A_log) (GGUF) */
    bool split;            /* Qwen3-Next with in_qkv and in_z in place of in_qkvz (GGUF); in_ba stays by key head */
    bool tiled;            /* value head h reads key head h % Hk, not h / (Hv/Hk) (GGUF, if Hv != Hk) */
    ts_matrix embed, head; /* [V,C]; head == embed when tied */
    ts_vector final_norm;
    ts_matrix fc;                      /* MTP [C,2*C]: embedding, then hidden state. DFlash [C,taps*C] */
    ts_vector embed_norm, hidden_norm; /* MTP: of the two; DFlash: hidden_norm is that of fc's output [C] */
    ts_matrix selector_hidden;         /* DFlash2: [rank,C] */
    ts_matrix predecessor, successor;  /* [V,rank] */
    ts_layer *layer;                   /* [cfg.layers] */
    ts_checkpoint *ckpt;
    char sha256[65]; /* of the checkpoint; filled by ts_weights_hash */
    char path[4096];
} ts_weights;

ts_status ts_weights_load(const char *dir, ts_weights **out, ts_error *err);
/* Little of a big checkpoint: names, dtypes and shapes of all of it are checked, but only the slots of
 * one layer (-1: embed, head, final_norm) are filled, and only their data is read and searched for NaN.
 * Of its matrices only the one of the role `matrix`; NULL: all; "": none. The other slots stay empty
 * (n, N = 0). A copy of a tied embedding is not compared with it. TS_BAD: no such layer. */
ts_status ts_weights_load_part(const char *dir, int64_t layer, const char *matrix, ts_weights **out, ts_error *err);
/* Goldens keep config and weights under other names. */
ts_status ts_weights_load_files(const char *config, const char *weights, ts_weights **out, ts_error *err);
/* The slot of that name (its field in ts_layer, or for layer -1 in ts_weights), or NULL if that layer
 * has none. */
const ts_matrix *ts_weights_matrix(const ts_weights *w, int64_t layer, const char *role);
const ts_vector *ts_weights_vector(const ts_weights *w, int64_t layer, const char *role);
ts_status ts_weights_hash(ts_weights *w, ts_error *err);
void ts_weights_free(ts_weights *w);

#endif
