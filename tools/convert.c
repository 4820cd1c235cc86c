/* From Hugging Face's layout to llama.cpp's: config/names.h says what happens to each tensor. */
#include "convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/names.h"
#include "num/convert.h"

enum { Q8_0_ELEMENTS = 32, Q8_0_BYTES = 34, NAME = 64 };

/* The slot of the weights that has the tensor. */
static const struct {
    const char *hf, *role;
} roles[] = {
    {"embed_tokens", "embed"},
    {"norm", "final_norm"},
    {"lm_head", "head"},
    {"input_layernorm", "input_norm"},
    {"post_attention_layernorm", "post_norm"},
    {"linear_attn.in_proj_qkv", "in_qkv"},
    {"linear_attn.in_proj_z", "in_z"},
    {"linear_attn.in_proj_b", "in_b"},
    {"linear_attn.in_proj_a", "in_a"},
    {"linear_attn.A_log", "A_log"},
    {"linear_attn.dt_bias", "dt_bias"},
    {"linear_attn.conv1d", "conv"},
    {"linear_attn.norm", "gdn_norm"},
    {"linear_attn.out_proj", "out"},
    {"self_attn.q_proj", "q_proj"},
    {"self_attn.k_proj", "k_proj"},
    {"self_attn.v_proj", "v_proj"},
    {"self_attn.o_proj", "o_proj"},
    {"self_attn.q_norm", "q_norm"},
    {"self_attn.k_norm", "k_norm"},
    {"mlp.gate_proj", "gate_proj"},
    {"mlp.up_proj", "up_proj"},
    {"mlp.down_proj", "down_proj"},
    {"mlp.gate", "router"},
    {"mlp.shared_expert.gate_proj", "shared_gate_proj"},
    {"mlp.shared_expert.up_proj", "shared_up_proj"},
    {"mlp.shared_expert.down_proj", "shared_down_proj"},
    {"mlp.shared_expert_gate", "shared_gate"},
};

enum { STACKS = 3, PER_LAYER = sizeof roles / sizeof *roles + STACKS };

/* A tensor to be written: E matrices m, or v. */
typedef struct {
    const ts_name *name;
    int64_t layer; /* -1: of the ends */
    bool stack;    /* of experts, E of them; else E = 1 */
    int64_t E;
    const ts_matrix *m;
    const ts_ggml_type *type; /* of m */
    const ts_vector *v;
    size_t size;
    char full[NAME]; /* in the file */
} item;

typedef struct {
    const char *from;
    const ts_weights *w;
    const ts_ggml_type *type; /* of matrices, but for those that stay f32 */
    ts_gguf_out out;
    item *item;
    size_t n;
    float *row; /* of the widest */
    unsigned char *packed;
    ts_error *err;
} job;

static const char *role_of(const ts_name *n)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].hf, n->hf) == 0)
            return roles[i].role;
    return NULL;
}

/* Where element j of `total` of the written tensor comes from: value head n = s * Hk + g was h = g * r + s. */
static int64_t source_index(const ts_config *c, ts_name_tile tile, int64_t total, int64_t j)
{
    int64_t first = tile == TS_TILE_VALUES ? 2 * c->Hk * c->Dk : 0, d = (total - first) / c->Hv;
    if (tile == TS_TILE_NONE || j < first)
        return j;
    int64_t n = (j - first) / d, h = n % c->Hk * (c->Hv / c->Hk) + n / c->Hk;
    return first + h * d + (j - first) % d;
}

static void widen_row(const job *q, const item *i, const ts_matrix *m, int64_t n)
{
    const ts_name_tile columns = i->name->tile == TS_TILE_COLUMNS ? TS_TILE_COLUMNS : TS_TILE_NONE;
    const ts_name_tile rows = columns == TS_TILE_NONE ? i->name->tile : TS_TILE_NONE;
    const int64_t at = source_index(&q->w->cfg, rows, m->N, n) * m->K;
    for (int64_t k = 0; k < m->K; k++) {
        const int64_t from = at + source_index(&q->w->cfg, columns, m->K, k);
        q->row[k] = m->format == TS_W_F32   ? ((const float *)m->data)[from]
                    : m->format == TS_W_F16 ? ts_f16_to_f32(((const uint16_t *)m->data)[from])
                                            : ts_bf16_to_f32(((const uint16_t *)m->data)[from]);
    }
}

static void put16(unsigned char *to, uint16_t x)
{
    to[0] = (unsigned char)(x & 255);
    to[1] = (unsigned char)(x >> 8);
}

/* d = max |x| / 127, codes by rounding half away from zero. False: d is no finite f16. */
static bool pack_q8_0(const float *x, unsigned char *to)
{
    float most = 0;
    for (int i = 0; i < Q8_0_ELEMENTS; i++)
        most = fmaxf(most, fabsf(x[i]));
    const float d = most / 127, inverse = d != 0 ? 1 / d : 0;
    const uint16_t h = ts_f32_to_f16(d);
    put16(to, h);
    for (int i = 0; i < Q8_0_ELEMENTS; i++)
        to[2 + i] = (unsigned char)(int8_t)roundf(x[i] * inverse);
    return (h & 0x7C00) != 0x7C00;
}

/* K elements of the row; false: one of them does not fit. */
static bool pack_row(const job *q, const ts_ggml_type *type, int64_t K)
{
    bool fits = true;
    const bool brain = type->dtype == TS_BF16;
    const uint16_t exponent = brain ? 0x7F80 : 0x7C00;
    if (type->dtype == TS_F32) {
        memcpy(q->packed, q->row, (size_t)K * sizeof(float));
        return true;
    }
    for (int64_t k = 0; type->dtype == TS_DTYPE_COUNT && k < K; k += Q8_0_ELEMENTS)
        fits &= pack_q8_0(q->row + k, q->packed + k / Q8_0_ELEMENTS * Q8_0_BYTES);
    for (int64_t k = 0; type->dtype != TS_DTYPE_COUNT && k < K; k++) {
        uint16_t h = brain ? ts_f32_to_bf16(q->row[k]) : ts_f32_to_f16(q->row[k]);
        put16(q->packed + 2 * k, h);
        fits &= (h & exponent) != exponent;
    }
    return fits;
}

/* Expert after expert. */
static ts_status write_matrix(const job *q, const item *i, ts_out *file)
{
    const int64_t N = i->m->N;
    const size_t bytes = i->size / (size_t)(i->E * N);
    ts_status status = TS_OK;
    for (int64_t n = 0; n < i->E * N && !status; n++) {
        widen_row(q, i, &i->m[n / N], n % N);
        if (!pack_row(q, i->type, i->m->K))
            return ts_fail(q->err, TS_BAD, q->from, i->full, "row %lld holds a number too large for %s",
                           (long long)n, i->type->name);
        status = ts_out_write(file, q->packed, bytes, q->err);
    }
    return status;
}

static float changed(const job *q, const ts_name *n, float x)
{
    if (n->change == TS_CHANGE_PLUS_ONE)
        return q->w->folded ? x : 1 + x;
    return n->change == TS_CHANGE_RATE ? (float)-exp((double)x) : x;
}

/* Rows of W taps of the convolution, else of one element. */
static ts_status write_vector(const job *q, const item *i, ts_out *file)
{
    const int64_t width = i->name->change == TS_CHANGE_SQUEEZE ? q->w->cfg.W : 1, rows = i->v->n / width;
    float *y = malloc(i->size);
    if (!y)
        return ts_no_memory(q->err, i->size);
    for (int64_t j = 0; j < i->v->n; j++) {
        const int64_t from = source_index(&q->w->cfg, i->name->tile, rows, j / width) * width + j % width;
        y[j] = changed(q, i->name, i->v->v[from]);
    }
    ts_status status = ts_out_write(file, y, i->size, q->err);
    free(y);
    return status;
}

/* The experts' matrices of that name, or NULL. */
static const ts_matrix *experts(const job *q, const ts_name *n, int64_t layer)
{
    static const char *const hf[STACKS] = {"mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj"};
    if (layer < 0)
        return NULL;
    const ts_layer *l = &q->w->layer[layer];
    const ts_matrix *const stack[STACKS] = {l->expert_gate, l->expert_up, l->expert_down};
    for (int i = 0; i < STACKS; i++)
        if (strcmp(hf[i], n->hf) == 0)
            return stack[i];
    return NULL;
}

/* What the name stands for in this layer; neither m nor v: nothing. */
static item find_item(const job *q, const ts_name *n, int64_t layer)
{
    const char *role = role_of(n), *end = n->bare ? "" : ".weight";
    const bool tied_head = q->w->cfg.tied && strcmp(n->hf, "lm_head") == 0;
    const ts_matrix *stack = experts(q, n, layer);
    /* What chooses experts stays exact. */
    const bool exact = n->change == TS_CHANGE_FLAT || strcmp(n->hf, "mlp.gate") == 0;
    item i = {.name = n, .layer = layer, .E = stack ? q->w->cfg.moe.E : 1, .stack = stack, .m = stack};
    i.type = exact ? ts_ggml_type_find("F32") : q->type;
    if (role && !tied_head)
        i.m = ts_weights_matrix(q->w, layer, role);
    i.v = role ? ts_weights_vector(q->w, layer, role) : NULL;
    if (layer < 0)
        snprintf(i.full, NAME, "%s%s", n->gguf, end);
    else
        snprintf(i.full, NAME, "blk.%lld.%s%s", (long long)layer, n->gguf, end);
    return i;
}

static size_t put_matrix(job *q, const item *i)
{
    const int64_t N = i->m->N, K = i->m->K;
    if (i->name->change == TS_CHANGE_FLAT)
        return ts_gguf_put_tensor(&q->out, i->full, 1, &K, i->type);
    if (i->stack)
        return ts_gguf_put_tensor(&q->out, i->full, 3, (int64_t[]){i->E, N, K}, i->type);
    return ts_gguf_put_tensor(&q->out, i->full, 2, (int64_t[]){N, K}, i->type);
}

static size_t put_vector(job *q, const item *i)
{
    const int64_t W = q->w->cfg.W, n = i->v->n;
    const bool conv = i->name->change == TS_CHANGE_SQUEEZE;
    return ts_gguf_put_tensor(&q->out, i->full, conv ? 2 : 1, (int64_t[]){conv ? n / W : n, W},
                              ts_ggml_type_find("F32"));
}

static ts_status add_item(job *q, const ts_name *n, int64_t layer)
{
    item *i = &q->item[q->n];
    *i = find_item(q, n, layer);
    if (!i->m && !i->v)
        return TS_OK;
    if (i->m && i->m->format == TS_W_MLX)
        return ts_fail(q->err, TS_BAD, q->from, i->full, "is quantised already");
    if (i->m && i->m->K % i->type->elements != 0)
        return ts_fail(q->err, TS_BAD, q->from, i->full, "rows of %lld are not whole blocks of %d (%s)",
                       (long long)i->m->K, i->type->elements, i->type->name);
    i->size = i->m ? put_matrix(q, i) : put_vector(q, i);
    q->n++;
    return TS_OK;
}

static ts_status add_items(job *q)
{
    ts_status status = TS_OK;
    for (int64_t layer = -1; layer < q->w->cfg.layers; layer++)
        for (size_t i = 0; ts_name_at(i) && !status; i++)
            if (ts_name_at(i)->place == (layer < 0 ? TS_NAME_END : TS_NAME_LAYER))
                status = add_item(q, ts_name_at(i), layer);
    return status;
}

static ts_status check_model(const job *q)
{
    const ts_config *c = &q->w->cfg;
    if (q->w->rate)
        return ts_fail(q->err, TS_BAD, q->from, NULL, "is a GGUF file already");
    if (c->family != TS_FAMILY_QWEN35)
        return ts_fail(q->err, TS_BAD, q->from, NULL, "models of type %s cannot be converted", c->model_type);
    for (int64_t i = 0; c->moe.E > 0 && i < c->layers; i++)
        if (!c->moe.layer[i])
            return ts_fail(q->err, TS_BAD, q->from, NULL, "layer %lld is dense: qwen35moe has experts in all",
                           (long long)i);
    if (c->moe.E > 0 && !c->moe.renorm)
        return ts_fail(q->err, TS_BAD, q->from, "norm_topk_prob", "false has no key in qwen35moe");
    if (c->Dk != c->Dv)
        return ts_fail(q->err, TS_BAD, q->from, "linear_value_head_dim",
                       "differs from linear_key_head_dim: GGUF has one number for both");
    return TS_OK;
}

static ts_status allocate(job *q)
{
    const ts_config *c = &q->w->cfg;
    int64_t widest = c->C;
    const int64_t K[] = {c->I, c->Hq * c->D, c->Hv * c->Dv, c->moe.I, c->moe.shared};
    for (size_t i = 0; i < sizeof K / sizeof *K; i++)
        widest = K[i] > widest ? K[i] : widest;
    const size_t items = (size_t)(c->layers + 1) * PER_LAYER;
    q->item = calloc(items, sizeof *q->item);
    q->row = malloc((size_t)widest * sizeof *q->row);
    q->packed = malloc((size_t)widest * sizeof *q->row);
    return q->item && q->row && q->packed ? TS_OK : ts_no_memory(q->err, items * sizeof *q->item);
}

static ts_status write_file(const job *q, const char *to)
{
    ts_out file;
    ts_status status = ts_out_open(&file, to, q->err);
    if (status)
        return status;
    status = ts_gguf_out_begin(&q->out, &file, q->err);
    for (size_t i = 0; i < q->n && !status; i++) {
        status = q->item[i].m ? write_matrix(q, &q->item[i], &file) : write_vector(q, &q->item[i], &file);
        if (!status)
            status = ts_gguf_out_pad(&file, q->item[i].size, q->err);
    }
    return ts_out_close(&file, status, q->err);
}

static ts_status convert(job *q, const char *to)
{
    ts_status status = check_model(q);
    if (!status)
        status = allocate(q);
    if (!status)
        status = ts_convert_keys(q->w, q->from, q->type, &q->out, q->err);
    if (!status)
        status = add_items(q);
    return status ? status : write_file(q, to);
}

/* The type of that name in small letters, of those that are written. */
static const ts_ggml_type *find_type(const char *name)
{
    static const char *const type[][2] = {{"f32", "F32"}, {"f16", "F16"}, {"bf16", "BF16"}, {"q8_0", "Q8_0"}};
    for (size_t i = 0; i < sizeof type / sizeof *type; i++)
        if (strcmp(type[i][0], name) == 0)
            return ts_ggml_type_find(type[i][1]);
    return NULL;
}

ts_status ts_convert_gguf(const char *from, const char *to, const char *type, ts_convert_result *result,
                          ts_error *err)
{
    ts_weights *w = NULL;
    job q = {.from = from, .type = find_type(type), .err = err};
    if (!q.type)
        return ts_fail(err, TS_USAGE, NULL, "--type", "'%s' is none of " TS_CONVERT_TYPES, type);
    ts_status status = ts_weights_load(from, &w, err);
    q.w = w;
    if (!status)
        status = convert(&q, to);
    *result = (ts_convert_result){.tensors = q.n, .bytes = q.out.offset};
    ts_gguf_out_free(&q.out);
    free(q.item);
    free(q.row);
    free(q.packed);
    ts_weights_free(w);
    return status;
}
