/* Configs of drafters: what is read, and what is refused with its key and the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft_set.h"

static const struct {
    const char *key, *value, *named, *reason; /* named: NULL if the error names the key itself */
} refusals[] = {
    {"architectures", NULL, NULL, "not a list of names"},
    {"architectures", "[]", NULL, "not a list of names"},
    {"architectures", "[7]", NULL, "not a list of names"},
    {"architectures", "\"DFlash2DraftModel\"", NULL, "not a list of names"},
    {"architectures", "[\"Qwen3ForCausalLM\"]", NULL, "\"Qwen3ForCausalLM\" is not supported"},
    {"architectures", "[\"DFlash3DraftModel\"]", NULL, "is not supported"},
    {"dflash_config", "[]", NULL, "must be an object"},
    {"dflash_config", NULL, "target_layer_ids", "must be a list"},
    {"vocab_size", "1024", NULL, "1024, the target's is 2048"},
    {"vocab_size", NULL, NULL, "missing"},
    {"hidden_size", "128", NULL, "128, the target's is 256"},
    {"hidden_size", "\"256\"", NULL, "must be an integer"},
    {"hidden_size", "256.5", NULL, "not an exact integer"},
    {"num_target_layers", "64", NULL, "64, the target has 8"},
    {"num_target_layers", "[8]", NULL, "must be an integer"},
    {"intermediate_size", "0", NULL, "outside 1.."},
    {"num_hidden_layers", "0", NULL, "outside 1.."},
    {"num_hidden_layers", "1e9", NULL, "outside 1.."},
    {"num_attention_heads", "5", NULL, "multiple of num_key_value_heads"},
    {"num_attention_heads", "1048576", "head_dim", NULL},
    {"num_key_value_heads", "-1", NULL, "outside 1.."},
    {"head_dim", "63", NULL, "must be even"},
    {"head_dim", NULL, NULL, "missing"},
    {"layer_types", NULL, NULL, "one entry a layer"},
    {"layer_types", "[\"sliding_attention\"]", NULL, "one entry a layer"},
    {"layer_types", "[\"sliding_attention\",\"sliding_attention\",\"linear_attention\"]", NULL, "are known"},
    {"layer_types", "[\"sliding_attention\",\"sliding_attention\",3]", NULL, "are known"},
    {"sliding_window", NULL, NULL, "missing"},
    {"sliding_window", "0", NULL, "outside 1.."},
    {"sliding_window", "true", NULL, "must be an integer"},
    {"is_causal", NULL, NULL, "missing, and the layers slide"},
    {"is_causal", "0", NULL, "must be a boolean"},
    {"rms_norm_eps", "0", NULL, "must be positive"},
    {"rms_norm_eps", "\"1e-6\"", NULL, "must be a number"},
    {"rope_parameters", NULL, "rope_theta", "missing"},
    {"rope_parameters", "[]", NULL, "must be an object"},
    {"rope_parameters", "{\"rope_theta\":1}", "rope_theta", "greater than 1"},
    {"rope_parameters", "{\"rope_type\":\"yarn\",\"rope_theta\":1e7}", "rope_type", "\"yarn\" is not supported"},
    {"rope_parameters", "{\"type\":\"linear\",\"rope_theta\":1e7}", "type", "\"linear\" is not supported"},
    {"rope_parameters", "{\"rope_type\":5,\"rope_theta\":1e7}", "rope_type", "must be a string"},
    {"rope_parameters", "{\"rope_theta\":1e7,\"partial_rotary_factor\":0.5}", "partial_rotary_factor",
     "other than 1"},
    {"partial_rotary_factor", "0.25", NULL, "other than 1"},
    {"hidden_act", "\"gelu\"", NULL, "is not supported"},
    {"input_embedding_scale", "2", NULL, "other than 1"},
    {"output_multiplier", "0.5", NULL, "other than 1"},
    {OWN "output_multiplier", "\"1\"", "output_multiplier", "must be a number"},
    {"final_logit_softcapping", "30", NULL, "is not supported"},
    {OWN "use_swa", "true", "use_swa", "is not supported"},
    {OWN "attention_sink_bias", "true", "attention_sink_bias", "is not supported"},
    {OWN "block_size", NULL, "block_size", "missing"},
    {OWN "block_size", "1", "block_size", "at least 2"},
    {OWN "block_size", "100", "block_size", "outside 1.."},
    {OWN "block_size", "8.5", "block_size", "not an exact integer"},
    {OWN "mask_token_id", NULL, "mask_token_id", "missing"},
    {OWN "mask_token_id", "2048", "mask_token_id", "outside 0..2047"},
    {OWN "mask_token_id", "-1", "mask_token_id", "outside 0..2047"},
    {OWN "target_layer_ids", "7", "target_layer_ids", "must be a list"},
    {OWN "target_layer_ids", "[]", "target_layer_ids", "must be a list"},
    {OWN "target_layer_ids", "[1,3,8]", "target_layer_ids", "layers 0..7 of the target"},
    {OWN "target_layer_ids", "[-1,3,6]", "target_layer_ids", "layers 0..7 of the target"},
    {OWN "target_layer_ids", "[1,3.5,6]", "target_layer_ids", "layers 0..7 of the target"},
    {OWN "target_layer_ids", "[1,\"3\",6]", "target_layer_ids", "layers 0..7 of the target"},
    {OWN "target_layer_ids", "[1,1e300,6]", "target_layer_ids", "layers 0..7 of the target"},
    {OWN "target_layer_ids", "[0,1,2,3,4,5,6,7,0]", "target_layer_ids", "more entries than"},
    {OWN "conv_kernel_size", "0", "conv_kernel_size", "outside 1.."},
    {OWN "conv_kernel_size", "100", "conv_kernel_size", "outside 1.."},
    {OWN "conv_kernel_size", NULL, "conv_kernel_size", "missing"},
    {OWN "conv_group_size", "7", "conv_group_size", "must divide hidden_size"},
    {OWN "conv_group_size", "0", "conv_group_size", "outside 1.."},
    {OWN "selector_rank", "0", "selector_rank", "outside 1.."},
    {OWN "selector_rank", NULL, "selector_rank", "missing"},
    {OWN "selector_top_k", "0", "selector_top_k", "outside 1..16"},
    {OWN "selector_top_k", "17", "selector_top_k", "outside 1..16"},
};

static void a_wrong_key_is_named(void **state)
{
    (void)state;
    set s;
    take(&s, "dflash2.safetensors");
    put(&s);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        put_config(refusals[i].key, refusals[i].value);
        const char *named = refusals[i].named ? refusals[i].named : refusals[i].key;
        if (refusals[i].reason) {
            assert_dflash_refused(beside, named, refusals[i].reason);
            continue;
        }
        ts_weights *w = NULL; /* a size that is none of the file's, of whatever tensor comes first */
        assert_int_equal(ts_weights_load_dflash(target, file, &w, NULL), TS_BAD);
    }
    ts_safetensors_close(s.source);
}

/* What says nothing or the usual thing. */
static void harmless_keys_are_accepted(void **state)
{
    (void)state;
    static const char *const harmless[][2] = {
        {"final_logit_softcapping", "null"},
        {"use_swa", "false"},
        {"input_embedding_scale", "1.0"},
        {"hidden_act", "\"silu\""},
        {"num_target_layers", NULL},
        {"rope_parameters", "{\"rope_theta\":1e7,\"partial_rotary_factor\":1.0}"},
    };
    set s;
    take(&s, "dflash2.safetensors");
    put(&s);
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        ts_weights *w = NULL;
        ts_error err = {0};
        put_config(harmless[i][0], harmless[i][1]);
        must(ts_weights_load_dflash(target, file, &w, &err), &err);
        assert_true(w->folded && w->cfg.theta == 1e7 && w->cfg.dflash.slots == 16 && !w->cfg.dflash.causal);
        assert_ptr_equal(w->head.data, target->head.data);
        ts_weights_free(w);
    }
    ts_safetensors_close(s.source);
}

/* The older name of the rotary object; and a block that says itself whether it is causal, at either place. */
static void keys_that_stand_elsewhere(void **state)
{
    (void)state;
    ts_config c;
    ts_error err = {0};
    cJSON *o;
    assert_int_equal(ts_json_load(TINY "/dflash2-config.json", &o, NULL), TS_OK);
    cJSON *own = cJSON_GetObjectItem(o, "dflash_config");
    cJSON_DeleteItemFromObject(o, "is_causal");
    cJSON_AddTrueToObject(own, "causal");
    must(ts_config_take_dflash("f", o, &target->cfg, &c, &err), &err);
    assert_true(c.dflash.causal);
    cJSON_AddFalseToObject(o, "is_causal");
    must(ts_config_take_dflash("f", o, &target->cfg, &c, &err), &err);
    assert_false(c.dflash.causal); /* the top wins */
    cJSON_DeleteItemFromObject(o, "rope_parameters");
    cJSON_AddNumberToObject(o, "rope_theta", 1e6);
    must(ts_config_take_dflash("f", o, &target->cfg, &c, &err), &err);
    assert_true(c.theta == 1e6);
    cJSON_AddItemToObject(o, "rope_scaling", cJSON_Parse("{\"type\":\"yarn\",\"factor\":4}"));
    assert_int_equal(ts_config_take_dflash("f", o, &target->cfg, &c, &err), TS_BAD);
    assert_error(&err, "f", "type", "\"yarn\" is not supported");
    cJSON_Delete(o);
    o = cJSON_CreateArray();
    assert_int_equal(ts_config_take_dflash("f", o, &target->cfg, &c, &err), TS_BAD);
    assert_error(&err, "f", "", "must be a JSON object");
    cJSON_Delete(o);
}

/* Version 1: neither convolutions nor a selector; full attention needs no word on causality. */
static void the_first_dflash_is_accepted(void **state)
{
    (void)state;
    set s;
    ts_weights *w = NULL;
    ts_error err = {0};
    cJSON *o;
    take(&s, "dflash2.safetensors");
    put(&s);
    put_config("architectures", "[\"DFlashDraftModel\"]");
    assert_dflash_refused(file, "candidate_selector.hidden_projection.weight", "no such tensor");
    for (size_t i = s.n; i-- > 0;)
        if (strstr(s.t[i].name, "conv") || strstr(s.t[i].name, "selector"))
            s.t[i] = s.t[--s.n];
    put(&s);
    must(ts_weights_load_dflash(target, file, &w, &err), &err);
    assert_true(w->cfg.dflash.slots == 0 && w->cfg.dflash.window[0] == 64 && w->layer[0].attn_conv.n == 0);
    ts_weights_free(w);
    assert_int_equal(ts_json_load(beside, &o, NULL), TS_OK);
    cJSON_DeleteItemFromObject(o, "is_causal");
    cJSON_ReplaceItemInObject(o, "layer_types",
                              cJSON_Parse("[\"full_attention\",\"full_attention\",\"full_attention\"]"));
    assert_int_equal(ts_json_save(beside, o, NULL), TS_OK);
    cJSON_Delete(o);
    must(ts_weights_load_dflash(target, file, &w, &err), &err);
    assert_true(!w->cfg.dflash.causal && w->cfg.dflash.window[0] == 0 && ts_draft_span(&w->cfg, 500) == 500);
    ts_weights_free(w);
    ts_safetensors_close(s.source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_wrong_key_is_named),
        CASE(harmless_keys_are_accepted),
        CASE(keys_that_stand_elsewhere),
        CASE(the_first_dflash_is_accepted),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
