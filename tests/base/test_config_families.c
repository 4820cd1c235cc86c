/* config.json of sparse models and of Kimi-Linear: what is read, and what is refused with its key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "format/json.h"

#define SPARSE "golden/external/rand-qwen35-moe-config.json"
#define KIMI "golden/external/rand-kimi-linear-config.json"

/* The file with one member replaced (value NULL: removed). */
static ts_status load(const char *file, const char *key, const char *value, ts_config *c, ts_error *err)
{
    char path[] = "/tmp/ts-config-XXXXXX";
    cJSON *o;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(ts_json_load(file, &o, NULL), TS_OK);
    cJSON_DeleteItemFromObjectCaseSensitive(o, key);
    if (value != NULL)
        cJSON_AddItemToObject(o, key, cJSON_Parse(value));
    assert_int_equal(ts_json_save(path, o, NULL), TS_OK);
    cJSON_Delete(o);
    ts_status status = ts_config_load_file(path, c, err);
    remove(path);
    return status;
}

typedef struct {
    const char *file, *key, *value, *named, *reason; /* named: NULL if the error names the key itself */
} refusal;

static const refusal refusals[] = {
    {SPARSE, "num_experts", NULL, NULL, "missing"},
    {SPARSE, "num_experts", "0", NULL, "1..4096"},
    {SPARSE, "num_experts", "5000", NULL, "1..4096"},
    {SPARSE, "num_experts_per_tok", "9", NULL, "there are 8 experts"},
    {SPARSE, "num_experts_per_tok", NULL, NULL, "missing"},
    {SPARSE, "moe_intermediate_size", "0", NULL, "outside 1.."},
    {SPARSE, "shared_expert_intermediate_size", NULL, NULL, "missing"},
    {SPARSE, "norm_topk_prob", "1", NULL, "must be"},
    {SPARSE, "mlp_only_layers", "3", NULL, "must be a list"},
    {SPARSE, "mlp_only_layers", "[4]", NULL, "numbers of layers"},
    {SPARSE, "mlp_only_layers", "[0.5]", NULL, "numbers of layers"},
    {SPARSE, "mlp_only_layers", "[1]", "intermediate_size", "layer 1 is dense"},
    {SPARSE, "decoder_sparse_step", "2", "intermediate_size", "layer 0 is dense"},
    {KIMI, "num_experts_per_token", "0", NULL, "1..4096"},
    {KIMI, "num_experts_per_token", "9", NULL, "there are 8 experts"},
    {KIMI, "moe_router_activation_func", "\"softmax\"", NULL, "\"sigmoid\" is"},
    {KIMI, "num_expert_group", "3", NULL, "must divide num_experts"},
    {KIMI, "topk_group", "2", NULL, "1..1"},
    {KIMI, "routed_scaling_factor", "0", NULL, "must be positive"},
    {KIMI, "mlp_layer_types", "[\"dense\"]", NULL, "has 1 entries for 6 layers"},
    {KIMI, "mlp_layer_types", "\"dense\"", NULL, "must be a list"},
    {KIMI, "layer_types", NULL, NULL, "missing"},
    {KIMI, "layer_types", "[\"linear_attention\",\"mamba\"]", NULL, "entry 1 is \"mamba\""},
    {KIMI, "q_lora_rank", "64", NULL, "low rank"},
    {KIMI, "mla_use_nope", "false", NULL, "does not rotate"},
    {KIMI, "kv_lora_rank", NULL, NULL, "missing"},
    {KIMI, "gate_lower_bound", "1", NULL, "within -5..0"},
    {KIMI, "gate_lower_bound", "-6", NULL, "within -5..0"},
    {KIMI, "hidden_act", "\"situ\"", NULL, "\"silu\" is"},
    {KIMI, "linear_attn_config", "[]", NULL, "must be an object"},
    {KIMI, "linear_attn_config",
     "{\"num_heads\":2,\"head_dim\":32,\"short_conv_kernel_size\":4,\"full_attn_layers\":[4,6],"
     "\"kda_layers\":[1,2,3]}",
     NULL, "layer 5 is named 0 times"},
    {KIMI, "linear_attn_config",
     "{\"num_heads\":2,\"head_dim\":32,\"short_conv_kernel_size\":4,\"full_attn_layers\":[4,6],"
     "\"kda_layers\":[1,2,3,5,7]}",
     "kda_layers", "6 layers, counted from 1"},
};

static void a_wrong_key_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *r = &refusals[i];
        ts_config c;
        ts_error err = {0};
        if (load(r->file, r->key, r->value, &c, &err) != TS_BAD)
            fail_msg("%s = %s was accepted", r->key, r->value);
        assert_string_equal(err.tensor, r->named ? r->named : r->key);
        if (strstr(err.reason, r->reason) == NULL)
            fail_msg("%s = %s: \"%s\" lacks \"%s\"", r->key, r->value, err.reason, r->reason);
    }
}

/* Moonshot's own config.json counts layers from 1; the same keys counted from 0 are told apart by a 0. */
static void lists_of_layers(void **state)
{
    (void)state;
    const char *const lists[] = {"\"full_attn_layers\":[4,6],\"kda_layers\":[1,2,3,5]}",
                                 "\"full_attn_layers\":[3,5],\"kda_layers\":[0,1,2,4]}"};
    for (size_t i = 0; i < 2; i++) {
        char value[256];
        ts_config c;
        snprintf(value, sizeof value,
                 "{\"num_heads\":4,\"head_dim\":16,\"short_conv_kernel_size\":3,"
                 "\"gate_lower_bound\":-5.0,%s",
                 lists[i]);
        assert_int_equal(load(KIMI, "linear_attn_config", value, &c, NULL), TS_OK);
        for (int l = 0; l < 6; l++)
            assert_int_equal(c.full[l], l == 3 || l == 5);
        assert_true(c.Hk == 4 && c.Hv == 4 && c.Dk == 16 && c.Dv == 16 && c.W == 3 && c.lower_bound == -5);
    }
}

static void first_layers_that_stay_dense(void **state)
{
    (void)state;
    ts_config c;
    ts_error err = {0};
    assert_int_equal(load(KIMI, "mlp_layer_types", NULL, &c, &err), TS_BAD);
    assert_string_equal(err.tensor, "first_k_dense_replace");
    assert_int_equal(load(KIMI, "first_k_dense_replace", "2", &c, NULL), TS_OK);
    assert_true(!c.moe.layer[0] && c.moe.layer[1]); /* the list wins */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_key_is_named),
        cmocka_unit_test(lists_of_layers),
        cmocka_unit_test(first_layers_that_stay_dense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
