/* The checkpoint's tensors bound to the model's slots: HF names
 * (model.[language_model.]layers.N…) and MLX names (language_model.model.…),
 * shapes checked against the config, every float finite. */
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

typedef struct {
    ts_vector input_norm, post_norm;          /* [C] */
    ts_matrix gate_proj, up_proj, down_proj;  /* [I,C] [I,C] [C,I] */
    ts_matrix in_qkv, in_z, in_b, in_a, out;  /* linear attention: [CD,C] [VD,C] [Hv,C] [Hv,C] [C,VD] */
    ts_vector conv, A_log, dt_bias, gdn_norm; /* [CD*W] [Hv] [Hv] [Dv] */
    ts_matrix q_proj, k_proj, v_proj, o_proj; /* full attention: [2*Hq*D,C] [Hkv*D,C] [Hkv*D,C] [C,Hq*D] */
    ts_vector q_norm, k_norm;                 /* [D] */
} ts_layer;

typedef struct {
    ts_config cfg;
    bool folded;           /* norm weights hold 1+w already (MLX) */
    ts_matrix embed, head; /* [V,C]; head == embed when tied */
    ts_vector final_norm;
    ts_layer *layer; /* [cfg.layers] */
    ts_checkpoint *ckpt;
    char sha256[65]; /* of the checkpoint; filled by ts_weights_hash */
    char path[256];
} ts_weights;

ts_status ts_weights_load(const char *dir, ts_weights **out, ts_error *err);
/* Goldens keep config and weights under other names. */
ts_status ts_weights_load_files(const char *config, const char *weights, ts_weights **out, ts_error *err);
ts_status ts_weights_hash(ts_weights *w, ts_error *err);
void ts_weights_free(ts_weights *w);

#endif
