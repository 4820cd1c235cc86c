/* A checkpoint's tensors bound to the slots of the model. Every tensor is
 * checked (dtype, shape, finite) on its way into its slot; what is left over
 * must be a part that the text model does not have. */
#include "config/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "num/convert.h"

enum { NAME = 256, BLOCK = 4096 };

typedef struct {
    ts_weights *w;
    const char *path;       /* of the checkpoint, for what is missing from it */
    const char *prefix;     /* of layers, embed_tokens and norm */
    int64_t layer;          /* the one being bound, or -1 */
    const ts_tensor **used; /* tensors that found their slot */
    size_t n_used;
    ts_error *err;
} binder;

static const struct {
    const char *prefix;
    bool mlx; /* norms hold 1 + w, conv1d is [CD,W,1] */
} naming[] = {
    {"model.language_model.", false},
    {"model.", false},
    {"language_model.model.", true},
};

static void full_name(const binder *b, const char *suffix, char out[NAME])
{
    if (b->layer >= 0)
        snprintf(out, NAME, "%slayers.%lld.%s", b->prefix, (long long)b->layer, suffix);
    else
        snprintf(out, NAME, "%s%s", b->prefix, suffix);
}

static ts_status take(binder *b, const char *name, const ts_tensor **t, const char **file)
{
    *t = ts_checkpoint_find(b->w->ckpt, name, file);
    if (*t == NULL)
        return ts_fail(b->err, TS_BAD, b->path, name, "missing");
    b->used[b->n_used++] = *t;
    return TS_OK;
}

static void shape_text(int ndim, const int64_t *dim, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < ndim && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%lld", i > 0 ? "," : "", (long long)dim[i]);
    if (n < size)
        snprintf(out + n, size - n, "]");
}

static ts_status check_shape(const binder *b, const ts_tensor *t, const char *file, int ndim, const int64_t *dim)
{
    bool same = t->ndim == ndim;
    for (int i = 0; i < ndim && same; i++)
        same = t->dim[i] == dim[i];
    if (same)
        return TS_OK;
    char has[192], wants[96];
    shape_text(t->ndim, t->dim, has, sizeof has);
    shape_text(ndim, dim, wants, sizeof wants);
    return ts_fail(b->err, TS_BAD, file, t->name, "has shape %s, wants %s", has, wants);
}

/* Index of the first element whose exponent bits are all ones, or n. Whole blocks first: the
 * inner loop then has no exit and runs at memory speed. */
static int64_t first_bad16(const uint16_t *p, int64_t n, uint16_t exponent)
{
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t end = n - at < BLOCK ? n : at + BLOCK;
        int bad = 0;
        for (int64_t i = at; i < end; i++)
            bad |= (p[i] & exponent) == exponent;
        for (int64_t i = at; bad && i < end; i++)
            if ((p[i] & exponent) == exponent)
                return i;
    }
    return n;
}

static int64_t first_bad32(const uint32_t *p, int64_t n)
{
    const uint32_t exponent = 0x7F800000u;
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t end = n - at < BLOCK ? n : at + BLOCK;
        int bad = 0;
        for (int64_t i = at; i < end; i++)
            bad |= (p[i] & exponent) == exponent;
        for (int64_t i = at; bad && i < end; i++)
            if ((p[i] & exponent) == exponent)
                return i;
    }
    return n;
}

/* A BF16, F16 or F32 tensor without NaN and infinity. */
static ts_status check_floats(const binder *b, const ts_tensor *t, const char *file)
{
    const int64_t n = ts_tensor_count(t);
    const uint16_t *half = t->data;
    const uint32_t *word = t->data;
    int64_t at;
    bool nan;
    if (t->dtype == TS_BF16) {
        at = first_bad16(half, n, 0x7F80);
        nan = at < n && (half[at] & 0x7F) != 0;
    } else if (t->dtype == TS_F16) {
        at = first_bad16(half, n, 0x7C00);
        nan = at < n && (half[at] & 0x3FF) != 0;
    } else if (t->dtype == TS_F32) {
        at = first_bad32(word, n);
        nan = at < n && (word[at] & 0x7FFFFF) != 0;
    } else {
        return ts_fail(b->err, TS_BAD, file, t->name, "dtype %s; BF16, F16 and F32 are read%s",
                       ts_dtype_table[t->dtype].name,
                       t->dtype == TS_U32 ? " (MLX codes need a quantization in the config, and scales)" : "");
    }
    if (at == n)
        return TS_OK;
    return ts_fail(b->err, TS_BAD, file, t->name, "%s at element %lld", nan ? "NaN" : "Inf", (long long)at);
}

static ts_status bind_vector(binder *b, const char *suffix, int ndim, const int64_t *dim, ts_vector *out)
{
    char name[NAME];
    const ts_tensor *t;
    const char *file;
    full_name(b, suffix, name);
    ts_status status = take(b, name, &t, &file);
    if (status == TS_OK)
        status = check_shape(b, t, file, ndim, dim);
    if (status == TS_OK)
        status = check_floats(b, t, file);
    if (status != TS_OK)
        return status;
    out->n = ts_tensor_count(t);
    out->v = malloc((size_t)out->n * sizeof *out->v);
    if (out->v == NULL)
        return ts_no_memory(b->err, (size_t)out->n * sizeof *out->v);
    const uint16_t *half = t->data;
    if (t->dtype == TS_F32)
        memcpy(out->v, t->data, t->size);
    for (int64_t i = 0; i < out->n && t->dtype == TS_BF16; i++)
        out->v[i] = ts_bf16_to_f32(half[i]);
    for (int64_t i = 0; i < out->n && t->dtype == TS_F16; i++)
        out->v[i] = ts_f16_to_f32(half[i]);
    return TS_OK;
}

static ts_status bind_plain(binder *b, const char *name, int64_t N, int64_t K, ts_matrix *out)
{
    const ts_tensor *t;
    const char *file;
    const int64_t dim[2] = {N, K};
    ts_status status = take(b, name, &t, &file);
    if (status == TS_OK)
        status = check_floats(b, t, file);
    if (status == TS_OK)
        status = check_shape(b, t, file, 2, dim);
    if (status != TS_OK)
        return status;
    ts_weight_format format = t->dtype == TS_BF16 ? TS_W_BF16 : t->dtype == TS_F16 ? TS_W_F16 : TS_W_F32;
    *out = (ts_matrix){.format = format, .N = N, .K = K, .data = t->data};
    return TS_OK;
}

/* scales or biases: one float per group of a row. */
static ts_status take_aux(binder *b, const char *name, int64_t N, int64_t groups, const ts_tensor **t)
{
    const char *file;
    const int64_t dim[2] = {N, groups};
    ts_status status = take(b, name, t, &file);
    if (status == TS_OK)
        status = check_floats(b, *t, file);
    return status == TS_OK ? check_shape(b, *t, file, 2, dim) : status;
}

static ts_status bind_mlx(binder *b, const char *name, const char *scales, const char *biases, int64_t N, int64_t K,
                          ts_matrix *out)
{
    const int bits = b->w->cfg.quant_bits, group = b->w->cfg.quant_group;
    const ts_tensor *t, *s, *z;
    const char *file;
    if (K % group != 0)
        return ts_fail(b->err, TS_BAD, b->path, name, "%lld columns are not whole groups of %d", (long long)K,
                       group);
    const int64_t dim[2] = {N, K * bits / 32};
    ts_status status = take(b, name, &t, &file);
    if (status == TS_OK && t->dtype != TS_U32)
        status = ts_fail(b->err, TS_BAD, file, name, "dtype %s; MLX codes are U32", ts_dtype_table[t->dtype].name);
    if (status == TS_OK)
        status = check_shape(b, t, file, 2, dim);
    if (status == TS_OK)
        status = take_aux(b, scales, N, K / group, &s);
    if (status == TS_OK)
        status = take_aux(b, biases, N, K / group, &z);
    if (status != TS_OK)
        return status;
    if (s->dtype != z->dtype)
        return ts_fail(b->err, TS_BAD, file, biases, "dtype %s, the scales are %s", ts_dtype_table[z->dtype].name,
                       ts_dtype_table[s->dtype].name);
    *out = (ts_matrix){.format = TS_W_MLX,
                       .N = N,
                       .K = K,
                       .data = t->data,
                       .bits = bits,
                       .group = group,
                       .aux = s->dtype,
                       .scales = s->data,
                       .biases = z->data};
    return TS_OK;
}

/* `module` is a full name without ".weight". */
static ts_status bind_module(binder *b, const char *module, int64_t N, int64_t K, ts_matrix *out)
{
    char weight[NAME + 8], scales[NAME + 8], biases[NAME + 8];
    snprintf(weight, sizeof weight, "%s.weight", module);
    snprintf(scales, sizeof scales, "%s.scales", module);
    snprintf(biases, sizeof biases, "%s.biases", module);
    if (b->w->cfg.quant_bits != 0 && ts_checkpoint_find(b->w->ckpt, scales, NULL) != NULL)
        return bind_mlx(b, weight, scales, biases, N, K, out);
    return bind_plain(b, weight, N, K, out);
}

typedef struct {
    const char *suffix;
    int64_t N, K;
    ts_matrix *out;
} matrix_slot;

typedef struct {
    const char *suffix;
    int64_t n;
    ts_vector *out;
} vector_slot;

static ts_status bind_slots(binder *b, const matrix_slot *m, size_t n_m, const vector_slot *v, size_t n_v)
{
    char module[NAME];
    ts_status status = TS_OK;
    for (size_t i = 0; i < n_m && status == TS_OK; i++) {
        full_name(b, m[i].suffix, module);
        status = bind_module(b, module, m[i].N, m[i].K, m[i].out);
    }
    for (size_t i = 0; i < n_v && status == TS_OK; i++)
        status = bind_vector(b, v[i].suffix, 1, &v[i].n, v[i].out);
    return status;
}

static ts_status bind_linear_attention(binder *b, ts_layer *l)
{
    const ts_config *c = &b->w->cfg;
    const int64_t VD = c->Hv * c->Dv, CD = 2 * c->Hk * c->Dk + VD;
    const matrix_slot m[] = {
        {"linear_attn.in_proj_qkv", CD, c->C, &l->in_qkv}, {"linear_attn.in_proj_z", VD, c->C, &l->in_z},
        {"linear_attn.in_proj_b", c->Hv, c->C, &l->in_b},  {"linear_attn.in_proj_a", c->Hv, c->C, &l->in_a},
        {"linear_attn.out_proj", c->C, VD, &l->out},
    };
    const vector_slot v[] = {
        {"linear_attn.A_log", c->Hv, &l->A_log},
        {"linear_attn.dt_bias", c->Hv, &l->dt_bias},
        {"linear_attn.norm.weight", c->Dv, &l->gdn_norm},
    };
    const int64_t hf[3] = {CD, 1, c->W}, mlx[3] = {CD, c->W, 1};
    ts_status status = bind_slots(b, m, sizeof m / sizeof *m, v, sizeof v / sizeof *v);
    if (status != TS_OK)
        return status;
    return bind_vector(b, "linear_attn.conv1d.weight", 3, b->w->folded ? mlx : hf, &l->conv);
}

static ts_status bind_full_attention(binder *b, ts_layer *l)
{
    const ts_config *c = &b->w->cfg;
    const matrix_slot m[] = {
        {"self_attn.q_proj", 2 * c->Hq * c->D, c->C, &l->q_proj},
        {"self_attn.k_proj", c->Hkv * c->D, c->C, &l->k_proj},
        {"self_attn.v_proj", c->Hkv * c->D, c->C, &l->v_proj},
        {"self_attn.o_proj", c->C, c->Hq * c->D, &l->o_proj},
    };
    const vector_slot v[] = {
        {"self_attn.q_norm.weight", c->D, &l->q_norm},
        {"self_attn.k_norm.weight", c->D, &l->k_norm},
    };
    return bind_slots(b, m, sizeof m / sizeof *m, v, sizeof v / sizeof *v);
}

static ts_status bind_layer(binder *b, ts_layer *l)
{
    const ts_config *c = &b->w->cfg;
    const matrix_slot m[] = {
        {"mlp.gate_proj", c->I, c->C, &l->gate_proj},
        {"mlp.up_proj", c->I, c->C, &l->up_proj},
        {"mlp.down_proj", c->C, c->I, &l->down_proj},
    };
    const vector_slot v[] = {
        {"input_layernorm.weight", c->C, &l->input_norm},
        {"post_attention_layernorm.weight", c->C, &l->post_norm},
    };
    ts_status status = bind_slots(b, m, sizeof m / sizeof *m, v, sizeof v / sizeof *v);
    if (status != TS_OK)
        return status;
    return c->full[b->layer] ? bind_full_attention(b, l) : bind_linear_attention(b, l);
}

static ts_status find_prefix(binder *b)
{
    char name[NAME];
    for (size_t i = 0; i < sizeof naming / sizeof *naming; i++) {
        snprintf(name, sizeof name, "%sembed_tokens.weight", naming[i].prefix);
        if (ts_checkpoint_find(b->w->ckpt, name, NULL) != NULL) {
            b->prefix = naming[i].prefix;
            b->w->folded = naming[i].mlx;
            return TS_OK;
        }
    }
    return ts_fail(b->err, TS_BAD, b->path, "embed_tokens.weight",
                   "missing under model., model.language_model. and language_model.model.");
}

static bool same_matrix(const ts_matrix *a, const ts_matrix *b)
{
    if (a->format != b->format || a->aux != b->aux)
        return false;
    const bool mlx = a->format == TS_W_MLX;
    const int64_t bits = mlx ? a->bits : a->format == TS_W_F32 ? 32 : 16;
    if (memcmp(a->data, b->data, (size_t)(a->N * (a->K * bits / 8))) != 0)
        return false;
    const size_t aux = mlx ? (size_t)(a->N * (a->K / a->group) * ts_dtype_table[a->aux].bits / 8) : 0;
    return aux == 0 || (memcmp(a->scales, b->scales, aux) == 0 && memcmp(a->biases, b->biases, aux) == 0);
}

/* Some exports of tied models carry a copy of the embedding as lm_head: fine if it is one. */
static ts_status bind_tied_head(binder *b, const char *module, const char *weight)
{
    ts_weights *w = b->w;
    ts_matrix copy;
    w->head = w->embed;
    if (ts_checkpoint_find(w->ckpt, weight, NULL) == NULL)
        return TS_OK;
    ts_status status = bind_module(b, module, w->cfg.V, w->cfg.C, &copy);
    if (status == TS_OK && !same_matrix(&copy, &w->embed))
        status = ts_fail(b->err, TS_BAD, b->path, weight, "differs from the embedding, but the config ties them");
    return status;
}

static ts_status bind_ends(binder *b)
{
    ts_weights *w = b->w;
    const ts_config *c = &w->cfg;
    const matrix_slot embed = {"embed_tokens", c->V, c->C, &w->embed};
    const vector_slot norm = {"norm.weight", c->C, &w->final_norm};
    b->layer = -1;
    ts_status status = bind_slots(b, &embed, 1, &norm, 1);
    if (status != TS_OK)
        return status;
    const char *module = "lm_head", *weight = "lm_head.weight";
    if (ts_checkpoint_find(w->ckpt, "language_model.lm_head.weight", NULL) != NULL) {
        module = "language_model.lm_head";
        weight = "language_model.lm_head.weight";
    }
    return c->tied ? bind_tied_head(b, module, weight) : bind_module(b, module, c->V, c->C, &w->head);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const ts_tensor *const *)a, y = (uintptr_t) * (const ts_tensor *const *)b;
    return (x > y) - (x < y);
}

/* Parts of a published checkpoint that are not the text model. */
static bool other_part(const char *name)
{
    const char *const part[] = {"mtp.", "model.visual.", "vision_tower."};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (strncmp(name, part[i], strlen(part[i])) == 0)
            return true;
    return false;
}

static ts_status check_extras(binder *b)
{
    const char *file = NULL;
    qsort(b->used, b->n_used, sizeof *b->used, by_address);
    for (size_t i = 0; i < ts_checkpoint_count(b->w->ckpt); i++) {
        const ts_tensor *t = ts_checkpoint_at(b->w->ckpt, i);
        if (other_part(t->name) || bsearch(&t, b->used, b->n_used, sizeof *b->used, by_address) != NULL)
            continue;
        ts_checkpoint_find(b->w->ckpt, t->name, &file);
        return ts_fail(b->err, TS_BAD, file, t->name, "the model has no such tensor");
    }
    return TS_OK;
}

static ts_status bind_all(binder *b)
{
    ts_weights *w = b->w;
    ts_status status = find_prefix(b);
    if (status == TS_OK)
        status = bind_ends(b);
    for (int64_t i = 0; i < w->cfg.layers && status == TS_OK; i++) {
        b->layer = i;
        status = bind_layer(b, &w->layer[i]);
    }
    return status == TS_OK ? check_extras(b) : status;
}

static ts_status bind_checkpoint(ts_weights *w, const char *path, ts_error *err)
{
    ts_status status = ts_checkpoint_open(path, &w->ckpt, err);
    if (status != TS_OK)
        return status;
    size_t n = ts_checkpoint_count(w->ckpt);
    w->layer = calloc((size_t)w->cfg.layers, sizeof *w->layer);
    const ts_tensor **used = malloc((n + 1) * sizeof *used);
    if (w->layer == NULL || used == NULL) {
        free(used);
        return ts_no_memory(err, (size_t)w->cfg.layers * sizeof *w->layer + n * sizeof *used);
    }
    binder b = {.w = w, .path = path, .layer = -1, .used = used, .err = err};
    status = bind_all(&b);
    free(used);
    return status;
}

/* config is a file, or NULL for those of the folder `path`. */
static ts_status load(const char *config, const char *path, ts_weights **out, ts_error *err)
{
    ts_weights *w = calloc(1, sizeof *w);
    if (w == NULL)
        return ts_no_memory(err, sizeof *w);
    snprintf(w->path, sizeof w->path, "%s", path);
    ts_status status = config != NULL ? ts_config_load_file(config, &w->cfg, err)
                                      : ts_config_load(path, &w->cfg, err);
    if (status == TS_OK)
        status = bind_checkpoint(w, path, err);
    if (status == TS_OK)
        *out = w;
    else
        ts_weights_free(w);
    return status;
}

ts_status ts_weights_load(const char *dir, ts_weights **out, ts_error *err)
{
    return load(NULL, dir, out, err);
}

ts_status ts_weights_load_files(const char *config, const char *weights, ts_weights **out, ts_error *err)
{
    return load(config, weights, out, err);
}

ts_status ts_weights_hash(ts_weights *w, ts_error *err)
{
    return ts_checkpoint_sha256(w->ckpt, w->sha256, err);
}

void ts_weights_free(ts_weights *w)
{
    if (w == NULL)
        return;
    for (int64_t i = 0; w->layer != NULL && i < w->cfg.layers; i++) {
        ts_layer *l = &w->layer[i];
        ts_vector *const v[] = {&l->input_norm, &l->post_norm, &l->conv,   &l->A_log,
                                &l->dt_bias,    &l->gdn_norm,  &l->q_norm, &l->k_norm};
        for (size_t k = 0; k < sizeof v / sizeof *v; k++)
            free(v[k]->v);
    }
    free(w->layer);
    free(w->final_norm.v);
    ts_checkpoint_close(w->ckpt);
    free(w);
}
