/* Which slots of the weights a GGUF tensor is made of. */
#include <stdio.h>
#include <string.h>

#include "convert_parts.h"

/* Of several rows of a name the first whose slot the layer has. */
static const struct {
    const char *hf, *role;
    ts_convert_source from;
    bool kimi; /* of Kimi only */
} sources[] = {
    {"embed_tokens", "embed", TS_FROM_WHOLE, false},
    {"norm", "final_norm", TS_FROM_WHOLE, false},
    {"lm_head", "head", TS_FROM_WHOLE, false},
    {"input_layernorm", "input_norm", TS_FROM_WHOLE, false},
    {"post_attention_layernorm", "post_norm", TS_FROM_WHOLE, false},
    {"linear_attn.in_proj_qkv", "in_qkv", TS_FROM_WHOLE, false},
    {"linear_attn.in_proj_qkv", "in_qkvz", TS_FROM_QKV, false},
    {"linear_attn.in_proj_z", "in_z", TS_FROM_WHOLE, false},
    {"linear_attn.in_proj_z", "in_qkvz", TS_FROM_Z, false},
    {"linear_attn.in_proj_b", "in_b", TS_FROM_WHOLE, false},
    {"linear_attn.in_proj_a", "in_a", TS_FROM_WHOLE, false},
    {"linear_attn.in_proj_ba", "in_ba", TS_FROM_WHOLE, false},
    {"linear_attn.A_log", "A_log", TS_FROM_WHOLE, false},
    {"linear_attn.dt_bias", "dt_bias", TS_FROM_WHOLE, false},
    {"linear_attn.conv1d", "conv", TS_FROM_WHOLE, false},
    {"linear_attn.norm", "gdn_norm", TS_FROM_WHOLE, false},
    {"linear_attn.out_proj", "out", TS_FROM_WHOLE, false},
    {"self_attn.q_proj", "q_proj", TS_FROM_WHOLE, false},
    {"self_attn.k_proj", "k_proj", TS_FROM_WHOLE, false},
    {"self_attn.v_proj", "v_proj", TS_FROM_WHOLE, false},
    {"self_attn.o_proj", "o_proj", TS_FROM_WHOLE, false},
    {"self_attn.o_proj", "out", TS_FROM_WHOLE, true},
    {"self_attn.q_norm", "q_norm", TS_FROM_WHOLE, false},
    {"self_attn.k_norm", "k_norm", TS_FROM_WHOLE, false},
    {"self_attn.q_conv1d", "conv", TS_FROM_FIRST, false},
    {"self_attn.k_conv1d", "conv", TS_FROM_SECOND, false},
    {"self_attn.v_conv1d", "conv", TS_FROM_THIRD, false},
    {"self_attn.b_proj", "in_b", TS_FROM_WHOLE, false},
    {"self_attn.forget_gate.f_a_proj", "f_a", TS_FROM_WHOLE, false},
    {"self_attn.forget_gate.f_b_proj", "f_b", TS_FROM_WHOLE, false},
    {"self_attn.forget_gate.A_log", "A_log", TS_FROM_WHOLE, false},
    {"self_attn.forget_gate.dt_bias", "dt_bias", TS_FROM_WHOLE, false},
    {"self_attn.g_a_proj", "g_a", TS_FROM_WHOLE, false},
    {"self_attn.g_b_proj", "g_b", TS_FROM_WHOLE, false},
    {"self_attn.o_norm", "gdn_norm", TS_FROM_WHOLE, false},
    {"self_attn.kv_a_proj_with_mqa", "kv_a", TS_FROM_WHOLE, false},
    {"self_attn.kv_a_layernorm", "kv_a_norm", TS_FROM_WHOLE, false},
    {"self_attn.k_b_proj", "kv_b", TS_FROM_KEYS, false},
    {"self_attn.v_b_proj", "kv_b", TS_FROM_VALUES, false},
    {"mlp.gate_proj", "gate_proj", TS_FROM_WHOLE, false},
    {"mlp.up_proj", "up_proj", TS_FROM_WHOLE, false},
    {"mlp.down_proj", "down_proj", TS_FROM_WHOLE, false},
    {"mlp.gate", "router", TS_FROM_WHOLE, false},
    {"mlp.gate.e_score_correction_bias", "router_bias", TS_FROM_WHOLE, false},
    {"mlp.shared_expert.gate_proj", "shared_gate_proj", TS_FROM_WHOLE, false},
    {"mlp.shared_expert.up_proj", "shared_up_proj", TS_FROM_WHOLE, false},
    {"mlp.shared_expert.down_proj", "shared_down_proj", TS_FROM_WHOLE, false},
    {"mlp.shared_experts.gate_proj", "shared_gate_proj", TS_FROM_WHOLE, false},
    {"mlp.shared_experts.up_proj", "shared_up_proj", TS_FROM_WHOLE, false},
    {"mlp.shared_experts.down_proj", "shared_down_proj", TS_FROM_WHOLE, false},
    {"mlp.shared_expert_gate", "shared_gate", TS_FROM_WHOLE, false},
};

/* The experts' matrices of that name, or NULL. */
static const ts_matrix *experts(const ts_weights *w, const char *hf, int64_t layer)
{
    static const char *const name[] = {"mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj"};
    if (layer < 0)
        return NULL;
    const ts_layer *l = &w->layer[layer];
    const ts_matrix *const stack[] = {l->expert_gate, l->expert_up, l->expert_down};
    for (int i = 0; i < 3; i++)
        if (strcmp(name[i], hf) == 0)
            return stack[i];
    return NULL;
}

static void find_slot(const ts_weights *w, int64_t layer, ts_convert_item *i)
{
    for (size_t k = 0; k < sizeof sources / sizeof *sources && !i->m && !i->v; k++)
        if (strcmp(sources[k].hf, i->name->hf) == 0 && (!sources[k].kimi || w->cfg.family == TS_FAMILY_KIMI)) {
            i->m = ts_weights_matrix(w, layer, sources[k].role);
            i->v = ts_weights_vector(w, layer, sources[k].role);
            i->from = sources[k].from;
        }
}

/* E, N, K of what is written. */
static void set_dims(const ts_config *c, ts_convert_item *i)
{
    const bool keys = i->from == TS_FROM_KEYS, values = i->from == TS_FROM_VALUES;
    i->E = i->stack ? c->moe.E : keys || values ? c->Hq : 1;
    i->N = i->from == TS_FROM_QKV ? 2 * c->Hk * c->Dk + c->Hv * c->Dv
           : i->from == TS_FROM_Z ? c->Hv * c->Dv
           : keys                 ? c->rank
           : values               ? c->Dm
                                  : i->m->N;
    i->K = keys ? c->Dn : i->m->K;
    i->stack = i->stack || keys || values;
}

/* What chooses experts stays exact; and rows of blocks could not be turned back. */
static bool stays_f32(const ts_convert_item *i, const ts_ggml_type *type)
{
    const bool half = i->from == TS_FROM_KEYS || i->from == TS_FROM_VALUES;
    return i->name->change == TS_CHANGE_FLAT || strcmp(i->name->hf, "mlp.gate") == 0 ||
           (half && type->dtype == TS_DTYPE_COUNT);
}

ts_convert_item ts_convert_find(const ts_weights *w, const ts_name *n, int64_t layer, const ts_ggml_type *type)
{
    const char *end = n->bare ? "" : ".weight";
    ts_convert_item i = {.name = n, .m = experts(w, n->hf, layer)};
    i.stack = i.m != NULL;
    if (!i.stack && !(w->cfg.tied && strcmp(n->hf, "lm_head") == 0))
        find_slot(w, layer, &i);
    if (i.m)
        set_dims(&w->cfg, &i);
    i.type = stays_f32(&i, type) ? ts_ggml_type_find("F32") : type;
    if (layer < 0)
        snprintf(i.full, sizeof i.full, "%s%s", n->gguf, end);
    else
        snprintf(i.full, sizeof i.full, "blk.%lld.%s%s", (long long)layer, n->gguf, end);
    return i;
}
