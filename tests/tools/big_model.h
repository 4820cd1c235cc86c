/* A folder that looks like a checkpoint of Qwen3.5-27B's shapes: 54 GB of holes behind a true header. */
#ifndef TS_TESTS_TOOLS_BIG_MODEL_H
#define TS_TESTS_TOOLS_BIG_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/folder.h"
#include "format/json.h"

enum {
    BIG_V = 248320,
    BIG_C = 5120,
    BIG_I = 17408,
    BIG_LAYERS = 64,
    BIG_CD = 2 * 16 * 128 + 48 * 128,
    BIG_VD = 48 * 128,
};

#define BIG_CONFIG                                                                                             \
    "{\"model_type\":\"qwen3_5_text\",\"vocab_size\":248320,\"hidden_size\":5120,\"intermediate_size\":17408," \
    "\"num_hidden_layers\":64,\"num_attention_heads\":24,\"num_key_value_heads\":4,\"head_dim\":256,"          \
    "\"linear_num_key_heads\":16,\"linear_num_value_heads\":48,\"linear_key_head_dim\":128,"                   \
    "\"linear_value_head_dim\":128,\"linear_conv_kernel_dim\":4,\"max_position_embeddings\":262144,"           \
    "\"rms_norm_eps\":1e-6,\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":1e7,"                 \
    "\"partial_rotary_factor\":0.25},\"full_attention_interval\":4}"

typedef struct {
    FILE *text;
    long long at; /* in the data section */
    int n;
} big_header;

static inline void big_add(big_header *h, int layer, const char *name, long long a, long long b, long long c)
{
    char full[128], shape[64];
    long long bytes = 2 * a * (b ? b : 1) * (c ? c : 1);
    if (layer >= 0)
        snprintf(full, sizeof full, "model.layers.%d.%s", layer, name);
    else
        snprintf(full, sizeof full, "%s", name);
    if (c)
        snprintf(shape, sizeof shape, "%lld,%lld,%lld", a, b, c);
    else if (b)
        snprintf(shape, sizeof shape, "%lld,%lld", a, b);
    else
        snprintf(shape, sizeof shape, "%lld", a);
    fprintf(h->text, "%s\"%s\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[%lld,%lld]}",
            h->n++ ? "," : "{", full, shape, h->at, h->at + bytes);
    h->at += bytes;
}

static inline void big_layer(big_header *h, int i)
{
    big_add(h, i, "input_layernorm.weight", BIG_C, 0, 0);
    big_add(h, i, "post_attention_layernorm.weight", BIG_C, 0, 0);
    big_add(h, i, "mlp.gate_proj.weight", BIG_I, BIG_C, 0);
    big_add(h, i, "mlp.up_proj.weight", BIG_I, BIG_C, 0);
    big_add(h, i, "mlp.down_proj.weight", BIG_C, BIG_I, 0);
    if (i % 4 == 3) {
        big_add(h, i, "self_attn.q_proj.weight", 2LL * 24 * 256, BIG_C, 0);
        big_add(h, i, "self_attn.k_proj.weight", 4LL * 256, BIG_C, 0);
        big_add(h, i, "self_attn.v_proj.weight", 4LL * 256, BIG_C, 0);
        big_add(h, i, "self_attn.o_proj.weight", BIG_C, 24LL * 256, 0);
        big_add(h, i, "self_attn.q_norm.weight", 256, 0, 0);
        big_add(h, i, "self_attn.k_norm.weight", 256, 0, 0);
        return;
    }
    big_add(h, i, "linear_attn.in_proj_qkv.weight", BIG_CD, BIG_C, 0);
    big_add(h, i, "linear_attn.in_proj_z.weight", BIG_VD, BIG_C, 0);
    big_add(h, i, "linear_attn.in_proj_b.weight", 48, BIG_C, 0);
    big_add(h, i, "linear_attn.in_proj_a.weight", 48, BIG_C, 0);
    big_add(h, i, "linear_attn.out_proj.weight", BIG_C, BIG_VD, 0);
    big_add(h, i, "linear_attn.A_log", 48, 0, 0);
    big_add(h, i, "linear_attn.dt_bias", 48, 0, 0);
    big_add(h, i, "linear_attn.norm.weight", 128, 0, 0);
    big_add(h, i, "linear_attn.conv1d.weight", BIG_CD, 1, 4);
}

/* False if the file system has no room for a file of that length, holes or not. */
static inline int big_model(const folder *to)
{
    char *text = NULL, path[FOLDER_PATH];
    size_t size = 0;
    big_header h = {.text = open_memstream(&text, &size)};
    if (h.text == NULL)
        return 0;
    big_add(&h, -1, "model.embed_tokens.weight", BIG_V, BIG_C, 0);
    big_add(&h, -1, "lm_head.weight", BIG_V, BIG_C, 0);
    big_add(&h, -1, "model.norm.weight", BIG_C, 0, 0);
    for (int i = 0; i < BIG_LAYERS; i++)
        big_layer(&h, i);
    fputc('}', h.text);
    while (ftell(h.text) % 8 != 0)
        fputc(' ', h.text);
    fclose(h.text);
    folder_text(to, "config.json", BIG_CONFIG);
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((unsigned long long)size >> (8 * i) & 255);
    FILE *f = fopen(folder_file(to, "model.safetensors", path), "wb");
    int ok = f != NULL && fwrite(length, 1, 8, f) == 8 && fwrite(text, 1, size, f) == size && fflush(f) == 0 &&
             ftruncate(fileno(f), (off_t)(8 + size) + (off_t)h.at) == 0;
    if (f != NULL)
        fclose(f);
    free(text);
    return ok;
}

/* The largest of this process's children so far, in MB; 0 under a sanitizer, whose shadow counts too. */
static inline long big_children_mb(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return 0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return 0;
#endif
#endif
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return u.ru_maxrss / 1024;
}

#endif
