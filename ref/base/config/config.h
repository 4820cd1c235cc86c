/* config.json and generation_config.json of the Qwen3.5/3.6/3.8 text models, dense and sparse, of Qwen3-Next and
 * of Kimi-Linear. Accepts a flat text config or one nested in "text_config"; other model types are rejected by
 * name. */
#ifndef TS_CONFIG_CONFIG_H
#define TS_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include "num/status.h"

enum { TS_MAX_LAYERS = 256, TS_MAX_STOPS = 16, TS_MAX_EXPERTS = 4096, TS_MOST_BLOCK = 33 };

typedef enum {
    TS_FAMILY_QWEN35, /* Qwen3.5: Gated DeltaNet and gated attention, dense or sparse */
    TS_FAMILY_NEXT,   /* Qwen3-Next: the same, its projections stored by key head */
    TS_FAMILY_KIMI,   /* Kimi-Linear: Kimi Delta Attention and latent attention */
} ts_family;

/* Mixtures of experts; E = 0: there are none. */
typedef struct {
    int64_t E, k, I, shared; /* experts, kept of a token, intermediate of each and of the shared one (0: none) */
    int64_t groups, topk_groups; /* 1, 1 unless Kimi */
    double scale;                /* of the weights */
    bool renorm, sigmoid;        /* weights add up to 1 before scale; router: sigmoid and a bias, else softmax */
    bool layer[TS_MAX_LAYERS];   /* is sparse */
} ts_moe_config;

typedef enum {
    TS_DRAFT_NONE,
    TS_DRAFT_MTP,    /* the head of multi-token prediction of the model whose config it is */
    TS_DRAFT_DFLASH, /* DFlash or DFlash2 */
} ts_draft;

/* Of a DFlash drafter. */
typedef struct {
    int64_t block;                    /* rows: the anchor and at most block - 1 proposals */
    int64_t mask;                     /* the id of a row to be filled */
    int64_t taps, tap[TS_MAX_LAYERS]; /* target layers whose output is read, from 0 */
    int64_t conv_taps, conv_group;    /* 0: no convolutions (version 1) */
    int64_t rank, slots;              /* of the candidate selector; 0: none (version 1) */
    bool causal;                      /* a row of the block sees those before it only */
    int64_t window[TS_MAX_LAYERS];    /* of a layer; 0: all of the context */
} ts_dflash_config;

/* Symbols as in the papers; see docs/contract.md. */
typedef struct {
    char model_type[48];
    ts_family family;
    ts_draft draft;
    ts_dflash_config dflash;
    int64_t V, C, I, layers;   /* vocabulary, hidden, intermediate */
    int64_t Hq, Hkv, D, R;     /* attention heads, head_dim, rotary dims */
    int64_t Hk, Hv, Dk, Dv, W; /* linear attention heads, dims, conv taps */
    int64_t rank, Dn, Dr, Dm;  /* latent attention: latent, key channels with a part of it and without, value */
    double lower_bound;        /* of Kimi's log decay, negative; 0: none */
    ts_moe_config moe;
    int64_t max_positions;
    double theta, eps;
    bool tied;                   /* lm_head = embed_tokens */
    bool full[TS_MAX_LAYERS];    /* layer is full attention */
    int quant_bits, quant_group; /* MLX "quantization": of modules without their own, 0 if absent */
    int32_t stop[TS_MAX_STOPS];  /* eos ids of config and generation_config */
    int n_stop;
} ts_config;

/* dir/config.json and, if present, dir/generation_config.json; or the metadata of a GGUF file. */
ts_status ts_config_load(const char *dir, ts_config *out, ts_error *err);
/* One config.json by path (goldens name theirs differently). */
ts_status ts_config_load_file(const char *path, ts_config *out, ts_error *err);
bool ts_config_is_stop(const ts_config *c, int32_t id);
bool ts_config_has_linear(const ts_config *c);
/* Qwen3.5 without experts: what the fast engine, quantize and convert know. */
bool ts_config_is_dense(const ts_config *c);

#endif
