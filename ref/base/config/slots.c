/* The tables of a model's tensors. */
#include "config/slots.h"

#include <stddef.h>

static int64_t size_v(const ts_config *c)
{
    return c->V;
}

static int64_t size_c(const ts_config *c)
{
    return c->C;
}

static int64_t size_i(const ts_config *c)
{
    return c->I;
}

static int64_t size_cd(const ts_config *c)
{
    return 2 * c->Hk * c->Dk + c->Hv * c->Dv;
}

static int64_t size_vd(const ts_config *c)
{
    return c->Hv * c->Dv;
}

static int64_t size_hv(const ts_config *c)
{
    return c->Hv;
}

static int64_t size_dv(const ts_config *c)
{
    return c->Dv;
}

static int64_t size_qg(const ts_config *c)
{
    return 2 * c->Hq * c->D;
}

static int64_t size_qd(const ts_config *c)
{
    return c->Hq * c->D;
}

static int64_t size_kv(const ts_config *c)
{
    return c->Hkv * c->D;
}

static int64_t size_d(const ts_config *c)
{
    return c->D;
}

static int64_t size_qkvz(const ts_config *c)
{
    return 2 * c->Hk * c->Dk + 2 * c->Hv * c->Dv;
}

static int64_t size_ba(const ts_config *c)
{
    return 2 * c->Hv;
}

static int64_t size_low(const ts_config *c)
{
    return c->Dk;
}

static int64_t size_latent(const ts_config *c)
{
    return c->rank + c->Dr;
}

static int64_t size_rank(const ts_config *c)
{
    return c->rank;
}

static int64_t size_kvb(const ts_config *c)
{
    return c->Hq * (c->Dn + c->Dm);
}

static int64_t size_mq(const ts_config *c)
{
    return c->Hq * (c->Dn + c->Dr);
}

static int64_t size_mo(const ts_config *c)
{
    return c->Hq * c->Dm;
}

static int64_t size_e(const ts_config *c)
{
    return c->moe.E;
}

static int64_t size_shared(const ts_config *c)
{
    return c->moe.shared;
}

static int64_t size_one(const ts_config *c)
{
    (void)c;
    return 1;
}

/* The role is the name of the field. */
#define SLOT(where, type, field, name, other, N, K)             \
    {                                                           \
#field, name, other, where, N, K, offsetof(type, field) \
    }
#define LAYER(where, field, name, other, N, K) \
    SLOT(TS_PLACE_##where, ts_layer, field, name, other, size_##N, size_##K)
#define VECTOR(where, field, name, other, N) SLOT(TS_PLACE_##where, ts_layer, field, name, other, size_##N, NULL)

/* clang-format off */
static const ts_slot slots[] = {
    LAYER(DENSE, gate_proj, "mlp.gate_proj", NULL, i, c),
    LAYER(DENSE, up_proj, "mlp.up_proj", NULL, i, c),
    LAYER(DENSE, down_proj, "mlp.down_proj", NULL, c, i),
    LAYER(SPLIT, in_qkv, "linear_attn.in_proj_qkv", NULL, cd, c),
    LAYER(SPLIT, in_z, "linear_attn.in_proj_z", NULL, vd, c),
    LAYER(PAIR, in_b, "linear_attn.in_proj_b", NULL, hv, c),
    LAYER(PAIR, in_a, "linear_attn.in_proj_a", NULL, hv, c),
    LAYER(GROUPED, in_qkvz, "linear_attn.in_proj_qkvz", NULL, qkvz, c),
    LAYER(JOINT, in_ba, "linear_attn.in_proj_ba", NULL, ba, c),
    LAYER(GDN, out, "linear_attn.out_proj", NULL, c, vd),
    LAYER(GATED, q_proj, "self_attn.q_proj", NULL, qg, c),
    LAYER(GATED, k_proj, "self_attn.k_proj", NULL, kv, c),
    LAYER(GATED, v_proj, "self_attn.v_proj", NULL, kv, c),
    LAYER(GATED, o_proj, "self_attn.o_proj", NULL, c, qd),
    LAYER(KDA, q_proj, "self_attn.q_proj", NULL, vd, c),
    LAYER(KDA, k_proj, "self_attn.k_proj", NULL, vd, c),
    LAYER(KDA, v_proj, "self_attn.v_proj", NULL, vd, c),
    LAYER(KDA, in_b, "self_attn.b_proj", NULL, hv, c),
    LAYER(KDA, f_a, "self_attn.forget_gate.f_a_proj", "self_attn.f_a_proj", low, c),
    LAYER(KDA, f_b, "self_attn.forget_gate.f_b_proj", "self_attn.f_b_proj", vd, low),
    LAYER(KDA, g_a, "self_attn.g_a_proj", NULL, low, c),
    LAYER(KDA, g_b, "self_attn.g_b_proj", NULL, vd, low),
    LAYER(KDA, out, "self_attn.o_proj", NULL, c, vd),
    LAYER(MLA, q_proj, "self_attn.q_proj", NULL, mq, c),
    LAYER(MLA, kv_a, "self_attn.kv_a_proj_with_mqa", NULL, latent, c),
    LAYER(MLA, kv_b, "self_attn.kv_b_proj", NULL, kvb, rank),
    LAYER(MLA, o_proj, "self_attn.o_proj", NULL, c, mo),
    LAYER(SPARSE, router, "mlp.gate", "block_sparse_moe.gate", e, c),
    LAYER(SHARED, shared_gate_proj, "mlp.shared_expert.gate_proj", NULL, shared, c),
    LAYER(SHARED, shared_up_proj, "mlp.shared_expert.up_proj", NULL, shared, c),
    LAYER(SHARED, shared_down_proj, "mlp.shared_expert.down_proj", NULL, c, shared),
    LAYER(SHARED, shared_gate, "mlp.shared_expert_gate", NULL, one, c),
    LAYER(UNGATED, shared_gate_proj, "mlp.shared_experts.gate_proj", "block_sparse_moe.shared_experts.gate_proj", shared, c),
    LAYER(UNGATED, shared_up_proj, "mlp.shared_experts.up_proj", "block_sparse_moe.shared_experts.up_proj", shared, c),
    LAYER(UNGATED, shared_down_proj, "mlp.shared_experts.down_proj", "block_sparse_moe.shared_experts.down_proj", c, shared),
    SLOT(TS_PLACE_ENDS, ts_weights, embed, "embed_tokens", NULL, size_v, size_c),
    SLOT(TS_PLACE_ENDS, ts_weights, head, "lm_head", NULL, size_v, size_c),

    VECTOR(EVERY, input_norm, "input_layernorm.weight", NULL, c),
    VECTOR(EVERY, post_norm, "post_attention_layernorm.weight", NULL, c),
    VECTOR(GDN, A_log, "linear_attn.A_log", NULL, hv),
    VECTOR(GDN, dt_bias, "linear_attn.dt_bias", NULL, hv),
    VECTOR(GDN, gdn_norm, "linear_attn.norm.weight", NULL, dv),
    VECTOR(GDN, conv, "linear_attn.conv1d.weight", NULL, cd),
    VECTOR(GATED, q_norm, "self_attn.q_norm.weight", NULL, d),
    VECTOR(GATED, k_norm, "self_attn.k_norm.weight", NULL, d),
    VECTOR(KDA, A_log, "self_attn.forget_gate.A_log", "self_attn.A_log", hv),
    VECTOR(KDA, dt_bias, "self_attn.forget_gate.dt_bias", "self_attn.dt_bias", vd),
    VECTOR(KDA, gdn_norm, "self_attn.o_norm.weight", NULL, dv),
    VECTOR(KDA, conv, "self_attn.conv1d.weight", NULL, cd),
    VECTOR(MLA, kv_a_norm, "self_attn.kv_a_layernorm.weight", NULL, rank),
    VECTOR(BIASED, router_bias, "mlp.gate.e_score_correction_bias", "block_sparse_moe.gate.e_score_correction_bias", e),
    SLOT(TS_PLACE_ENDS, ts_weights, final_norm, "norm.weight", NULL, size_c, NULL),
};
/* clang-format on */

const ts_slot *ts_slot_at(size_t i)
{
    return i < sizeof slots / sizeof *slots ? &slots[i] : NULL;
}

static bool is_sparse(const ts_config *c, int64_t layer)
{
    return c->moe.E > 0 && c->moe.layer[layer];
}

static bool has_mixer(const ts_weights *w, ts_place place, bool full)
{
    const ts_config *c = &w->cfg;
    const bool kimi = c->family == TS_FAMILY_KIMI, next = c->family == TS_FAMILY_NEXT;
    switch (place) {
    case TS_PLACE_GDN:
        return !kimi && !full;
    case TS_PLACE_SPLIT:
        return !kimi && (!next || w->split) && !full;
    case TS_PLACE_GROUPED:
        return next && !w->split && !full;
    case TS_PLACE_PAIR:
        return !kimi && !next && !full;
    case TS_PLACE_JOINT:
        return next && !full;
    case TS_PLACE_KDA:
        return kimi && !full;
    case TS_PLACE_GATED:
        return !kimi && full;
    case TS_PLACE_MLA:
        return kimi && full;
    default:
        return false;
    }
}

static bool has_mlp(const ts_config *c, ts_place place, bool sparse)
{
    switch (place) {
    case TS_PLACE_DENSE:
        return !sparse;
    case TS_PLACE_SPARSE:
        return sparse;
    case TS_PLACE_BIASED:
        return sparse && c->moe.sigmoid;
    case TS_PLACE_SHARED:
        return sparse && c->moe.shared > 0 && c->family != TS_FAMILY_KIMI;
    case TS_PLACE_UNGATED:
        return sparse && c->moe.shared > 0 && c->family == TS_FAMILY_KIMI;
    default:
        return false;
    }
}

bool ts_slot_lies_in(const ts_weights *w, const ts_slot *s, int64_t layer)
{
    const ts_config *c = &w->cfg;
    if (layer < 0 || s->place == TS_PLACE_ENDS)
        return layer < 0 && s->place == TS_PLACE_ENDS;
    return s->place == TS_PLACE_EVERY || has_mixer(w, s->place, c->full[layer]) ||
           has_mlp(c, s->place, is_sparse(c, layer));
}

void *ts_slot_field(const ts_weights *w, const ts_slot *s, int64_t layer)
{
    return (char *)(layer < 0 ? (void *)(uintptr_t)w : &w->layer[layer]) + s->offset;
}
