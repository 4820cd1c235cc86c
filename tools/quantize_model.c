#include "quantize.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/weights.h"
#include "format/json.h"
#include "mlx.h"
#include "num/convert.h"
#include "override.h"
#include "quantize_draft.h"
#include "staging.h"

typedef struct {
    const char *model;
    ts_mlx_encoder *encode;
    int draft_bits;
    ts_overrides overrides;
    cJSON *own; /* module path -> what config.json says of it */
    ts_weights *w;
    ts_tensor *tensor;
    void **owned; /* data to free; the rest is the checkpoint's */
    size_t n, room;
    ts_error *err;
} job;

/* Appends a tensor without data. */
static ts_tensor *add(job *q, const char *name, ts_dtype dtype, int ndim, int64_t d0, int64_t d1, int64_t d2)
{
    size_t length = strlen(name) + 1;
    char *copy = malloc(length);
    if (!copy || q->n == q->room) {
        free(copy);
        ts_no_memory(q->err, length);
        return NULL;
    }
    memcpy(copy, name, length);
    ts_tensor *t = &q->tensor[q->n++];
    *t = (ts_tensor){.name = copy, .dtype = dtype, .ndim = ndim, .dim = {d0, d1, d2}};
    t->size = (size_t)ts_tensor_count(t) * (size_t)ts_dtype_table[dtype].bits / 8;
    return t;
}

/* The same with data of its own to be filled in. */
static void *add_owned(job *q, const char *name, ts_dtype dtype, int ndim, int64_t d0, int64_t d1, int64_t d2)
{
    ts_tensor *t = add(q, name, dtype, ndim, d0, d1, d2);
    if (!t)
        return NULL;
    void *data = malloc(t->size + 1);
    if (!data)
        ts_no_memory(q->err, t->size);
    q->owned[q->n - 1] = data;
    t->data = data;
    return data;
}

static ts_status add_affine(job *q, const char *name, const ts_matrix *m, ts_affine kind)
{
    char full[3][160];
    int64_t groups = m->K / kind.group;
    snprintf(full[0], sizeof full[0], "%s.weight", name);
    snprintf(full[1], sizeof full[1], "%s.scales", name);
    snprintf(full[2], sizeof full[2], "%s.biases", name);
    if (m->K % kind.group != 0)
        return ts_fail(q->err, TS_BAD, q->model, full[0], "%" PRId64 " columns are not a multiple of the group %d",
                       m->K, kind.group);
    uint32_t *words = add_owned(q, full[0], TS_U32, 2, m->N, m->K * kind.bits / 32, 0);
    uint16_t *scales = words ? add_owned(q, full[1], TS_BF16, 2, m->N, groups, 0) : NULL;
    uint16_t *biases = scales ? add_owned(q, full[2], TS_BF16, 2, m->N, groups, 0) : NULL;
    if (!biases)
        return TS_BAD;
    int64_t bad = ts_mlx_quantize(q->encode, m, kind.bits, kind.group, words, scales, biases);
    if (bad == -2)
        return ts_no_memory(q->err, (size_t)m->K * sizeof(float));
    if (bad >= 0)
        return ts_fail(q->err, TS_BAD, q->model, full[0],
                       "row %" PRId64 ": bf16 cannot hold a group's scale or bias", bad);
    return TS_OK;
}

/* As stored. */
static ts_status add_plain(job *q, const char *name, const ts_matrix *m)
{
    char full[160];
    snprintf(full, sizeof full, "%s.weight", name);
    ts_dtype dtype = m->format == TS_W_BF16 ? TS_BF16 : m->format == TS_W_F16 ? TS_F16 : TS_F32;
    ts_tensor *t = add(q, full, dtype, 2, m->N, m->K, 0);
    if (t)
        t->data = m->data;
    return t ? TS_OK : TS_BAD;
}

/* What mlx-lm's loader looks for: the module's own bits and group, or false. */
static bool note_override(job *q, const char *name, ts_affine kind)
{
    if (kind.bits == 0)
        return cJSON_AddFalseToObject(q->own, name) != NULL;
    cJSON *o = cJSON_AddObjectToObject(q->own, name);
    cJSON_AddNumberToObject(o, "group_size", (double)kind.group);
    return cJSON_AddNumberToObject(o, "bits", (double)kind.bits) != NULL;
}

static ts_status add_matrix(job *q, const char *name, const ts_matrix *m)
{
    ts_affine kind;
    bool own = ts_overrides_find(&q->overrides, name, &kind);
    if (m->format == TS_W_MLX)
        return ts_fail(q->err, TS_BAD, q->model, name, "is quantised already");
    if (own && !note_override(q, name, kind))
        return ts_no_memory(q->err, sizeof(cJSON));
    return kind.bits ? add_affine(q, name, m, kind) : add_plain(q, name, m);
}

/* MLX applies w, not 1 + w, to a norm's output: the sum is rounded to bf16 here. */
static ts_status add_norm(job *q, const char *name, const ts_vector *v)
{
    uint16_t *y = add_owned(q, name, TS_BF16, 1, v->n, 0, 0);
    for (int64_t i = 0; y && i < v->n; i++)
        y[i] = ts_f32_to_bf16(q->w->folded ? v->v[i] : 1 + v->v[i]);
    return y ? TS_OK : TS_BAD;
}

static ts_status add_conv(job *q, const char *name, const ts_vector *v)
{
    int64_t W = q->w->cfg.W;
    uint16_t *y = add_owned(q, name, TS_BF16, 3, v->n / W, W, 1);
    for (int64_t i = 0; y && i < v->n; i++)
        y[i] = ts_f32_to_bf16(v->v[i]);
    return y ? TS_OK : TS_BAD;
}

/* A parameter that MLX takes as it is, dtype included. */
static ts_status add_as_stored(job *q, const char *name, int64_t layer, const char *suffix)
{
    static const char *const prefix[] = {"model.", "model.language_model.", "language_model.model."};
    const ts_tensor *from = NULL;
    char source[160];
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix && !from; i++) {
        snprintf(source, sizeof source, "%slayers.%" PRId64 ".%s", prefix[i], layer, suffix);
        from = ts_checkpoint_find(q->w->ckpt, source, NULL);
    }
    if (!from)
        return ts_fail(q->err, TS_BAD, q->model, name, "not in the checkpoint");
    ts_tensor *t = add(q, name, from->dtype, 1, ts_tensor_count(from), 0, 0);
    if (t)
        t->data = from->data;
    return t ? TS_OK : TS_BAD;
}

typedef enum { MATRIX, NORM, CONV, STORED } rule;

/* What becomes of a layer's parameter: slot of ts_layer (STORED: none), layers that have it. */
typedef struct {
    const char *suffix;
    rule rule;
    size_t slot;
    bool in_linear, in_full;
} parameter;

static const parameter parameters[] = {
    {"input_layernorm.weight", NORM, offsetof(ts_layer, input_norm), true, true},
    {"post_attention_layernorm.weight", NORM, offsetof(ts_layer, post_norm), true, true},
    {"mlp.gate_proj", MATRIX, offsetof(ts_layer, gate_proj), true, true},
    {"mlp.up_proj", MATRIX, offsetof(ts_layer, up_proj), true, true},
    {"mlp.down_proj", MATRIX, offsetof(ts_layer, down_proj), true, true},
    {"linear_attn.in_proj_qkv", MATRIX, offsetof(ts_layer, in_qkv), true, false},
    {"linear_attn.in_proj_z", MATRIX, offsetof(ts_layer, in_z), true, false},
    {"linear_attn.in_proj_b", MATRIX, offsetof(ts_layer, in_b), true, false},
    {"linear_attn.in_proj_a", MATRIX, offsetof(ts_layer, in_a), true, false},
    {"linear_attn.out_proj", MATRIX, offsetof(ts_layer, out), true, false},
    {"linear_attn.conv1d.weight", CONV, offsetof(ts_layer, conv), true, false},
    {"linear_attn.norm.weight", STORED, 0, true, false},
    {"linear_attn.A_log", STORED, 0, true, false},
    {"linear_attn.dt_bias", STORED, 0, true, false},
    {"self_attn.q_proj", MATRIX, offsetof(ts_layer, q_proj), false, true},
    {"self_attn.k_proj", MATRIX, offsetof(ts_layer, k_proj), false, true},
    {"self_attn.v_proj", MATRIX, offsetof(ts_layer, v_proj), false, true},
    {"self_attn.o_proj", MATRIX, offsetof(ts_layer, o_proj), false, true},
    {"self_attn.q_norm.weight", NORM, offsetof(ts_layer, q_norm), false, true},
    {"self_attn.k_norm.weight", NORM, offsetof(ts_layer, k_norm), false, true},
};
enum { N_PARAMETERS = sizeof parameters / sizeof *parameters };

static ts_status add_parameter(job *q, int64_t layer, const parameter *p)
{
    char name[128];
    const void *slot = (const char *)&q->w->layer[layer] + p->slot;
    if (q->w->cfg.full[layer] ? !p->in_full : !p->in_linear)
        return TS_OK;
    snprintf(name, sizeof name, "language_model.model.layers.%" PRId64 ".%s", layer, p->suffix);
    switch (p->rule) {
    case MATRIX:
        return add_matrix(q, name, slot);
    case NORM:
        return add_norm(q, name, slot);
    case CONV:
        return add_conv(q, name, slot);
    case STORED:
        return add_as_stored(q, name, layer, p->suffix);
    }
    return TS_BAD;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ts_tensor *)a)->name, ((const ts_tensor *)b)->name);
}

/* All tensors of the new checkpoint, sorted by name. */
static ts_status make_tensors(job *q)
{
    const ts_config *c = &q->w->cfg;
    q->room = (size_t)c->layers * 3 * N_PARAMETERS + 8;
    q->tensor = calloc(q->room, sizeof *q->tensor);
    q->owned = calloc(q->room, sizeof *q->owned);
    q->own = cJSON_CreateObject();
    if (!q->tensor || !q->owned || !q->own)
        return ts_no_memory(q->err, q->room * sizeof *q->tensor);
    ts_status status = add_matrix(q, "language_model.model.embed_tokens", &q->w->embed);
    if (!status)
        status = add_norm(q, "language_model.model.norm.weight", &q->w->final_norm);
    if (!status && !c->tied)
        status = add_matrix(q, "language_model.lm_head", &q->w->head);
    for (int64_t l = 0; l < c->layers; l++)
        for (int p = 0; p < N_PARAMETERS && !status; p++)
            status = add_parameter(q, l, &parameters[p]);
    if (!status)
        qsort(q->tensor, q->n, sizeof *q->tensor, by_name);
    return status ? status : ts_overrides_check_used(&q->overrides, q->err);
}

/* The defaults, then the overrides. NULL: out of memory. */
static cJSON *quantization_json(const job *q)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "group_size", (double)q->overrides.all.group);
    cJSON_AddNumberToObject(o, "bits", (double)q->overrides.all.bits);
    bool whole = cJSON_AddStringToObject(o, "mode", "affine") != NULL;
    for (const cJSON *i = q->own->child; i && whole; i = i->next)
        whole = cJSON_AddItemToObject(o, i->string, cJSON_Duplicate(i, true));
    if (whole)
        return o;
    cJSON_Delete(o);
    return NULL;
}

static ts_status add_quantization(const job *q, cJSON *config, const char *file)
{
    static const char *const key[] = {"quantization", "quantization_config"};
    for (int i = 0; i < 2; i++) {
        const cJSON *old = cJSON_GetObjectItemCaseSensitive(config, key[i]);
        if (old && !cJSON_IsNull(old))
            return ts_fail(q->err, TS_BAD, file, key[i], "the model is quantised already");
        cJSON_DeleteItemFromObjectCaseSensitive(config, key[i]);
        cJSON *o = quantization_json(q);
        if (!o || !cJSON_AddItemToObject(config, key[i], o)) {
            cJSON_Delete(o);
            return ts_no_memory(q->err, sizeof(cJSON));
        }
    }
    return TS_OK;
}

static ts_status write_config(const job *q, ts_staging *s)
{
    char from[TS_STAGING_PATH + 128], to[TS_STAGING_PATH + 128];
    cJSON *config = NULL;
    snprintf(from, sizeof from, "%s/config.json", q->model);
    ts_status status = ts_json_load(from, &config, q->err);
    if (!status)
        status = add_quantization(q, config, from);
    if (!status)
        status = ts_json_save(ts_staging_add(s, "config.json", to), config, q->err);
    cJSON_Delete(config);
    return status;
}

static ts_status copy_if_present(const job *q, ts_staging *s, const char *name)
{
    char from[TS_STAGING_PATH + 128], to[TS_STAGING_PATH + 128];
    char *text = NULL;
    size_t size = 0;
    snprintf(from, sizeof from, "%s/%s", q->model, name);
    if (access(from, F_OK) && errno == ENOENT)
        return TS_OK;
    ts_status status = ts_read_file(from, &text, &size, q->err);
    if (!status)
        status = ts_write_file(ts_staging_add(s, name, to), text, size, q->err);
    free(text);
    return status;
}

static ts_status write_files(job *q, ts_staging *s)
{
    static const char *const kept[] = {"tokenizer.json", "tiktoken.model", "tokenizer_config.json",
                                       "generation_config.json"};
    static const ts_meta meta = {"format", "mlx"};
    char path[TS_STAGING_PATH + 128];
    ts_status status = ts_weights_load(q->model, &q->w, q->err);
    if (!status && !ts_config_is_dense(&q->w->cfg))
        status = ts_fail(q->err, TS_BAD, q->model, NULL, "models of type %s cannot be quantised",
                         q->w->cfg.model_type);
    if (!status)
        status = make_tensors(q);
    if (!status)
        status = write_config(q, s);
    for (size_t i = 0; i < sizeof kept / sizeof *kept && !status; i++)
        status = copy_if_present(q, s, kept[i]);
    if (!status)
        status = ts_safetensors_write(ts_staging_add(s, "model.safetensors", path), q->tensor, q->n, &meta, 1,
                                      q->err);
    return status ? status
                  : ts_quantize_drafters(q->model, q->encode, q->draft_bits, q->overrides.all.group, s, q->err);
}

static void free_job(job *q)
{
    for (size_t i = 0; i < q->n; i++)
        free((void *)(uintptr_t)q->tensor[i].name);
    for (size_t i = 0; q->owned && i < q->room; i++)
        free(q->owned[i]);
    free(q->tensor);
    free(q->owned);
    cJSON_Delete(q->own);
    if (q->w)
        ts_weights_free(q->w);
}

static ts_status check_folders(const char *from, const char *to, ts_error *err)
{
    struct stat a, b;
    if (strlen(from) >= TS_STAGING_PATH)
        return ts_fail(err, TS_USAGE, NULL, "--model", "path too long");
    if (stat(from, &a) == 0 && stat(to, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return ts_fail(err, TS_USAGE, to, NULL, "is the model itself");
    return TS_OK;
}

static ts_status read_options(job *q, const ts_quantize_options *o)
{
    const char *encoder = o->encoder ? o->encoder : "mlx-cpu";
    q->encode = ts_mlx_encoder_find(encoder);
    if (!q->encode)
        return ts_fail(q->err, TS_USAGE, NULL, "--encoder", "'%s' is none of " TS_ENCODERS, encoder);
    return ts_overrides_read((ts_affine){o->bits, o->group}, &o->overrides, &q->overrides, q->err);
}

ts_status ts_quantize(const char *from, const char *to, const ts_quantize_options *o, ts_error *err)
{
    static const char *const stale[] = {"model.safetensors.index.json",
                                        "tokenizer.json",
                                        "tiktoken.model",
                                        "tokenizer_config.json",
                                        "generation_config.json",
                                        "mtp.safetensors",
                                        "mtp-config.json",
                                        "dflash2.safetensors",
                                        "dflash2-config.json",
                                        NULL};
    ts_staging s;
    job q = {.model = from, .draft_bits = o->draft_bits ? o->draft_bits : 8, .err = err};
    ts_status status = read_options(&q, o);
    if (!status)
        status = check_folders(from, to, err);
    if (!status)
        status = ts_staging_open(&s, to, err);
    if (status)
        return status;
    status = write_files(&q, &s);
    if (!status)
        status = ts_staging_commit(&s, stale, err);
    if (status)
        ts_staging_abort(&s);
    free_job(&q);
    return status;
}
