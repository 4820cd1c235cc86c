/* touchstone convert: what it writes is the checkpoint again, value by value, once GGUF's changes are undone by a
 * second coding of them; and what cannot be written is named. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/scratch.h"
#include "convert.h"
#include "num/convert.h"

#define MODEL "golden/models/tiny-qwen35"

static char path[FOLDER_PATH];

static ts_gguf *converted(const char *from, const char *type)
{
    ts_convert_result r;
    ts_gguf *g = NULL;
    ts_error err = {0};
    folder_file(&dir, "x.gguf", path);
    if (ts_convert_gguf(from, path, type, &r, &err) != TS_OK || ts_gguf_open(path, &g, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    assert_int_equal(ts_gguf_count(g), r.tensors);
    return g;
}

/* Hugging Face's name of the same tensor. */
static void hf_name(const char *gguf, char out[128])
{
    static const char *const map[][2] = {
        {"attn_norm.weight", "input_layernorm.weight"},
        {"post_attention_norm.weight", "post_attention_layernorm.weight"},
        {"attn_qkv.weight", "linear_attn.in_proj_qkv.weight"},
        {"attn_gate.weight", "linear_attn.in_proj_z.weight"},
        {"ssm_beta.weight", "linear_attn.in_proj_b.weight"},
        {"ssm_alpha.weight", "linear_attn.in_proj_a.weight"},
        {"ssm_a", "linear_attn.A_log"},
        {"ssm_dt.bias", "linear_attn.dt_bias"},
        {"ssm_conv1d.weight", "linear_attn.conv1d.weight"},
        {"ssm_norm.weight", "linear_attn.norm.weight"},
        {"ssm_out.weight", "linear_attn.out_proj.weight"},
        {"attn_q.weight", "self_attn.q_proj.weight"},
        {"attn_k.weight", "self_attn.k_proj.weight"},
        {"attn_v.weight", "self_attn.v_proj.weight"},
        {"attn_output.weight", "self_attn.o_proj.weight"},
        {"attn_q_norm.weight", "self_attn.q_norm.weight"},
        {"attn_k_norm.weight", "self_attn.k_norm.weight"},
        {"ffn_gate.weight", "mlp.gate_proj.weight"},
        {"ffn_up.weight", "mlp.up_proj.weight"},
        {"ffn_down.weight", "mlp.down_proj.weight"},
        {"token_embd.weight", "model.embed_tokens.weight"},
        {"output_norm.weight", "model.norm.weight"},
        {"output.weight", "lm_head.weight"},
    };
    int layer = 0, n = 0;
    bool block = sscanf(gguf, "blk.%d.%n", &layer, &n) == 1 && n > 0;
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        if (strcmp(map[i][0], gguf + n) == 0) {
            if (block)
                snprintf(out, 128, "model.layers.%d.%s", layer, map[i][1]);
            else
                snprintf(out, 128, "%s", map[i][1]);
            return;
        }
    fail_msg("%s is no tensor of qwen35", gguf);
}

/* Hk 2, Hv 6, Dk = Dv = 128. Row (or column) of GGUF that holds the row `i` of the checkpoint, of `total`. */
static int64_t tiled(int64_t i, int64_t total)
{
    const int64_t first = total == 1280 ? 512 : 0, d = (total - first) / 6;
    if (i < first)
        return i;
    const int64_t h = (i - first) / d;
    return first + (h % 3 * 2 + h / 3) * d + (i - first) % d;
}

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

/* bf16 of the checkpoint's value that the GGUF's value x was made of. */
static uint16_t undone(const char *name, double x)
{
    if (has(name, "norm.weight") && !has(name, "ssm_norm"))
        x -= 1;
    if (has(name, "ssm_a") && !has(name, "ssm_alpha"))
        x = log(-x);
    return ts_f64_to_bf16(x);
}

static size_t differences(const ts_tensor *t, const ts_tensor *hf)
{
    const bool rows = has(t->name, "attn_qkv") || has(t->name, "attn_gate") ||
                      (has(t->name, "ssm_") && !has(t->name, "ssm_norm") && !has(t->name, "ssm_out"));
    const bool columns = has(t->name, "ssm_out");
    const int64_t N = hf->dim[0], K = ts_tensor_count(hf) / N;
    size_t wrong = 0;
    assert_int_equal(ts_tensor_count(t), N * K);
    for (int64_t n = 0; n < N; n++)
        for (int64_t k = 0; k < K; k++) {
            int64_t at = (rows ? tiled(n, N) : n) * K + (columns ? tiled(k, K) : k);
            uint16_t got = undone(t->name, ts_tensor_get(t, at));
            wrong += got != ts_f64_to_bf16(ts_tensor_get(hf, n * K + k));
        }
    return wrong;
}

/* Of f16, whose smallest numbers are fewer than bf16's, what it holds. */
static void round_trip(void **state)
{
    (void)state;
    static const char *const types[] = {"bf16", "f32"};
    ts_checkpoint *c;
    assert_int_equal(ts_checkpoint_open(MODEL, &c, NULL), TS_OK);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        ts_gguf *g = converted(MODEL, types[i]);
        assert_int_equal(ts_gguf_count(g), ts_checkpoint_count(c));
        for (size_t k = 0; k < ts_gguf_count(g); k++) {
            char name[128];
            const ts_tensor *t = ts_gguf_at(g, k);
            hf_name(t->name, name);
            const ts_tensor *hf = ts_checkpoint_find(c, name, NULL);
            assert_non_null(hf);
            if (differences(t, hf) != 0)
                fail_msg("%s: %s: %zu elements differ", types[i], t->name, differences(t, hf));
        }
        ts_gguf_close(g);
    }
    ts_checkpoint_close(c);
}

/* The same tensors, of the same shapes, as the file that llama.cpp's own tools made; norms and rates have its bits.
 */
static void as_llama_cpp(void **state)
{
    (void)state;
    ts_gguf *g = converted(MODEL, "q8_0"), *theirs;
    int same = 0;
    assert_int_equal(ts_gguf_open(MODEL "/tiny-qwen35-mtp-q4_k_m.gguf", &theirs, NULL), TS_OK);
    for (size_t i = 0; i < ts_gguf_count(g); i++) {
        const ts_tensor *t = ts_gguf_at(g, i), *u = ts_gguf_find(theirs, t->name);
        assert_non_null(u);
        assert_int_equal(t->ndim, u->ndim);
        for (int d = 0; d < t->ndim; d++)
            assert_int_equal(t->dim[d], u->dim[d]);
        for (int64_t k = 0; u->dtype == TS_F32 && k < ts_tensor_count(t); k++) {
            const float x = ((const float *)t->data)[k], y = ((const float *)u->data)[k];
            const float most = has(t->name, "ssm_a") ? 0x1p-22f * fabsf(x) : 0; /* their exp is f32 */
            if (fabsf(x - y) > most)
                fail_msg("%s[%lld]: %.9g, llama.cpp has %.9g", t->name, (long long)k, (double)x, (double)y);
        }
        same += u->dtype == TS_F32;
    }
    assert_int_equal(same, 17 + 2 * 2 + 6 * 4);
    ts_gguf_close(g);
    ts_gguf_close(theirs);
}

/* d and codes of a block, from their definition. */
static void q8_0(void **state)
{
    (void)state;
    ts_gguf *g = converted(MODEL, "q8_0");
    ts_checkpoint *c;
    assert_int_equal(ts_checkpoint_open(MODEL, &c, NULL), TS_OK);
    const ts_tensor *hf = ts_checkpoint_find(c, "lm_head.weight", NULL);
    const unsigned char *block = ts_gguf_find(g, "output.weight")->data;
    for (int64_t b = 0; b < 2048 * 8; b++, block += 34) {
        float most = 0;
        for (int k = 0; k < 32; k++)
            most = fmaxf(most, fabsf((float)ts_tensor_get(hf, b * 32 + k)));
        assert_int_equal(block[0] | block[1] << 8, ts_f32_to_f16(most / 127));
        for (int k = 0; k < 32; k++)
            assert_int_equal((int8_t)block[2 + k],
                             (int)roundf((float)ts_tensor_get(hf, b * 32 + k) * (1 / (most / 127))));
    }
    ts_gguf_close(g);
    ts_checkpoint_close(c);
}

/* It loads as the model it was. */
static void same_config(void **state)
{
    (void)state;
    ts_weights *w = NULL, *hf = NULL;
    ts_error err = {0};
    ts_gguf_close(converted(MODEL, "bf16"));
    if (ts_weights_load(path, &w, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    assert_int_equal(ts_weights_load(MODEL, &hf, NULL), TS_OK);
    assert_true(w->folded && w->rate && w->tiled);
    assert_false(hf->folded || hf->rate || hf->tiled);
    assert_memory_equal(&w->cfg, &hf->cfg, sizeof w->cfg);
    const ts_matrix *a = ts_weights_matrix(w, 3, "q_proj"), *b = ts_weights_matrix(hf, 3, "q_proj");
    assert_memory_equal(a->data, b->data, (size_t)(a->N * a->K * 2));
    ts_weights_free(w);
    ts_weights_free(hf);
}

/* The tensors of a converted file, all zeros, but `name` of this type: as the binder sees it. */
static ts_status load_with(const char *name, const char *type, ts_error *err)
{
    static const float zeros[2048 * 256];
    char other[FOLDER_PATH];
    ts_weights *w = NULL;
    ts_gguf_out out = {0};
    ts_out file;
    size_t bytes[128];
    ts_gguf *g = converted(MODEL, "f32");
    const size_t n = ts_gguf_count(g);
    assert_int_equal(ts_weights_load_part(MODEL, -1, "", &w, NULL), TS_OK);
    assert_int_equal(ts_convert_keys(w, MODEL, ts_ggml_type_find("F32"), &out, NULL), TS_OK);
    ts_weights_free(w);
    for (size_t i = 0; i < n; i++) {
        const ts_tensor *t = ts_gguf_at(g, i);
        bytes[i] = ts_gguf_put_tensor(&out, t->name, t->ndim, t->dim,
                                      ts_ggml_type_find(strcmp(t->name, name) == 0 ? type : "F32"));
    }
    ts_gguf_close(g);
    assert_int_equal(ts_out_open(&file, folder_file(&dir, "t.gguf", other), NULL), TS_OK);
    assert_int_equal(ts_gguf_out_begin(&out, &file, NULL), TS_OK);
    for (size_t i = 0; i < n; i++) {
        assert_true(bytes[i] <= sizeof zeros);
        assert_int_equal(ts_out_write(&file, zeros, bytes[i], NULL), TS_OK);
        assert_int_equal(ts_gguf_out_pad(&file, bytes[i], NULL), TS_OK);
    }
    assert_int_equal(ts_out_close(&file, TS_OK, NULL), TS_OK);
    ts_gguf_out_free(&out);
    ts_status status = ts_weights_load(other, &w, err);
    if (status == TS_OK)
        ts_weights_free(w);
    return status;
}

/* Two of ggml's types are of activations: a file whose weights have them is no model. */
static void activation_types(void **state)
{
    (void)state;
    static const char *const types[] = {"Q8_1", "Q8_K"};
    ts_error err = {0};
    if (load_with("blk.0.ffn_gate.weight", "Q8_0", &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(load_with("blk.0.ffn_gate.weight", types[i], &err), TS_BAD);
        assert_string_equal(err.tensor, "blk.0.ffn_gate.weight");
        if (strstr(err.reason, types[i]) == NULL || strstr(err.reason, "activations") == NULL)
            fail_msg("got \"%s\"", err.reason);
    }
}

static void assert_refused(const char *from, const char *type, ts_status status, const char *reason)
{
    ts_convert_result r;
    ts_error err = {0};
    folder_empty(&dir);
    assert_int_equal(ts_convert_gguf(from, folder_file(&dir, "y.gguf", path), type, &r, &err), status);
    if (strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s\", want \"%s\"", err.reason, reason);
    assert_int_equal(folder_count(&dir), 0);
}

static void mistakes(void **state)
{
    (void)state;
    ts_convert_result r;
    ts_error err = {0};
    assert_refused(MODEL, "q2_k", TS_USAGE, "is none of f32, f16, bf16, q8_0, q4_0");
    assert_refused("/nonexistent", "bf16", TS_BAD, "cannot open");
    assert_refused(MODEL "/tiny-qwen35-mtp-q4_k_m.gguf", "bf16", TS_BAD, "is a GGUF file already");
    assert_int_equal(ts_convert_gguf(MODEL, "/nonexistent/x.gguf", "bf16", &r, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "cannot write"));
    assert_int_equal(ts_convert_gguf(MODEL, "/dev/full", "bf16", &r, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "No space left"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),  cmocka_unit_test(as_llama_cpp),     cmocka_unit_test(q8_0),
        cmocka_unit_test(same_config), cmocka_unit_test(activation_types), cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
