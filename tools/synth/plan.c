/* Which tensors a model has, under the names of each format, and how wide their values are: outputs of order 1
 * from inputs of order 1, and what is added to the residual stream smaller by the square root of how often. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synth/synth.h"

#define FILE_BYTES 5000000000u

typedef enum { EVERY, LINEAR, FULL, ENDS } place;
/* ADDED is a matrix whose outputs go to the residual stream, MORE one that llama.cpp gives more bits in some
 * layers, BOTH is both. A NORM is stored less 1 by Hugging Face, a WHOLE_NORM is not. */
typedef enum { MATRIX, ADDED, MORE, BOTH, HEAD, NORM, WHOLE_NORM, CONV, RATE, BIAS } rule;
typedef enum { SIZE_V, SIZE_C, SIZE_I, SIZE_CD, SIZE_VD, SIZE_HV, SIZE_DV, SIZE_QG, SIZE_QD, SIZE_KV, SIZE_D } size;

typedef struct {
    const char *name, *gguf;
    place place;
    rule rule;
    size N, K;
} parameter;

static const parameter parameters[] = {
    {"embed_tokens", "token_embd", ENDS, MATRIX, SIZE_V, SIZE_C},
    {"lm_head", "output", ENDS, HEAD, SIZE_V, SIZE_C},
    {"norm.weight", "output_norm.weight", ENDS, NORM, SIZE_C, 0},
    {"input_layernorm.weight", "attn_norm.weight", EVERY, NORM, SIZE_C, 0},
    {"post_attention_layernorm.weight", "post_attention_norm.weight", EVERY, NORM, SIZE_C, 0},
    {"mlp.gate_proj", "ffn_gate", EVERY, MATRIX, SIZE_I, SIZE_C},
    {"mlp.up_proj", "ffn_up", EVERY, MATRIX, SIZE_I, SIZE_C},
    {"mlp.down_proj", "ffn_down", EVERY, BOTH, SIZE_C, SIZE_I},
    {"linear_attn.in_proj_qkv", "attn_qkv", LINEAR, MORE, SIZE_CD, SIZE_C},
    {"linear_attn.in_proj_z", "attn_gate", LINEAR, MATRIX, SIZE_VD, SIZE_C},
    {"linear_attn.in_proj_b", "ssm_beta", LINEAR, MATRIX, SIZE_HV, SIZE_C},
    {"linear_attn.in_proj_a", "ssm_alpha", LINEAR, MATRIX, SIZE_HV, SIZE_C},
    {"linear_attn.out_proj", "ssm_out", LINEAR, ADDED, SIZE_C, SIZE_VD},
    {"linear_attn.conv1d.weight", "ssm_conv1d.weight", LINEAR, CONV, SIZE_CD, 0},
    {"linear_attn.norm.weight", "ssm_norm.weight", LINEAR, WHOLE_NORM, SIZE_DV, 0},
    {"linear_attn.A_log", "ssm_a", LINEAR, RATE, SIZE_HV, 0},
    {"linear_attn.dt_bias", "ssm_dt.bias", LINEAR, BIAS, SIZE_HV, 0},
    {"self_attn.q_proj", "attn_q", FULL, MATRIX, SIZE_QG, SIZE_C},
    {"self_attn.k_proj", "attn_k", FULL, MATRIX, SIZE_KV, SIZE_C},
    {"self_attn.v_proj", "attn_v", FULL, MORE, SIZE_KV, SIZE_C},
    {"self_attn.o_proj", "attn_output", FULL, ADDED, SIZE_C, SIZE_QD},
    {"self_attn.q_norm.weight", "attn_q_norm.weight", FULL, NORM, SIZE_D, 0},
    {"self_attn.k_norm.weight", "attn_k_norm.weight", FULL, NORM, SIZE_D, 0},
};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

static int64_t size_of(const ts_synth_shape *c, size s)
{
    const int64_t VD = c->Hv * c->Dv;
    const int64_t n[] = {
        [SIZE_V] = c->V, [SIZE_C] = c->C,          [SIZE_I] = c->I,           [SIZE_CD] = 2 * c->Hk * c->Dk + VD,
        [SIZE_VD] = VD,  [SIZE_HV] = c->Hv,        [SIZE_DV] = c->Dv,         [SIZE_QG] = 2 * c->Hq * c->D,
        [SIZE_D] = c->D, [SIZE_QD] = c->Hq * c->D, [SIZE_KV] = c->Hkv * c->D,
    };
    return n[s];
}

typedef struct {
    const ts_synth_options *o;
    ts_synth_plan *p;
    int64_t layer; /* -1: the ends */
} planner;

/* FNV-1a: a tensor's values depend on its name, not on what else there is. */
static uint32_t stream_of(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

/* The name of the i-th layer's parameter in the format, without suffix. */
static void full_name(const planner *q, const parameter *m, char out[TS_SYNTH_NAME])
{
    bool gguf = q->o->format == TS_SYNTH_GGUF, head = m->rule == HEAD;
    const char *prefix = gguf                           ? ""
                         : q->o->format == TS_SYNTH_MLX ? (head ? "language_model." : "language_model.model.")
                                                        : (head ? "" : "model.");
    if (q->layer >= 0)
        snprintf(out, TS_SYNTH_NAME, "%s%s.%" PRId64 ".%s", prefix, gguf ? "blk" : "layers", q->layer,
                 gguf ? m->gguf : m->name);
    else
        snprintf(out, TS_SYNTH_NAME, "%s%s", prefix, gguf ? m->gguf : m->name);
}

static ts_synth_tensor *add(const planner *q, const char *name, const char *suffix, ts_dtype dtype, int64_t d0,
                            int64_t d1)
{
    ts_synth_tensor *t = &q->p->tensor[q->p->n++];
    *t = (ts_synth_tensor){.t = {.dtype = dtype, .ndim = d1 ? 2 : 1, .dim = {d0, d1}}};
    snprintf(t->name, sizeof t->name, "%.80s%s", name, suffix);
    t->t.size = (size_t)ts_tensor_count(&t->t) * (size_t)ts_dtype_table[dtype].bits / 8;
    t->stream = stream_of(t->name);
    return t;
}

static void add_affine(const planner *q, const char *name, int64_t N, int64_t K, double sigma)
{
    const int bits = q->o->bits;
    const double codes = (double)(1 << bits);
    add(q, name, ".weight", TS_U32, N, K * bits / 32)->make = TS_MAKE_BITS;
    ts_synth_tensor *s = add(q, name, ".scales", TS_BF16, N, K / q->o->group);
    s->make = TS_MAKE_SCALES;
    s->spread = (float)(sigma * sqrt(12 / (codes * codes - 1)));
    ts_synth_tensor *b = add(q, name, ".biases", TS_BF16, N, K / q->o->group);
    b->make = TS_MAKE_BIASES;
    b->centre = (float)((codes - 1) / 2);
    b->spread = s->spread;
    b->stream = s->stream;
}

/* llama.cpp's rule for Q4_K_M: the first and the last eighth of the layers, and every third between them. */
static bool wants_more(const planner *q, rule r)
{
    const int64_t n = q->o->shape->layers, i = q->layer;
    if (r != MORE && r != BOTH)
        return false;
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

/* The matrix that makes the logits is one of Q6_K, be it the embedding. */
static void add_blocks(const planner *q, const parameter *m, const char *name, int64_t N, int64_t K, double sigma)
{
    bool last = m->rule == HEAD || (m->place == ENDS && q->o->shape->tied);
    ts_synth_tensor *t = add(q, name, ".weight", TS_U8, N, K);
    t->make = last || wants_more(q, m->rule) ? TS_MAKE_Q6_K : TS_MAKE_Q4_K;
    t->t.size = (size_t)(N * K / 256) * (t->make == TS_MAKE_Q6_K ? 210 : 144);
    t->spread = (float)sigma;
}

static void add_matrix(const planner *q, const parameter *m, const char *name)
{
    const ts_synth_shape *c = q->o->shape;
    const int64_t N = size_of(c, m->N), K = size_of(c, m->K);
    double sigma = 1 / sqrt((double)K);
    if (m->rule == ADDED || m->rule == BOTH)
        sigma /= sqrt(2 * (double)c->layers);
    if (q->o->format == TS_SYNTH_MLX) {
        add_affine(q, name, N, K, sigma);
    } else if (q->o->format == TS_SYNTH_GGUF) {
        add_blocks(q, m, name, N, K, sigma);
    } else {
        ts_synth_tensor *t = add(q, name, ".weight", TS_BF16, N, K);
        t->make = TS_MAKE_BF16;
        t->spread = (float)(sigma * sqrt(3));
    }
}

/* The range of what is no matrix. Rates and biases: memories from a few tokens to a few thousand. */
static void set_range(ts_synth_tensor *t, rule r, ts_synth_format format, int64_t W)
{
    t->make = format == TS_SYNTH_GGUF ? TS_MAKE_F32 : TS_MAKE_BF16;
    t->centre = r == NORM && format == TS_SYNTH_BF16 ? 0 : 1;
    t->spread = 0.1f;
    if (r == CONV) {
        t->centre = 0;
        t->spread = (float)sqrt(3 / (double)W);
    } else if (r == RATE) { /* GGUF has -exp(A_log) */
        t->centre = format == TS_SYNTH_GGUF ? -8 : 1.375f;
        t->spread = format == TS_SYNTH_GGUF ? 7 : 1.375f;
    } else if (r == BIAS) {
        t->centre = -4;
        t->spread = 2;
    }
}

static void add_vector(const planner *q, const parameter *m, const char *name)
{
    const ts_synth_format format = q->o->format;
    const int64_t W = q->o->shape->W, n = size_of(q->o->shape, m->N);
    ts_synth_tensor *t = add(q, name, "", format == TS_SYNTH_GGUF ? TS_F32 : TS_BF16, n, m->rule == CONV ? W : 0);
    if (m->rule == CONV && format != TS_SYNTH_GGUF) {
        t->t.ndim = 3;
        t->t.dim[1] = format == TS_SYNTH_MLX ? W : 1;
        t->t.dim[2] = format == TS_SYNTH_MLX ? 1 : W;
    }
    set_range(t, m->rule, format, W);
}

static bool lies_in(const ts_synth_shape *s, const parameter *m, int64_t layer)
{
    if (layer < 0 || m->place == ENDS)
        return layer < 0 && m->place == ENDS && !(s->tied && m->rule == HEAD);
    return m->place == EVERY || m->place == (ts_synth_is_full(s, layer) ? FULL : LINEAR);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ts_synth_tensor *)a)->name, ((const ts_synth_tensor *)b)->name);
}

/* GGUF is one file, whatever its size. */
static ts_status cut(ts_synth_plan *p, const ts_synth_options *o, ts_error *err)
{
    const bool gguf = o->format == TS_SYNTH_GGUF;
    const uint64_t most = o->file_bytes ? o->file_bytes : FILE_BYTES;
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->n; i++) {
        uint64_t n = p->tensor[i].t.size;
        if (bytes + n > most && i > 0 && !gguf) {
            if (++p->files == TS_SYNTH_SHARDS)
                return ts_fail(err, TS_BAD, NULL, NULL, "the model needs more than %d files", TS_SYNTH_SHARDS);
            p->first[p->files] = i;
            bytes = 0;
        }
        bytes += n;
        p->bytes += n;
    }
    p->first[++p->files] = p->n;
    for (int i = 0; i < p->files; i++)
        if (p->files == 1)
            snprintf(p->file[i], sizeof p->file[i], "model.%s", gguf ? "gguf" : "safetensors");
        else
            snprintf(p->file[i], sizeof p->file[i], "model-%05d-of-%05d.safetensors", i + 1, p->files);
    return TS_OK;
}

/* Every tensor of every layer. */
static void add_all(const ts_synth_options *o, ts_synth_plan *p)
{
    char name[TS_SYNTH_NAME];
    planner q = {.o = o, .p = p};
    for (q.layer = -1; q.layer < o->shape->layers; q.layer++)
        for (const parameter *m = parameters; m < parameters + PARAMETERS; m++) {
            if (!lies_in(o->shape, m, q.layer))
                continue;
            full_name(&q, m, name);
            if (m->rule <= HEAD)
                add_matrix(&q, m, name);
            else
                add_vector(&q, m, name);
        }
}

ts_status ts_synth_plan_new(const ts_synth_options *o, ts_synth_plan *out, ts_error *err)
{
    const size_t room = ((size_t)o->shape->layers + 1) * PARAMETERS * 3;
    *out = (ts_synth_plan){.tensor = calloc(room, sizeof *out->tensor)};
    if (!out->tensor)
        return ts_no_memory(err, room * sizeof *out->tensor);
    add_all(o, out);
    if (o->format != TS_SYNTH_GGUF)
        qsort(out->tensor, out->n, sizeof *out->tensor, by_name);
    for (size_t i = 0; i < out->n; i++)
        out->tensor[i].t.name = out->tensor[i].name;
    return cut(out, o, err);
}

void ts_synth_plan_free(ts_synth_plan *p)
{
    free(p->tensor);
}
