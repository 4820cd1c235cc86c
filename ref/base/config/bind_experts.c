/* Experts lie in a file in one of three ways: gate and up of all in one tensor [E,2I,C], gate rows first (Hugging
 * Face since 5, some GGUF files); one stack each (MLX, GGUF); or a matrix each (older files). */
#include "config/bind_experts.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME = 320 };

/* What a file calls them after the layer's prefix. */
typedef struct {
    const char *gate, *up, *down;
} names;

static const names stacks[] = {
    {"mlp.switch_mlp.gate_proj", "mlp.switch_mlp.up_proj", "mlp.switch_mlp.down_proj"},
    {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"},
};

/* Of single ones the number comes in between. */
static const struct {
    const char *before;
    names after;
} singles[] = {
    {"mlp.experts.", {"gate_proj", "up_proj", "down_proj"}},
    {"block_sparse_moe.experts.", {"w1", "w3", "w2"}},
};

typedef struct {
    ts_binder *b;
    const char *prefix;
    const ts_moe_config *m;
    int64_t C;
    ts_layer *out;
} job;

static bool there(const job *j, const char *name)
{
    return ts_checkpoint_find(j->b->ckpt, name, NULL) != NULL;
}

/* E matrices out of one: n rows from `first` on, `stride` rows apart. */
static void cut(const job *j, const ts_matrix *all, int64_t stride, int64_t first, int64_t n, ts_matrix *out)
{
    for (int64_t e = 0; j->b->read && e < j->m->E; e++)
        out[e] = ts_matrix_rows(all, e * stride + first, n);
}

static ts_status bind_fused(const job *j, const char *gate_up, const char *down)
{
    char name[NAME];
    const int64_t I = j->m->I;
    ts_matrix all = {0};
    snprintf(name, sizeof name, "%s%s", j->prefix, gate_up);
    ts_status status = ts_bind_stack(j->b, name, j->m->E, 2 * I, j->C, &all);
    if (status != TS_OK)
        return status;
    cut(j, &all, 2 * I, 0, I, j->out->expert_gate);
    cut(j, &all, 2 * I, I, I, j->out->expert_up);
    snprintf(name, sizeof name, "%s%s", j->prefix, down);
    status = ts_bind_stack(j->b, name, j->m->E, j->C, I, &all);
    if (status == TS_OK)
        cut(j, &all, j->C, 0, j->C, j->out->expert_down);
    return status;
}

static ts_status bind_stack(const job *j, const char *word, int64_t N, int64_t K, ts_matrix *out)
{
    char name[NAME];
    ts_matrix all = {0};
    snprintf(name, sizeof name, "%s%s", j->prefix, word);
    ts_status status = ts_bind_stack(j->b, name, j->m->E, N, K, &all);
    if (status == TS_OK)
        cut(j, &all, N, 0, N, out);
    return status;
}

static ts_status bind_stacks(const job *j, const names *n)
{
    ts_status status = bind_stack(j, n->gate, j->m->I, j->C, j->out->expert_gate);
    if (status == TS_OK)
        status = bind_stack(j, n->up, j->m->I, j->C, j->out->expert_up);
    return status == TS_OK ? bind_stack(j, n->down, j->C, j->m->I, j->out->expert_down) : status;
}

static ts_status bind_single(const job *j, const char *before, int64_t e, const char *after, int64_t N, int64_t K,
                             ts_matrix *out)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s%s%lld.%s", j->prefix, before, (long long)e, after);
    return ts_bind_matrix(j->b, name, N, K, j->b->read ? &out[e] : NULL);
}

static ts_status bind_singles(const job *j, const char *before, const names *n)
{
    ts_status status = TS_OK;
    for (int64_t e = 0; e < j->m->E && status == TS_OK; e++) {
        status = bind_single(j, before, e, n->gate, j->m->I, j->C, j->out->expert_gate);
        if (status == TS_OK)
            status = bind_single(j, before, e, n->up, j->m->I, j->C, j->out->expert_up);
        if (status == TS_OK)
            status = bind_single(j, before, e, n->down, j->C, j->m->I, j->out->expert_down);
    }
    return status;
}

/* Whichever way the file has them. */
static ts_status bind(const job *j)
{
    char weight[NAME + 8];
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        snprintf(weight, sizeof weight, "%s%s.weight", j->prefix, stacks[i].gate);
        if (there(j, weight))
            return bind_stacks(j, &stacks[i]);
    }
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
        snprintf(weight, sizeof weight, "%s%s0.%s.weight", j->prefix, singles[i].before, singles[i].after.gate);
        if (there(j, weight))
            return bind_singles(j, singles[i].before, &singles[i].after);
    }
    snprintf(weight, sizeof weight, "%sffn_gate_up_exps.weight", j->prefix);
    if (there(j, weight))
        return bind_fused(j, "ffn_gate_up_exps", "ffn_down_exps");
    return bind_fused(j, "mlp.experts.gate_up_proj", "mlp.experts.down_proj");
}

ts_status ts_bind_experts(ts_binder *b, const char *prefix, const ts_moe_config *m, int64_t C, ts_layer *out)
{
    const job j = {.b = b, .prefix = prefix, .m = m, .C = C, .out = out};
    const size_t size = (size_t)m->E * sizeof *out->expert_gate;
    if (!b->read)
        return bind(&j);
    out->expert_gate = calloc(1, size);
    out->expert_up = calloc(1, size);
    out->expert_down = calloc(1, size);
    if (out->expert_gate == NULL || out->expert_up == NULL || out->expert_down == NULL)
        return ts_no_memory(b->err, 3 * size);
    return bind(&j);
}
