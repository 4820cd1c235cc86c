/* What an operation takes from a model. */
#include <string.h>

#include "op_build.h"

bool ts_op_wants_weight(ts_op_id id)
{
    return id == TS_OP_RMSNORM || id == TS_OP_RMSNORM_A64 || id == TS_OP_L2NORM || id == TS_OP_MATMUL_DOT32 ||
           id == TS_OP_MATMUL_A64S8;
}

bool ts_op_wants_model(ts_op_id id)
{
    return (ts_op_wants_weight(id) && id != TS_OP_L2NORM) || id == TS_OP_EMBED || id == TS_OP_GATED_NORM ||
           id == TS_OP_CONV1D || id == TS_OP_GDN_GATES || id == TS_OP_ROPE || id == TS_OP_GATE_UP_A64S8 ||
           id == TS_OP_QKV_CONV_A64S8;
}

bool ts_op_lacks_matrix(ts_op_id id)
{
    const ts_field *f = ts_op_table[id].field;
    for (int i = 0; i < TS_MAX_FIELDS && f[i].name; i++)
        if (f[i].kind == TS_FIELD_MATRIX && !ts_op_wants_model(id))
            return true;
    return false;
}

bool ts_op_wants_layer(ts_op_id id, const char *weight)
{
    bool end = weight && (!strcmp(weight, "head") || !strcmp(weight, "embed") || !strcmp(weight, "final_norm"));
    return ts_op_wants_model(id) && id != TS_OP_EMBED && id != TS_OP_ROPE && !end;
}

const char *ts_op_matrix(ts_op_id id, const char *weight)
{
    if (id == TS_OP_EMBED)
        return "embed";
    if (id == TS_OP_GATE_UP_A64S8)
        return NULL;
    if (id == TS_OP_QKV_CONV_A64S8)
        return "in_qkv";
    return id == TS_OP_MATMUL_DOT32 || id == TS_OP_MATMUL_A64S8 ? weight : "";
}

static void set_param(ts_op_builder *b, const char *name, double value)
{
    for (int i = 0; i < TS_MAX_PARAMS && b->c->op->param[i].name; i++)
        if (strcmp(b->c->op->param[i].name, name) == 0)
            *(double *)ts_op_member(b->c, b->c->op->param[i].offset) = value;
}

static ts_status take_vector(ts_op_builder *b, const char *field, const char *role)
{
    const ts_weights *w = b->s->w;
    const ts_vector *v = ts_weights_vector(w, b->s->layer, role);
    int i = ts_op_field_index(b->c->op, field);
    if (!v)
        return ts_fail(b->err, TS_BAD, w->path, role, "layer %lld has no such vector", (long long)b->s->layer);
    ts_status status = ts_op_allocate(b, i, v->n, ts_op_real_size(b));
    for (int64_t k = 0; k < v->n && !status; k++)
        if (b->c->wide)
            ((double *)b->c->data[i])[k] = (double)v->v[k];
        else
            ((float *)b->c->data[i])[k] = v->v[k];
    return status;
}

static ts_status take_matrix(ts_op_builder *b, const char *field, const char *role)
{
    const ts_weights *w = b->s->w;
    const ts_matrix *m = ts_weights_matrix(w, b->s->layer, role);
    if (!m)
        return ts_fail(b->err, TS_BAD, w->path, role, "layer %lld has no such matrix", (long long)b->s->layer);
    bool codes = b->s->id != TS_OP_MATMUL_DOT32 && b->s->id != TS_OP_EMBED;
    if (codes && !ts_matrix_is_a64s8(m))
        return ts_fail(b->err, TS_BAD, w->path, role,
                       "is not MLX group 64 of 4 or 8 bits, which A64S8 is defined for");
    const ts_field *f = &b->c->op->field[ts_op_field_index(b->c->op, field)];
    memcpy(ts_op_member(b->c, f->offset), &m, sizeof m);
    ts_status status = ts_op_settle(b, f->dim[0], m->N, role);
    return status ? status : ts_op_settle(b, f->dim[1], m->K, role);
}

/* The norm of linear attention is not centred: gated_norm's, not one of these. */
static bool is_norm(const char *role)
{
    static const char *const norm[] = {"input_norm", "post_norm", "q_norm", "k_norm", "final_norm"};
    for (size_t i = 0; i < sizeof norm / sizeof *norm; i++)
        if (strcmp(role, norm[i]) == 0)
            return true;
    return false;
}

static ts_status rmsnorm(ts_op_builder *b)
{
    const ts_weights *w = b->s->w;
    if (!is_norm(b->s->weight))
        return ts_fail(b->err, TS_USAGE, NULL, "--weight",
                       "'%s' is none of input_norm, post_norm, q_norm, k_norm, final_norm", b->s->weight);
    ts_status status = take_vector(b, "w", b->s->weight);
    if (!status)
        status = ts_op_settle(b, "n", ts_weights_vector(w, b->s->layer, b->s->weight)->n, "w");
    if (!status)
        status = ts_op_settle(b, "centred", !w->folded, "w");
    set_param(b, "eps", w->cfg.eps);
    return status;
}

static ts_status gated_norm(ts_op_builder *b)
{
    ts_status status = take_vector(b, "w", "gdn_norm");
    set_param(b, "eps", b->s->w->cfg.eps);
    return status ? status : ts_op_settle(b, "D", b->s->w->cfg.Dv, "w");
}

static ts_status conv1d(ts_op_builder *b)
{
    const ts_config *c = &b->s->w->cfg;
    ts_status status = take_vector(b, "w", "conv");
    if (!status)
        status = ts_op_settle(b, "C", 2 * c->Hk * c->Dk + c->Hv * c->Dv, "w");
    return status ? status : ts_op_settle(b, "W", c->W, "w");
}

static ts_status gate_up(ts_op_builder *b)
{
    ts_status status = take_matrix(b, "gate", "gate_proj");
    return status ? status : take_matrix(b, "up", "up_proj");
}

static ts_status qkv_conv(ts_op_builder *b)
{
    ts_status status = take_matrix(b, "w", "in_qkv");
    if (!status)
        status = take_vector(b, "taps", "conv");
    return status ? status : ts_op_settle(b, "W", b->s->w->cfg.W, "taps");
}

static ts_status gdn_gates(ts_op_builder *b)
{
    if (b->s->w->rate)
        return ts_fail(b->err, TS_BAD, b->s->w->path, "A_log",
                       "the file holds -exp(A_log) instead; gdn_gates needs a model that holds A_log itself");
    ts_status status = take_vector(b, "A_log", "A_log");
    if (!status)
        status = take_vector(b, "dt_bias", "dt_bias");
    return status ? status : ts_op_settle(b, "H", b->s->w->cfg.Hv, "A_log");
}

/* The query of a head is scaled, its key is not. eps is the published models'. */
static ts_status l2norm(ts_op_builder *b)
{
    bool q = strcmp(b->s->weight, "q") == 0;
    if (!q && strcmp(b->s->weight, "k") != 0)
        return ts_fail(b->err, TS_USAGE, NULL, "--weight", "'%s' is none of q, k", b->s->weight);
    set_param(b, "eps", 1e-6);
    set_param(b, "scale", q ? -0.5 : 0); /* the power of D, which the shape of x will say */
    return TS_OK;
}

/* Weights, constants and dims; fields that it fills are not looked for in the file. */
ts_status ts_op_from_model(ts_op_builder *b)
{
    switch (b->s->id) {
    case TS_OP_EMBED:
        return take_matrix(b, "w", "embed");
    case TS_OP_RMSNORM:
    case TS_OP_RMSNORM_A64:
        return rmsnorm(b);
    case TS_OP_L2NORM:
        return l2norm(b);
    case TS_OP_GATED_NORM:
        return gated_norm(b);
    case TS_OP_CONV1D:
        return conv1d(b);
    case TS_OP_GDN_GATES:
        return gdn_gates(b);
    case TS_OP_ROPE:
        return b->s->w ? ts_op_settle(b, "R", b->s->w->cfg.R, "cos") : TS_OK; /* else cos and sin say it */
    case TS_OP_MATMUL_DOT32:
    case TS_OP_MATMUL_A64S8:
        return take_matrix(b, "w", b->s->weight);
    case TS_OP_GATE_UP_A64S8:
        return gate_up(b);
    case TS_OP_QKV_CONV_A64S8:
        return qkv_conv(b);
    default:
        return TS_OK;
    }
}
