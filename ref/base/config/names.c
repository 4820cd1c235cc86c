#include "config/names.h"

#include <stdio.h>
#include <string.h>

#define LAYER TS_NAME_LAYER
#define END TS_NAME_END
#define MTP TS_NAME_MTP
#define Q35 TS_NAMES_QWEN35
#define NEXT TS_NAMES_NEXT
#define KIMI TS_NAMES_KIMI
#define DFLASH TS_NAMES_DFLASH
#define QWEN (Q35 | NEXT)
#define MODEL (QWEN | KIMI)
#define PLAIN (KIMI | DFLASH) /* norms hold what is multiplied with */
#define ALL (MODEL | DFLASH)

static const ts_name names[] = {
    {MODEL, END, "embed_tokens", "token_embd", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, END, "norm", "output_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {PLAIN, END, "norm", "output_norm", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {MODEL, END, "lm_head", "output", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, LAYER, "input_layernorm", "attn_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {PLAIN, LAYER, "input_layernorm", "attn_norm", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, LAYER, "post_attention_layernorm", "post_attention_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {PLAIN, LAYER, "post_attention_layernorm", "ffn_norm", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, LAYER, "linear_attn.in_proj_qkv", "attn_qkv", false, TS_CHANGE_NONE, TS_TILE_VALUES},
    {QWEN, LAYER, "linear_attn.in_proj_z", "attn_gate", false, TS_CHANGE_NONE, TS_TILE_ROWS},
    {NEXT, LAYER, "linear_attn.in_proj_qkvz", "ssm_in", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {NEXT, LAYER, "linear_attn.in_proj_ba", "ssm_ba", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {Q35, LAYER, "linear_attn.in_proj_b", "ssm_beta", false, TS_CHANGE_NONE, TS_TILE_ROWS},
    {Q35, LAYER, "linear_attn.in_proj_a", "ssm_alpha", false, TS_CHANGE_NONE, TS_TILE_ROWS},
    {QWEN, LAYER, "linear_attn.A_log", "ssm_a", true, TS_CHANGE_RATE, TS_TILE_ROWS},
    {QWEN, LAYER, "linear_attn.dt_bias", "ssm_dt.bias", true, TS_CHANGE_NONE, TS_TILE_ROWS},
    {QWEN, LAYER, "linear_attn.conv1d", "ssm_conv1d", false, TS_CHANGE_SQUEEZE, TS_TILE_VALUES},
    {QWEN, LAYER, "linear_attn.norm", "ssm_norm", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, LAYER, "linear_attn.out_proj", "ssm_out", false, TS_CHANGE_NONE, TS_TILE_COLUMNS},
    {ALL, LAYER, "self_attn.q_proj", "attn_q", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {ALL, LAYER, "self_attn.k_proj", "attn_k", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {ALL, LAYER, "self_attn.v_proj", "attn_v", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {ALL, LAYER, "self_attn.o_proj", "attn_output", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, LAYER, "self_attn.q_norm", "attn_q_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {QWEN, LAYER, "self_attn.k_norm", "attn_k_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {DFLASH, LAYER, "self_attn.q_norm", "attn_q_norm", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {DFLASH, LAYER, "self_attn.k_norm", "attn_k_norm", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.q_conv1d", "ssm_conv1d_q", false, TS_CHANGE_FOUR, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.k_conv1d", "ssm_conv1d_k", false, TS_CHANGE_FOUR, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.v_conv1d", "ssm_conv1d_v", false, TS_CHANGE_FOUR, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.b_proj", "ssm_beta", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.forget_gate.f_a_proj", "ssm_f_a", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.forget_gate.f_b_proj", "ssm_f_b", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.forget_gate.A_log", "ssm_a", true, TS_CHANGE_RATE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.forget_gate.dt_bias", "ssm_dt.bias", true, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.g_a_proj", "ssm_g_a", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.g_b_proj", "ssm_g_b", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.o_norm", "ssm_norm", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.kv_a_layernorm", "attn_kv_a_norm", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.kv_b_proj", "attn_kv_b", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.k_b_proj", "attn_k_b", false, TS_CHANGE_TURN, TS_TILE_NONE},
    {KIMI, LAYER, "self_attn.v_b_proj", "attn_v_b", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {ALL, LAYER, "mlp.gate_proj", "ffn_gate", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {ALL, LAYER, "mlp.up_proj", "ffn_up", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {ALL, LAYER, "mlp.down_proj", "ffn_down", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {MODEL, LAYER, "mlp.gate", "ffn_gate_inp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "mlp.gate.e_score_correction_bias", "exp_probs_b.bias", true, TS_CHANGE_NONE, TS_TILE_NONE},
    {MODEL, LAYER, "mlp.experts.gate_proj", "ffn_gate_exps", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {MODEL, LAYER, "mlp.experts.up_proj", "ffn_up_exps", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {MODEL, LAYER, "mlp.experts.down_proj", "ffn_down_exps", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, LAYER, "mlp.shared_expert.gate_proj", "ffn_gate_shexp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, LAYER, "mlp.shared_expert.up_proj", "ffn_up_shexp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, LAYER, "mlp.shared_expert.down_proj", "ffn_down_shexp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "mlp.shared_experts.gate_proj", "ffn_gate_shexp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "mlp.shared_experts.up_proj", "ffn_up_shexp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {KIMI, LAYER, "mlp.shared_experts.down_proj", "ffn_down_shexp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, LAYER, "mlp.shared_expert_gate", "ffn_gate_inp_shexp", false, TS_CHANGE_FLAT, TS_TILE_NONE},
    {QWEN, MTP, "fc", "nextn.eh_proj", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {QWEN, MTP, "pre_fc_norm_embedding", "nextn.enorm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {QWEN, MTP, "pre_fc_norm_hidden", "nextn.hnorm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {QWEN, MTP, "norm", "nextn.shared_head_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {DFLASH, END, "fc", "fc", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {DFLASH, END, "hidden_norm", "enc.output_norm", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {DFLASH, LAYER, "attention_conv.base_kernel", "attn_conv_base", true, TS_CHANGE_NONE, TS_TILE_NONE},
    {DFLASH, LAYER, "attention_conv.kernel_projection", "attn_conv_proj", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {DFLASH, LAYER, "mlp_conv.base_kernel", "ffn_conv_base", true, TS_CHANGE_NONE, TS_TILE_NONE},
    {DFLASH, LAYER, "mlp_conv.kernel_projection", "ffn_conv_proj", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {DFLASH, END, "candidate_selector.hidden_projection", "selector_hidden", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {DFLASH, END, "candidate_selector.predecessor_codebook", "selector_predecessor.weight", true, TS_CHANGE_NONE,
     TS_TILE_NONE},
    {DFLASH, END, "candidate_selector.successor_codebook", "selector_successor.weight", true, TS_CHANGE_NONE,
     TS_TILE_NONE},
};

const ts_name *ts_name_at(size_t i)
{
    return i < sizeof names / sizeof *names ? &names[i] : NULL;
}

/* Is `name` the table's word, or the word and ".weight"? */
static bool is(const char *name, const char *word)
{
    size_t n = strlen(word);
    return strncmp(name, word, n) == 0 && (name[n] == '\0' || strcmp(name + n, ".weight") == 0);
}

const ts_name *ts_name_find(ts_name_set of, ts_name_place place, const char *hf)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((names[i].of & (int)of) != 0 && names[i].place == place && is(hf, names[i].hf))
            return &names[i];
    return NULL;
}

const ts_name *ts_name_of_gguf(ts_name_set of, ts_name_place place, const char *gguf)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((names[i].of & (int)of) != 0 && names[i].place == place && is(gguf, names[i].gguf))
            return &names[i];
    return NULL;
}

ts_name_set ts_names_of(const ts_config *c)
{
    if (c->draft == TS_DRAFT_DFLASH)
        return TS_NAMES_DFLASH;
    return c->family == TS_FAMILY_KIMI   ? TS_NAMES_KIMI
           : c->family == TS_FAMILY_NEXT ? TS_NAMES_NEXT
                                         : TS_NAMES_QWEN35;
}

void ts_name_gguf(ts_name_set of, ts_name_place place, int64_t layer, const char *hf, char *out, size_t size)
{
    const ts_name *n = ts_name_find(of, place, hf);
    const char *word = n != NULL ? n->gguf : hf, *end = strstr(hf, ".weight") != NULL ? ".weight" : "";
    if (layer >= 0)
        snprintf(out, size, "blk.%lld.%s%s", (long long)layer, word, end);
    else
        snprintf(out, size, "%s%s", word, end);
}
