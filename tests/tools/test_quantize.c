#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "base/folder.h"
#include "config/weights.h"
#include "format/json.h"
#include "mlx.h"
#include "num/convert.h"
#include "num/sha256.h"
#include "quantize.h"
#include "tool.h"
#include "tools/capture.h"

#define TINY "golden/models/tiny-qwen35"
#define DENSE "golden/external/rand-qwen35-dense"

static capture got;

/* A folder of test files with one sub-folder for the output. */
typedef struct {
    folder dir;
    char model[FOLDER_PATH], out[FOLDER_PATH];
} place;

static void remove_below(const folder *f, const char *name)
{
    folder sub;
    snprintf(sub.path, sizeof sub.path, "%.50s/%s", f->path, name);
    folder_remove(&sub);
}

static int set_up(void **state)
{
    static place p;
    folder_make(&p.dir);
    folder_file(&p.dir, "model", p.model);
    folder_file(&p.dir, "out", p.out);
    *state = &p;
    return 0;
}

static int tear_down(void **state)
{
    place *p = *state;
    remove_below(&p->dir, "model");
    remove_below(&p->dir, "out");
    remove_below(&p->dir, "two");
    assert_int_equal(folder_count(&p->dir), 0); /* no temporary folder left */
    folder_remove(&p->dir);
    return 0;
}

static ts_status quantized(const char *from, const char *to, int bits, int group, ts_error *err)
{
    return ts_quantize(from, to, &(ts_quantize_options){.bits = bits, .group = group}, err);
}

/* name[] gets the MLX spelling of a Hugging Face one. */
static void mlx_name(const char *from, char name[96])
{
    snprintf(name, 96, "language_model.%s", from);
}

/* A checkpoint as a folder with one file: without lm_head where tied, under MLX's names where mlx. */
static void make_model(const place *p, const char *config_file, const char *weights, bool tied, bool mlx)
{
    char path[FOLDER_PATH + 32];
    cJSON *config = NULL;
    ts_checkpoint *c = NULL;
    static ts_tensor t[128];
    static char name[128][96];
    size_t n = 0;
    mkdir(p->model, 0777);
    assert_int_equal(ts_json_load(config_file, &config, NULL), TS_OK);
    cJSON_ReplaceItemInObject(config, "tie_word_embeddings", cJSON_CreateBool(tied));
    snprintf(path, sizeof path, "%s/config.json", p->model);
    assert_int_equal(ts_json_save(path, config, NULL), TS_OK);
    cJSON_Delete(config);
    assert_int_equal(ts_checkpoint_open(weights, &c, NULL), TS_OK);
    for (size_t i = 0; i < ts_checkpoint_count(c); i++) {
        if (tied && strcmp(ts_checkpoint_at(c, i)->name, "lm_head.weight") == 0)
            continue;
        t[n] = *ts_checkpoint_at(c, i);
        mlx_name(t[n].name, name[n]);
        t[n].name = mlx ? name[n] : t[n].name;
        if (mlx && strstr(t[n].name, "conv1d")) { /* [CD,1,W] there, [CD,W,1] here */
            t[n].dim[1] = t[n].dim[2];
            t[n].dim[2] = 1;
        }
        n++;
    }
    snprintf(path, sizeof path, "%s/model.safetensors", p->model);
    assert_int_equal(ts_safetensors_write(path, t, n, NULL, 0, NULL), TS_OK);
    ts_checkpoint_close(c);
}

/* 64 and 96 columns, so groups of 32 only. */
static void make_dense(const place *p)
{
    make_model(p, DENSE "-config.json", DENSE "-weights.safetensors", false, false);
}

static ts_safetensors *open_result(const char *where)
{
    char path[FOLDER_PATH + 32];
    ts_safetensors *f = NULL;
    snprintf(path, sizeof path, "%s/model.safetensors", where);
    assert_int_equal(ts_safetensors_open(path, &f, NULL), TS_OK);
    return f;
}

static void check_tensor(const ts_safetensors *f, const char *name, ts_dtype dtype, int ndim, int64_t d0,
                         int64_t d1, int64_t d2)
{
    const ts_tensor *t = ts_safetensors_find(f, name);
    const int64_t dim[3] = {d0, d1, d2};
    if (!t)
        fail_msg("%s is missing", name);
    assert_int_equal(t->dtype, dtype);
    assert_int_equal(t->ndim, ndim);
    assert_memory_equal(t->dim, dim, (size_t)ndim * sizeof *dim);
}

static void tiny_names_and_shapes(void **state)
{
    place *p = *state;
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "--model", TINY, "-o", p->out, "--json", NULL),
                     TS_OK);
    ts_safetensors *f = open_result(p->out);
    /* 6 linear layers of 8 matrices and 6 others, 2 full ones of 7 and 4, embedding, head, norm */
    assert_int_equal(ts_safetensors_count(f), 6 * (8 * 3 + 6) + 2 * (7 * 3 + 4) + 2 * 3 + 1);
    for (size_t i = 1; i < ts_safetensors_count(f); i++)
        assert_true(strcmp(ts_safetensors_at(f, i - 1)->name, ts_safetensors_at(f, i)->name) < 0);
    check_tensor(f, "language_model.model.embed_tokens.weight", TS_U32, 2, 2048, 32, 0);
    check_tensor(f, "language_model.model.embed_tokens.scales", TS_BF16, 2, 2048, 4, 0);
    check_tensor(f, "language_model.lm_head.biases", TS_BF16, 2, 2048, 4, 0);
    check_tensor(f, "language_model.model.layers.0.linear_attn.conv1d.weight", TS_BF16, 3, 1280, 4, 1);
    check_tensor(f, "language_model.model.layers.0.linear_attn.in_proj_a.weight", TS_U32, 2, 6, 32, 0);
    check_tensor(f, "language_model.model.layers.0.linear_attn.A_log", TS_BF16, 1, 6, 0, 0);
    check_tensor(f, "language_model.model.layers.7.self_attn.o_proj.weight", TS_U32, 2, 256, 96, 0);
    check_tensor(f, "language_model.model.norm.weight", TS_BF16, 1, 256, 0, 0);
    ts_safetensors_close(f);
    char path[FOLDER_PATH + 32];
    snprintf(path, sizeof path, "%s/tokenizer.json", p->out);
    assert_int_equal(access(path, R_OK), 0);
}

/* What is read back is the model: norms plus one rounded once, the rest by the golden encoder. */
static void compare_weights(const ts_weights *from, const ts_weights *to, int bits)
{
    const ts_layer *a = &from->layer[0], *b = &to->layer[0];
    assert_true(to->folded && !from->folded);
    assert_int_equal(to->cfg.quant_bits, bits);
    assert_int_equal(to->cfg.quant_group, 64);
    for (int64_t i = 0; i < a->input_norm.n; i++)
        assert_int_equal(ts_bits(b->input_norm.v[i]), (uint32_t)ts_f32_to_bf16(1.0f + a->input_norm.v[i]) << 16);
    assert_memory_equal(b->conv.v, a->conv.v, (size_t)a->conv.n * sizeof(float));
    assert_memory_equal(b->A_log.v, a->A_log.v, (size_t)a->A_log.n * sizeof(float));
    assert_memory_equal(b->dt_bias.v, a->dt_bias.v, (size_t)a->dt_bias.n * sizeof(float));
    assert_memory_equal(b->gdn_norm.v, a->gdn_norm.v, (size_t)a->gdn_norm.n * sizeof(float));
    const ts_matrix *m = &a->down_proj, *q = &b->down_proj;
    assert_int_equal(q->format, TS_W_MLX);
    for (int64_t n = 0; n < m->N; n++)
        for (int64_t k = 0; k < m->K; k++) {
            int64_t g = n * (m->K / 64) + k / 64;
            double scale = (double)ts_bf16_to_f32(((const uint16_t *)q->scales)[g]);
            double bias = (double)ts_bf16_to_f32(((const uint16_t *)q->biases)[g]);
            double x = (double)ts_bf16_to_f32(((const uint16_t *)m->data)[n * m->K + k]);
            double y = scale * ts_mlx_code(q, n, k) + bias;
            /* half a step, the step's own rounding over all codes, the bias's rounding, and a clamped edge */
            double slack = 1.0 * (scale < 0 ? -scale : scale) + (bias < 0 ? -bias : bias) / 64;
            assert_true(y - x <= slack && x - y <= slack);
        }
}

static void reads_back(void **state)
{
    place *p = *state;
    for (int bits = 4; bits <= 8; bits += 4) {
        ts_weights *from = NULL, *to = NULL;
        ts_error err = {0};
        assert_int_equal(quantized(TINY, p->out, bits, 64, &err), TS_OK);
        assert_int_equal(ts_weights_load(TINY, &from, &err), TS_OK);
        if (ts_weights_load(p->out, &to, &err))
            fail_msg("%s: %s: %s", err.file, err.tensor, err.reason);
        compare_weights(from, to, bits);
        ts_weights_free(from);
        ts_weights_free(to);
    }
}

static void sha_of(const char *where, const char *name, char hex[TS_SHA256_HEX])
{
    char path[FOLDER_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", where, name);
    assert_int_equal(ts_sha256_file(path, hex, NULL), TS_OK);
}

static void deterministic(void **state)
{
    place *p = *state;
    char two[FOLDER_PATH], a[TS_SHA256_HEX], b[TS_SHA256_HEX];
    make_dense(p);
    folder_file(&p->dir, "two/", two);
    assert_int_equal(quantized(p->model, p->out, 8, 32, NULL), TS_OK);
    assert_int_equal(quantized(p->model, two, 8, 32, NULL), TS_OK);
    sha_of(p->out, "model.safetensors", a);
    sha_of(two, "model.safetensors", b);
    assert_string_equal(a, b);
    sha_of(p->out, "config.json", a);
    sha_of(two, "config.json", b);
    assert_string_equal(a, b);
}

static void tied_has_no_head(void **state)
{
    place *p = *state;
    make_model(p, TINY "/config.json", TINY, true, false);
    assert_int_equal(quantized(p->model, p->out, 4, 64, NULL), TS_OK);
    ts_safetensors *f = open_result(p->out);
    assert_null(ts_safetensors_find(f, "language_model.lm_head.weight"));
    check_tensor(f, "language_model.model.embed_tokens.weight", TS_U32, 2, 2048, 32, 0);
    ts_safetensors_close(f);
    ts_weights *w = NULL;
    assert_int_equal(ts_weights_load(p->out, &w, NULL), TS_OK);
    assert_ptr_equal(w->head.data, w->embed.data);
    ts_weights_free(w);
}

/* Norms of an MLX checkpoint hold 1 + w: nothing is added again. */
static void folded_stays(void **state)
{
    place *p = *state;
    ts_weights *from = NULL, *to = NULL;
    ts_error err = {0};
    make_model(p, TINY "/config.json", TINY, false, true);
    if (quantized(p->model, p->out, 4, 64, &err) || ts_weights_load(p->out, &to, &err) ||
        ts_weights_load(TINY, &from, &err))
        fail_msg("%s: %s: %s", err.file, err.tensor, err.reason);
    const ts_vector *a = &from->layer[3].q_norm, *b = &to->layer[3].q_norm;
    assert_memory_equal(a->v, b->v, (size_t)a->n * sizeof(float));
    assert_memory_equal(from->layer[0].A_log.v, to->layer[0].A_log.v,
                        (size_t)from->layer[0].A_log.n * sizeof(float));
    ts_weights_free(from);
    ts_weights_free(to);
}

static void config_is_kept(void **state)
{
    place *p = *state;
    char path[FOLDER_PATH + 32];
    cJSON *before = NULL, *after = NULL;
    make_dense(p);
    assert_int_equal(quantized(p->model, p->out, 4, 32, NULL), TS_OK);
    snprintf(path, sizeof path, "%s/config.json", p->model);
    assert_int_equal(ts_json_load(path, &before, NULL), TS_OK);
    snprintf(path, sizeof path, "%s/config.json", p->out);
    assert_int_equal(ts_json_load(path, &after, NULL), TS_OK);
    static const char *const key[] = {"quantization", "quantization_config"};
    for (int i = 0; i < 2; i++) {
        cJSON *q = cJSON_DetachItemFromObjectCaseSensitive(after, key[i]);
        char *text = cJSON_PrintUnformatted(q);
        assert_string_equal(text, "{\"group_size\":32,\"bits\":4,\"mode\":\"affine\"}");
        cJSON_free(text);
        cJSON_Delete(q);
    }
    assert_true(cJSON_Compare(before, after, true));
    cJSON_Delete(before);
    cJSON_Delete(after);
}

static void put_file(const char *where, const char *name, const char *text)
{
    char path[FOLDER_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", where, name);
    assert_int_equal(ts_write_file(path, text, strlen(text), NULL), TS_OK);
}

static void assert_file(const char *where, const char *name, const char *want)
{
    char path[FOLDER_PATH + 64], *text;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", where, name);
    if (!want) {
        assert_int_equal(access(path, F_OK), -1);
        return;
    }
    assert_int_equal(ts_read_file(path, &text, &size, NULL), TS_OK);
    assert_string_equal(text, want);
    free(text);
}

/* Kimi's tokenizer is two files. Those of a model that was there before are not the new one's. */
static void tokenizer_is_kept(void **state)
{
    place *p = *state;
    make_dense(p);
    put_file(p->model, "tiktoken.model", "bG8= 0\n");
    put_file(p->model, "tokenizer_config.json", "{}");
    assert_int_equal(quantized(p->model, p->out, 4, 32, NULL), TS_OK);
    assert_file(p->out, "tiktoken.model", "bG8= 0\n");
    assert_file(p->out, "tokenizer_config.json", "{}");
    remove_below(&p->dir, "model");
    make_dense(p);
    assert_int_equal(quantized(p->model, p->out, 4, 32, NULL), TS_OK);
    assert_file(p->out, "tiktoken.model", NULL);
    assert_file(p->out, "tokenizer_config.json", NULL);
}

/* Tensor `name` of a result as [N][K] of MLX codes, checked against the encoder row by row. */
static void check_codes(const ts_safetensors *f, const char *module, const ts_matrix *from, int bits, int group,
                        ts_mlx_encoder *encode)
{
    char name[3][128];
    static uint8_t code[4096];
    static float scale[128], bias[128];
    const int64_t N = from->N, K = from->K;
    snprintf(name[0], sizeof name[0], "%s.weight", module);
    snprintf(name[1], sizeof name[1], "%s.scales", module);
    snprintf(name[2], sizeof name[2], "%s.biases", module);
    check_tensor(f, name[0], TS_U32, 2, N, K * bits / 32, 0);
    check_tensor(f, name[1], TS_BF16, 2, N, K / group, 0);
    check_tensor(f, name[2], TS_BF16, 2, N, K / group, 0);
    const ts_matrix m = {
        .format = TS_W_MLX, .N = N, .K = K, .bits = bits, .data = ts_safetensors_find(f, name[0])->data};
    const uint16_t *s = ts_safetensors_find(f, name[1])->data, *b = ts_safetensors_find(f, name[2])->data;
    for (int64_t n = 0; n < N; n++) {
        static float w[4096];
        for (int64_t k = 0; k < K; k++)
            w[k] = ts_bf16_to_f32(((const uint16_t *)from->data)[n * K + k]);
        encode(w, K, bits, group, code, scale, bias);
        for (int64_t k = 0; k < K; k++)
            assert_int_equal(ts_mlx_code(&m, n, k), code[k]);
        for (int64_t g = 0; g < K / group; g++)
            assert_true(s[n * (K / group) + g] == ts_f32_to_bf16(scale[g]) &&
                        b[n * (K / group) + g] == ts_f32_to_bf16(bias[g]));
    }
}

static void encoders_and_widths(void **state)
{
    place *p = *state;
    static const struct {
        const char *encoder, *bits, *group;
    } row[] = {{"mlx-metal", "3", "64"}, {"lse", "5", "32"}, {"mlx-cpu", "6", "128"}, {"lse", "2", "64"}};
    ts_weights *w = NULL;
    assert_int_equal(ts_weights_load(TINY, &w, NULL), TS_OK);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", TINY, "-o", p->out, "--force",
                                     "--bits", row[i].bits, "--group", row[i].group, "--encoder", row[i].encoder,
                                     NULL),
                         TS_OK);
        ts_safetensors *f = open_result(p->out);
        check_codes(f, "language_model.model.layers.0.mlp.up_proj", &w->layer[0].up_proj, atoi(row[i].bits),
                    atoi(row[i].group), ts_mlx_encoder_find(row[i].encoder));
        ts_safetensors_close(f);
    }
    ts_weights_free(w);
    assert_null(ts_mlx_encoder_find("mlx"));
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", TINY, "-o", p->out, "--force",
                                 "--encoder", "gguf", NULL),
                     TS_USAGE);
}

/* A later pattern counts; a module that stays plain is false in the config and has its old bits. */
static void overrides(void **state)
{
    place *p = *state;
    char path[FOLDER_PATH + 32];
    cJSON *config = NULL;
    ts_weights *w = NULL;
    assert_int_equal(ts_weights_load(TINY, &w, NULL), TS_OK);
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", TINY, "-o", p->out, "--override",
                                 "*.layers.0.mlp.*=8,model.layers.0.mlp.down_proj=none", "--override",
                                 "language_model.lm_head=6:32", NULL),
                     TS_OK);
    ts_safetensors *f = open_result(p->out);
    check_codes(f, "language_model.model.layers.0.mlp.up_proj", &w->layer[0].up_proj, 8, 64, ts_ref32.mlx_encode);
    check_codes(f, "language_model.model.layers.1.mlp.up_proj", &w->layer[1].up_proj, 4, 64, ts_ref32.mlx_encode);
    check_codes(f, "language_model.lm_head", &w->head, 6, 32, ts_ref32.mlx_encode);
    const ts_matrix *down = &w->layer[0].down_proj;
    check_tensor(f, "language_model.model.layers.0.mlp.down_proj.weight", TS_BF16, 2, down->N, down->K, 0);
    assert_memory_equal(ts_safetensors_find(f, "language_model.model.layers.0.mlp.down_proj.weight")->data,
                        down->data, (size_t)(down->N * down->K) * 2);
    assert_null(ts_safetensors_find(f, "language_model.model.layers.0.mlp.down_proj.scales"));
    snprintf(path, sizeof path, "%s/config.json", p->out);
    assert_int_equal(ts_json_load(path, &config, NULL), TS_OK);
    char *text = cJSON_PrintUnformatted(cJSON_GetObjectItem(config, "quantization"));
    assert_string_equal(text, "{\"group_size\":64,\"bits\":4,\"mode\":\"affine\","
                              "\"language_model.lm_head\":{\"group_size\":32,\"bits\":6},"
                              "\"language_model.model.layers.0.mlp.gate_proj\":{\"group_size\":64,\"bits\":8},"
                              "\"language_model.model.layers.0.mlp.up_proj\":{\"group_size\":64,\"bits\":8},"
                              "\"language_model.model.layers.0.mlp.down_proj\":false}");
    assert_true(cJSON_Compare(cJSON_GetObjectItem(config, "quantization"),
                              cJSON_GetObjectItem(config, "quantization_config"), true));
    cJSON_free(text);
    cJSON_Delete(config);
    ts_safetensors_close(f);
    ts_weights_free(w);
}

static void wrong_overrides(void **state)
{
    static const char *const bad[] = {
        "x", "=4", "*=", "*=7", "*=4:48", "*=4:", "*=none:64", "*=8,,*=8", "nosuch=8", "*.mlp=8", "*=-4", "*=4 "};
    place *p = *state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int code = capture_run(&got, ts_cmd_quantize, "quantize", "-m", TINY, "-o", p->out, "--override", bad[i],
                               NULL);
        if (code != TS_USAGE)
            fail_msg("'%s' gave %d", bad[i], code);
        assert_ptr_equal(strstr(got.err, "touchstone: --override: "), got.err);
        assert_int_not_equal(access(p->out, F_OK), 0);
    }
}

static void refuses(void **state)
{
    place *p = *state;
    make_dense(p);
    /* 96 columns are no multiple of 64 */
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", p->model, "-o", p->out, NULL), TS_BAD);
    assert_non_null(strstr(got.err, "down_proj.weight: 96 columns are not a multiple of the group 64"));
    assert_int_not_equal(access(p->out, F_OK), 0);
    assert_int_equal(folder_count(&p->dir), 1);
    assert_int_equal(
        capture_run(&got, ts_cmd_quantize, "quantize", "-m", p->model, "-o", p->model, "--force", NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", p->model, "-o", p->out, "-g", "48", NULL),
                     TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", p->model, "-o", p->out, "-b", "7", NULL),
                     TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", p->model, NULL), TS_USAGE);
    assert_string_equal(got.err, "touchstone: --out: is required\n");
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", "/nonexistent", "-o", p->out, NULL),
                     TS_BAD);
    assert_int_equal(folder_count(&p->dir), 1);
}

static void force_and_already_quantised(void **state)
{
    place *p = *state;
    char two[FOLDER_PATH], stale[FOLDER_PATH + 64];
    make_dense(p);
    folder_file(&p->dir, "two", two);
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", p->model, "-o", p->out, "-g", "32", NULL),
                     TS_OK);
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", p->model, "-o", p->out, "-g", "32", NULL),
                     TS_USAGE);
    snprintf(stale, sizeof stale, "%s/model.safetensors.index.json", p->out);
    assert_int_equal(ts_write_file(stale, "{}", 2, NULL), TS_OK);
    assert_int_equal(
        capture_run(&got, ts_cmd_quantize, "quantize", "-m", p->model, "-o", p->out, "-g", "32", "--force", NULL),
        TS_OK);
    assert_int_not_equal(access(stale, F_OK), 0);
    assert_int_equal(quantized(TINY, p->out, 4, 64, NULL), TS_OK);
    assert_int_equal(capture_run(&got, ts_cmd_quantize, "quantize", "-m", p->out, "-o", two, "--json", NULL),
                     TS_BAD);
    assert_non_null(strstr(got.out, "quantised already"));
    assert_int_not_equal(access(two, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tiny_names_and_shapes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(deterministic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tied_has_no_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folded_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(config_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tokenizer_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(encoders_and_widths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(overrides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_overrides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(force_and_already_quantised, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
