/* config: the goldens' configs, what wins over what, every refusal by its words; profiles. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "config/config.h"
#include "config/profile.h"
#include "folder.h"
#include "format/json.h"

static folder dir;
static char path[FOLDER_PATH];

static int make_dir(void **state)
{
    (void)state;
    folder_make(&dir);
    folder_file(&dir, "config.json", path);
    return 0;
}

static int empty_dir(void **state)
{
    (void)state;
    folder_empty(&dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    folder_remove(&dir);
    return 0;
}

/* A valid flat config with one member replaced (value NULL: removed). */
static cJSON *base_with(const char *key, const char *value)
{
    cJSON *o = cJSON_Parse(
        "{\"model_type\":\"qwen3_5_text\",\"vocab_size\":97,\"hidden_size\":48,\"intermediate_size\":80,"
        "\"num_hidden_layers\":5,\"num_attention_heads\":6,\"num_key_value_heads\":2,\"head_dim\":24,"
        "\"linear_conv_kernel_dim\":4,\"linear_key_head_dim\":16,\"linear_value_head_dim\":24,"
        "\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,\"max_position_embeddings\":4096,"
        "\"rms_norm_eps\":1e-6,\"eos_token_id\":7,"
        "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":1e7,\"partial_rotary_factor\":0.25}}");
    assert_non_null(o);
    cJSON_DeleteItemFromObjectCaseSensitive(o, key);
    if (value != NULL) {
        cJSON *v = cJSON_Parse(value);
        assert_non_null(v);
        cJSON_AddItemToObject(o, key, v);
    }
    return o;
}

static ts_status load(cJSON *o, ts_config *c, ts_error *err)
{
    assert_int_equal(ts_json_save(path, o, NULL), TS_OK);
    cJSON_Delete(o);
    return ts_config_load_file(path, c, err);
}

static void assert_loads(const char *key, const char *value, ts_config *c)
{
    ts_error err = {0};
    if (load(base_with(key, value), c, &err) != TS_OK)
        fail_msg("%s = %s: %s: %s", key, value, err.tensor, err.reason);
}

static void assert_refused(const char *key, const char *value, const char *reason)
{
    ts_config c;
    ts_error err = {0};
    if (load(base_with(key, value), &c, &err) != TS_BAD)
        fail_msg("%s = %s was accepted", key, value);
    assert_string_equal(err.file, path);
    if (strstr(err.reason, reason) == NULL)
        fail_msg("%s = %s: \"%s: %s\" lacks \"%s\"", key, value, err.tensor, err.reason, reason);
}

static void tiny_model(void **state)
{
    (void)state;
    ts_config c;
    assert_int_equal(ts_config_load("golden/models/tiny-qwen35", &c, NULL), TS_OK);
    assert_string_equal(c.model_type, "qwen3_5_text");
    const int64_t got[] = {c.V, c.C,  c.I,  c.layers, c.Hq, c.Hkv, c.D,
                           c.R, c.Hk, c.Hv, c.Dk,     c.Dv, c.W,   c.max_positions};
    const int64_t want[] = {2048, 256, 512, 8, 12, 2, 64, 16, 2, 6, 128, 128, 4, 32768};
    assert_memory_equal(got, want, sizeof got);
    assert_true(c.theta == 1e7 && c.eps == 1e-6);
    assert_false(c.tied);
    for (int i = 0; i < 8; i++)
        assert_int_equal(c.full[i], i == 3 || i == 7);
    assert_int_equal(c.quant_bits, 0);
    assert_int_equal(c.n_stop, 1);
    assert_true(ts_config_is_stop(&c, 2042));
    assert_false(ts_config_is_stop(&c, 2040)); /* pad and bos do not stop */
}

static void random_models(void **state)
{
    (void)state;
    const struct {
        const char *file;
        int64_t W, R, Dk, Dv, Hkv;
        double theta, eps;
        bool tied;
    } row[] = {
        {"golden/external/rand-qwen35-dense-config.json", 4, 8, 16, 16, 2, 1e4, 1e-3, false},
        {"golden/external/rand-qwen35-asym-config.json", 3, 12, 16, 24, 1, 1e7, 1e-6, true},
        {"golden/external/rand-qwen35-edge-config.json", 2, 8, 32, 16, 4, 1e6, 1e-5, false},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ts_config c;
        assert_int_equal(ts_config_load_file(row[i].file, &c, NULL), TS_OK);
        const int64_t got[] = {c.W, c.R, c.Dk, c.Dv, c.Hkv};
        const int64_t want[] = {row[i].W, row[i].R, row[i].Dk, row[i].Dv, row[i].Hkv};
        assert_memory_equal(got, want, sizeof got);
        assert_true(c.theta == row[i].theta && c.eps == row[i].eps);
        assert_int_equal(c.tied, row[i].tied);
        assert_int_equal(c.n_stop, 0);
    }
}

static void every_family_is_read(void **state)
{
    (void)state;
    const char *const files[] = {"golden/external/rand-qwen35-moe-config.json",
                                 "golden/external/rand-qwen3-next-moe-config.json",
                                 "golden/external/rand-kimi-linear-config.json"};
    const ts_family family[] = {TS_FAMILY_QWEN35, TS_FAMILY_NEXT, TS_FAMILY_KIMI};
    const int64_t k[] = {3, 2, 2}, shared[] = {48, 48, 32};
    for (size_t i = 0; i < 3; i++) {
        ts_config c;
        assert_int_equal(ts_config_load_file(files[i], &c, NULL), TS_OK);
        assert_int_equal(c.family, family[i]);
        assert_int_equal(c.moe.E, 8);
        assert_int_equal(c.moe.k, k[i]);
        assert_int_equal(c.moe.I, 32);
        assert_int_equal(c.moe.shared, shared[i]);
        assert_int_equal(c.moe.sigmoid, i == 2);
        assert_int_equal(c.moe.layer[0], i != 2);
        assert_true(c.moe.layer[1] && c.moe.renorm);
    }
}

static void other_models_are_refused_by_name(void **state)
{
    (void)state;
    assert_refused("model_type", "\"llama\"", "\"llama\" is not supported");
    assert_refused("model_type", "\"qwen4_exp\"", "\"qwen4_exp\" is not supported");
    assert_refused("model_type", "\"kimi_k3\"", "\"kimi_k3\" is not supported");
    assert_refused("model_type", "\"kimi-k3\"", "\"kimi-k3\" is not supported");
    assert_refused("model_type", "\"qwen3_5_moe_vl\"", "not supported");
    assert_refused("model_type", "\"QWEN3_5\"", "not supported");
    assert_refused("model_type", "5", "must be a string");
    assert_refused("model_type", NULL, "missing");
}

static void nested_text_config(void **state)
{
    (void)state;
    ts_config c;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "model_type", "qwen3_5");
    cJSON_AddTrueToObject(root, "tie_word_embeddings");
    cJSON_AddNumberToObject(root, "vocab_size", 1);
    cJSON_AddNumberToObject(root, "eos_token_id", 9);
    cJSON_AddItemToObject(root, "text_config", base_with("tie_word_embeddings", "null"));
    assert_int_equal(load(cJSON_Duplicate(root, 1), &c, NULL), TS_OK);
    assert_string_equal(c.model_type, "qwen3_5_text");
    assert_int_equal(c.V, 97);
    assert_true(c.tied);
    assert_true(ts_config_is_stop(&c, 7) && ts_config_is_stop(&c, 9));
    cJSON *text = cJSON_GetObjectItemCaseSensitive(root, "text_config");
    cJSON_ReplaceItemInObjectCaseSensitive(text, "tie_word_embeddings", cJSON_CreateFalse());
    assert_int_equal(load(cJSON_Duplicate(root, 1), &c, NULL), TS_OK);
    assert_false(c.tied);
    cJSON_ReplaceItemInObjectCaseSensitive(root, "model_type", cJSON_CreateString("qwen3_5_moe"));
    assert_int_equal(load(root, &c, NULL), TS_BAD);
    assert_refused("text_config", "[]", "must be an object");
}

static void rope_precedence(void **state)
{
    (void)state;
    ts_config c;
    cJSON *o = base_with("partial_rotary_factor", "1.0");
    cJSON_AddNumberToObject(o, "rope_theta", 5);
    assert_int_equal(load(o, &c, NULL), TS_OK);
    assert_int_equal(c.R, 6);
    assert_true(c.theta == 1e7);
    o = base_with("rope_parameters", NULL);
    cJSON_AddNumberToObject(o, "rope_theta", 5000);
    cJSON_AddNumberToObject(o, "partial_rotary_factor", 0.5);
    cJSON_AddNullToObject(o, "rope_scaling");
    assert_int_equal(load(o, &c, NULL), TS_OK);
    assert_int_equal(c.R, 12);
    assert_true(c.theta == 5000);
    assert_refused("rope_parameters", NULL, "missing");
    assert_refused("rope_parameters", "3", "must be an object");
    assert_refused("rope_parameters", "{\"rope_theta\":1e7}", "missing");
    assert_refused("rope_parameters", "{\"rope_type\":\"yarn\",\"rope_theta\":1e7,\"partial_rotary_factor\":0.25}",
                   "\"yarn\"");
    assert_refused("rope_parameters", "{\"type\":\"linear\",\"rope_theta\":1e7,\"partial_rotary_factor\":0.25}",
                   "\"linear\"");
    assert_refused("rope_parameters", "{\"rope_theta\":1,\"partial_rotary_factor\":0.25}", "greater than 1");
    assert_refused("rope_parameters", "{\"rope_theta\":\"1e7\",\"partial_rotary_factor\":0.25}",
                   "must be a number");
    assert_refused("rope_parameters", "{\"rope_theta\":1e7,\"partial_rotary_factor\":1.5}", "at most 1");
    assert_refused("rope_parameters", "{\"rope_theta\":1e7,\"partial_rotary_factor\":0}", "greater than 0");
    assert_refused("rope_parameters", "{\"rope_theta\":1e7,\"partial_rotary_factor\":0.125}",
                   "gives 3 rotary dims");
    assert_refused("rope_parameters", "{\"rope_theta\":1e7,\"partial_rotary_factor\":0.01}", "gives 0 rotary dims");
}

static void layer_kinds(void **state)
{
    (void)state;
    ts_config c;
    assert_loads("x", "0", &c);
    const bool four[5] = {false, false, false, true, false};
    assert_memory_equal(c.full, four, sizeof four);
    assert_loads("full_attention_interval", "2", &c);
    const bool two[5] = {false, true, false, true, false};
    assert_memory_equal(c.full, two, sizeof two);
    const char *list =
        "[\"full_attention\",\"linear_attention\",\"linear_attention\",\"linear_attention\",\"full_attention\"]";
    cJSON *o = base_with("layer_types", list);
    cJSON_AddNumberToObject(o, "full_attention_interval", 2);
    assert_int_equal(load(o, &c, NULL), TS_OK);
    const bool own[5] = {true, false, false, false, true};
    assert_memory_equal(c.full, own, sizeof own);
    assert_refused("layer_types", "[\"full_attention\"]", "has 1 entries for 5 layers");
    assert_refused("layer_types", "[\"sliding_attention\"]", "entry 0 is \"sliding_attention\"");
    assert_refused("layer_types", "[1]", "not a string");
    assert_refused("layer_types", "4", "must be a list");
    assert_refused("full_attention_interval", "0", "outside");
}

static void hostile_dims(void **state)
{
    (void)state;
    const char *const key[] = {"vocab_size",
                               "hidden_size",
                               "intermediate_size",
                               "num_hidden_layers",
                               "num_attention_heads",
                               "num_key_value_heads",
                               "head_dim",
                               "linear_num_key_heads",
                               "linear_num_value_heads",
                               "linear_key_head_dim",
                               "linear_value_head_dim",
                               "linear_conv_kernel_dim",
                               "max_position_embeddings"};
    const char *const value[] = {"0",    "-1", "1.5", "1e300",      "\"8\"",           "null",
                                 "true", "[]", "{}",  "4294967297", "9007199254740993"};
    for (size_t k = 0; k < sizeof key / sizeof *key; k++) {
        assert_refused(key[k], NULL, "missing");
        for (size_t v = 0; v < sizeof value / sizeof *value; v++)
            assert_refused(key[k], value[v], "");
    }
    assert_refused("num_hidden_layers", "257", "outside 1..256");
    assert_refused("vocab_size", "1048577", "outside 1..1048576");
    assert_refused("num_attention_heads", "5", "multiple of num_key_value_heads");
    assert_refused("linear_num_value_heads", "5", "multiple of linear_num_key_heads");
    cJSON *o = base_with("num_attention_heads", "1048576");
    cJSON_ReplaceItemInObjectCaseSensitive(o, "head_dim", cJSON_CreateNumber(1024));
    ts_config c;
    ts_error err = {0};
    assert_int_equal(load(o, &c, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "exceeds 2^31"));
    o = base_with("linear_num_value_heads", "1048576");
    cJSON_ReplaceItemInObjectCaseSensitive(o, "linear_value_head_dim", cJSON_CreateNumber(1048576));
    assert_int_equal(load(o, &c, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "exceed 2^31"));
}

static void switches(void **state)
{
    (void)state;
    ts_config c;
    assert_loads("hidden_act", "\"silu\"", &c);
    assert_loads("attention_bias", "false", &c);
    assert_loads("attn_output_gate", "true", &c);
    assert_loads("output_gate_type", "\"swish\"", &c);
    assert_refused("attention_bias", "true", "true is not supported");
    assert_refused("attention_bias", "0", "must be a boolean");
    assert_refused("hidden_act", "\"gelu\"", "\"gelu\" is not supported");
    assert_refused("hidden_act", "1", "must be a string");
    assert_refused("attn_output_gate", "false", "false is not supported");
    assert_refused("output_gate_type", "\"sigmoid\"", "\"sigmoid\" is not supported");
    assert_refused("tie_word_embeddings", "\"yes\"", "must be a boolean");
    const char *const eps[] = {"0", "-1e-6", "1e300", "1e-300", "\"1e-6\"", "null"};
    for (size_t i = 0; i < sizeof eps / sizeof *eps; i++)
        assert_refused("rms_norm_eps", eps[i], "must be");
}

static void quantization(void **state)
{
    (void)state;
    ts_config c;
    assert_loads("quantization", "{\"bits\":4,\"group_size\":64}", &c);
    assert_int_equal(c.quant_bits, 4);
    assert_int_equal(c.quant_group, 64);
    assert_loads("quantization_config", "{\"bits\":8,\"group_size\":64,\"mode\":\"affine\"}", &c);
    assert_int_equal(c.quant_bits, 8);
    assert_loads("quantization", "null", &c);
    assert_int_equal(c.quant_bits, 0);
    assert_loads("quantization", "{\"bits\":3,\"group_size\":128}", &c);
    assert_int_equal(c.quant_bits, 3);
    assert_int_equal(c.quant_group, 128);
    assert_refused("quantization", "{\"bits\":7,\"group_size\":64}", "7 bits");
    assert_refused("quantization", "{\"bits\":4,\"group_size\":16}", "groups of 16");
    assert_refused("quantization", "{\"bits\":4}", "missing");
    assert_refused("quantization", "{\"bits\":4,\"group_size\":64,\"mode\":\"mxfp4\"}", "mode \"mxfp4\"");
    assert_refused("quantization_config", "{\"quant_method\":\"fp8\"}", "\"quant_method\"");
    assert_refused("quantization", "4", "must be an object");
    cJSON *o = base_with("quantization", "{\"bits\":4,\"group_size\":64}");
    cJSON_AddItemToObject(o, "quantization_config", cJSON_Parse("{\"bits\":8,\"group_size\":64}"));
    assert_int_equal(load(o, &c, NULL), TS_BAD);
}

static void quantization_overrides(void **state)
{
    (void)state;
    ts_config c;
    const struct {
        const char *own, *reason;
    } bad[] = {
        {"\"a\":{\"bits\":8}", "group_size: missing"},
        {"\"a\":{\"group_size\":32}", "missing"},
        {"\"a\":{\"bits\":1,\"group_size\":32}", "1 bits"},
        {"\"a\":{\"bits\":8,\"group_size\":96}", "groups of 96"},
        {"\"a\":{\"bits\":8,\"group_size\":64,\"mode\":\"nvfp4\"}", "mode \"nvfp4\""},
        {"\"a\":8", "\"a\""},
        {"\"a\":null", "\"a\""},
        {"\"a.b\":false,\"language_model.a.b\":false", "\"a.b\" is given twice"},
    };
    char text[256];
    assert_loads("quantization",
                 "{\"bits\":4,\"group_size\":64,\"a\":false,\"b\":true,\"c\":{\"bits\":6,\"group_size\":32}}", &c);
    assert_int_equal(c.quant_bits, 4);
    assert_int_equal(c.quant_group, 64);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "{\"bits\":4,\"group_size\":64,%s}", bad[i].own);
        assert_refused("quantization", text, bad[i].reason);
    }
    const char *const one = "{\"bits\":4,\"group_size\":64,\"a\":false,\"b\":{\"bits\":8,\"group_size\":64}}";
    const char *const other = "{\"bits\":4,\"group_size\":64,\"b\":{\"group_size\":64,\"bits\":8},\"a\":false}";
    cJSON *o = base_with("quantization", one);
    cJSON_AddItemToObject(o, "quantization_config", cJSON_Parse(other));
    assert_int_equal(load(o, &c, NULL), TS_OK);
    o = base_with("quantization", one);
    cJSON_AddItemToObject(o, "quantization_config", cJSON_Parse("{\"bits\":4,\"group_size\":64,\"a\":false}"));
    assert_int_equal(load(o, &c, NULL), TS_BAD);
}

static void stops(void **state)
{
    (void)state;
    ts_config c;
    assert_loads("eos_token_id", "[3,5,3]", &c);
    assert_int_equal(c.n_stop, 2);
    assert_refused("eos_token_id", "97", "0..96");
    assert_refused("eos_token_id", "-1", "0..96");
    assert_refused("eos_token_id", "[1,2.5]", "0..96");
    assert_refused("eos_token_id", "\"7\"", "0..96");
    assert_refused("eos_token_id", "{}", "0..96");
    assert_refused("eos_token_id", "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]", "more than 16");
    assert_loads("eos_token_id", "null", &c);
    assert_int_equal(c.n_stop, 0);
}

static void generation_config(void **state)
{
    (void)state;
    ts_config c;
    ts_error err = {0};
    assert_loads("bos_token_id", "1", &c);
    assert_int_equal(ts_config_load(dir.path, &c, NULL), TS_OK);
    assert_int_equal(c.n_stop, 1);
    folder_text(&dir, "generation_config.json",
                "{\"eos_token_id\":[7,11],\"pad_token_id\":1,\"temperature\":\"hot\"}");
    assert_int_equal(ts_config_load(dir.path, &c, NULL), TS_OK);
    assert_int_equal(c.n_stop, 2);
    assert_true(ts_config_is_stop(&c, 7) && ts_config_is_stop(&c, 11) && !ts_config_is_stop(&c, 1));
    folder_text(&dir, "generation_config.json", "{\"eos_token_id\":97}");
    assert_int_equal(ts_config_load(dir.path, &c, &err), TS_BAD);
    assert_non_null(strstr(err.file, "generation_config.json"));
    folder_text(&dir, "generation_config.json", "[]");
    assert_int_equal(ts_config_load(dir.path, &c, &err), TS_BAD);
    folder_text(&dir, "generation_config.json", "{");
    assert_int_equal(ts_config_load(dir.path, &c, &err), TS_BAD);
    assert_int_equal(ts_config_load("golden/nowhere", &c, &err), TS_BAD);
    assert_non_null(strstr(err.file, "golden/nowhere/config.json"));
    folder_text(&dir, "config.json", "[]");
    assert_int_equal(ts_config_load(dir.path, &c, &err), TS_BAD);
}

static void profiles(void **state)
{
    (void)state;
    int n = 0;
    for (const ts_profile *p; (p = ts_profile_at(n)) != NULL; n++)
        assert_ptr_equal(ts_profile_find(p->name), p);
    assert_int_equal(n, 6);
    assert_null(ts_profile_at(-1));
    assert_null(ts_profile_find("nobody"));
    assert_int_equal(ts_profile_find("exact")->kv, TS_KV_REAL);
    assert_false(ts_profile_codes(ts_profile_find("exact")));
    assert_int_equal(ts_profile_find("ts")->kv, TS_KV_BF16);
    assert_true(ts_profile_codes(ts_profile_find("ts")));
    for (int i = 0; i < n; i++) {
        const ts_profile *p = ts_profile_at(i);
        assert_non_null(strstr(ts_profile_names(), p->name));
        assert_int_equal(ts_profile_is_house(p), i < 2);
    }
}

/* Every value of every choice can be set by name, read back, and has a meaning; nothing else is taken. */
static void choices(void **state)
{
    (void)state;
    char text[64];
    const ts_choice *c;
    for (int i = 0; (c = ts_choice_at(i)) != NULL; i++)
        for (int v = 0; v < TS_MAX_VALUES && c->value[v].name; v++) {
            ts_profile p = *ts_profile_find("exact");
            snprintf(text, sizeof text, "%s=%s", c->name, c->value[v].name);
            assert_true(ts_profile_change(&p, text));
            assert_int_equal(ts_choice_get(&p, c), v);
            assert_true(c->value[v].means[0] != 0);
            ts_choice_set(&p, c, 0);
            assert_int_equal(ts_choice_get(&p, c), 0);
        }
    ts_profile p = *ts_profile_find("exact");
    assert_false(ts_profile_change(&p, "kv"));
    assert_false(ts_profile_change(&p, "kv=f8"));
    assert_false(ts_profile_change(&p, "k=real"));
    assert_false(ts_profile_change(&p, "kvv=real"));
    assert_null(ts_choice_at(-1));
    ts_kv_dtype d;
    assert_true(ts_kv_find("f16", &d) && d == TS_KV_F16);
    assert_false(ts_kv_find("f17", &d));
    assert_string_equal(ts_kv_name(TS_KV_BF16), "bf16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_model),
        cmocka_unit_test(random_models),
        cmocka_unit_test(every_family_is_read),
        cmocka_unit_test_teardown(other_models_are_refused_by_name, empty_dir),
        cmocka_unit_test_teardown(nested_text_config, empty_dir),
        cmocka_unit_test_teardown(rope_precedence, empty_dir),
        cmocka_unit_test_teardown(layer_kinds, empty_dir),
        cmocka_unit_test_teardown(hostile_dims, empty_dir),
        cmocka_unit_test_teardown(switches, empty_dir),
        cmocka_unit_test_teardown(quantization, empty_dir),
        cmocka_unit_test_teardown(quantization_overrides, empty_dir),
        cmocka_unit_test_teardown(stops, empty_dir),
        cmocka_unit_test_teardown(generation_config, empty_dir),
        cmocka_unit_test(profiles),
        cmocka_unit_test(choices),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
