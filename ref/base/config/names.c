#include "config/names.h"

#include <stdio.h>
#include <string.h>

#define LAYER TS_NAME_LAYER
#define END TS_NAME_END
#define MTP TS_NAME_MTP

static const ts_name names[] = {
    {END, "embed_tokens", "token_embd", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {END, "norm", "output_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {END, "lm_head", "output", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "input_layernorm", "attn_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {LAYER, "post_attention_layernorm", "post_attention_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {LAYER, "linear_attn.in_proj_qkv", "attn_qkv", false, TS_CHANGE_NONE, TS_TILE_VALUES},
    {LAYER, "linear_attn.in_proj_z", "attn_gate", false, TS_CHANGE_NONE, TS_TILE_ROWS},
    {LAYER, "linear_attn.in_proj_b", "ssm_beta", false, TS_CHANGE_NONE, TS_TILE_ROWS},
    {LAYER, "linear_attn.in_proj_a", "ssm_alpha", false, TS_CHANGE_NONE, TS_TILE_ROWS},
    {LAYER, "linear_attn.A_log", "ssm_a", true, TS_CHANGE_RATE, TS_TILE_ROWS},
    {LAYER, "linear_attn.dt_bias", "ssm_dt.bias", true, TS_CHANGE_NONE, TS_TILE_ROWS},
    {LAYER, "linear_attn.conv1d", "ssm_conv1d", false, TS_CHANGE_SQUEEZE, TS_TILE_VALUES},
    {LAYER, "linear_attn.norm", "ssm_norm", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "linear_attn.out_proj", "ssm_out", false, TS_CHANGE_NONE, TS_TILE_COLUMNS},
    {LAYER, "self_attn.q_proj", "attn_q", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "self_attn.k_proj", "attn_k", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "self_attn.v_proj", "attn_v", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "self_attn.o_proj", "attn_output", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "self_attn.q_norm", "attn_q_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {LAYER, "self_attn.k_norm", "attn_k_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {LAYER, "mlp.gate_proj", "ffn_gate", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "mlp.up_proj", "ffn_up", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "mlp.down_proj", "ffn_down", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "mlp.gate", "ffn_gate_inp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "mlp.experts.gate_proj", "ffn_gate_exps", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "mlp.experts.up_proj", "ffn_up_exps", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "mlp.experts.down_proj", "ffn_down_exps", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "mlp.shared_expert.gate_proj", "ffn_gate_shexp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "mlp.shared_expert.up_proj", "ffn_up_shexp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "mlp.shared_expert.down_proj", "ffn_down_shexp", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {LAYER, "mlp.shared_expert_gate", "ffn_gate_inp_shexp", false, TS_CHANGE_FLAT, TS_TILE_NONE},
    {MTP, "fc", "nextn.eh_proj", false, TS_CHANGE_NONE, TS_TILE_NONE},
    {MTP, "pre_fc_norm_embedding", "nextn.enorm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {MTP, "pre_fc_norm_hidden", "nextn.hnorm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
    {MTP, "norm", "nextn.shared_head_norm", false, TS_CHANGE_PLUS_ONE, TS_TILE_NONE},
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

const ts_name *ts_name_find(ts_name_place place, const char *hf)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].place == place && is(hf, names[i].hf))
            return &names[i];
    return NULL;
}

const ts_name *ts_name_of_gguf(ts_name_place place, const char *gguf)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].place == place && is(gguf, names[i].gguf))
            return &names[i];
    return NULL;
}

void ts_name_gguf(ts_name_place place, int64_t layer, const char *hf, char *out, size_t size)
{
    const ts_name *n = ts_name_find(place, hf);
    const char *word = n != NULL ? n->gguf : hf, *end = strstr(hf, ".weight") != NULL ? ".weight" : "";
    if (layer >= 0)
        snprintf(out, size, "blk.%lld.%s%s", (long long)layer, word, end);
    else
        snprintf(out, size, "%s%s", word, end);
}
