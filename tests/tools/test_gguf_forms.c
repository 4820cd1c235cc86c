/* Other forms of the same GGUF file: what older converters wrote (ssm_in, attn_kv_b) and what ggml's own tools
 * leave of shapes (no dims of 1 at the slow end) load to the same bits; what cannot be read is named. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/scratch.h"
#include "config/weights.h"
#include "convert.h"
#include "format/json.h"
#include "ref.h"

enum { T = 9, MOST = 256 };

static char path[FOLDER_PATH], other[FOLDER_PATH];

/* What a test makes of a converted file. */
typedef struct {
    const char *name; /* of a tensor, or how it begins in every layer: "attn_qkv" */
    const char *hf;   /* its data are this tensor's of the checkpoint; NULL: it is left out or has its own */
    const char *as;   /* its new name; NULL: left out */
    int ndim;
    int64_t dim[4];
    const char *type; /* NULL: its own */
} edit;

static void make_folder(const char *golden)
{
    static const char *const end[][2] = {{"-config.json", "config.json"},
                                         {"-weights.safetensors", "model.safetensors"}};
    folder_empty(&dir);
    for (int i = 0; i < 2; i++) {
        char from[FOLDER_PATH], *text;
        size_t size;
        snprintf(from, sizeof from, "golden/external/%s%s", golden, end[i][0]);
        assert_int_equal(ts_read_file(from, &text, &size, NULL), TS_OK);
        folder_write(&dir, end[i][1], text, size);
        free(text);
    }
}

static const edit *edit_of(const edit *list, int n, const char *name)
{
    const char *word = strncmp(name, "blk.", 4) == 0 ? strchr(name + 4, '.') + 1 : name;
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, word) == 0)
            return &list[i];
    return NULL;
}

/* The new tensor and where its bytes are; false: left out. */
static bool edited(const edit *e, const ts_tensor *t, ts_checkpoint *c, ts_gguf_out *out, const void **data,
                   size_t *size)
{
    char name[128];
    const int prefix = strncmp(t->name, "blk.", 4) == 0 ? (int)(strchr(t->name + 4, '.') + 1 - t->name) : 0;
    const char *type = e != NULL && e->type != NULL ? e->type : ts_dtype_table[t->dtype].name;
    if (e != NULL && e->as == NULL)
        return false;
    snprintf(name, sizeof name, "%.*s%s", prefix, t->name, e != NULL ? e->as : t->name + prefix);
    *data = t->data;
    if (e != NULL && e->hf != NULL) {
        char hf[128];
        snprintf(hf, sizeof hf, "model.layers.%d.%s", atoi(t->name + 4), e->hf);
        *data = ts_checkpoint_find(c, hf, NULL)->data;
    }
    *size = ts_gguf_put_tensor(out, name, e != NULL ? e->ndim : t->ndim, e != NULL ? e->dim : t->dim,
                               ts_ggml_type_find(type));
    return true;
}

/* The golden as a bf16 GGUF file, with the edits. */
static void write_edited(const char *golden, const edit *list, int n)
{
    static const char zeros[1 << 16];
    const void *data[MOST];
    size_t size[MOST], kept = 0;
    ts_convert_result r;
    ts_gguf *g;
    ts_checkpoint *c;
    ts_weights *w;
    ts_gguf_out out = {0};
    ts_out file;
    make_folder(golden);
    assert_int_equal(ts_convert_gguf(dir.path, folder_file(&dir, "x.gguf", path), "bf16", &r, NULL), TS_OK);
    assert_int_equal(ts_gguf_open(path, &g, NULL), TS_OK);
    assert_int_equal(ts_checkpoint_open(dir.path, &c, NULL), TS_OK);
    assert_int_equal(ts_weights_load(dir.path, &w, NULL), TS_OK);
    assert_int_equal(ts_convert_keys(w, dir.path, ts_ggml_type_find("BF16"), &out, NULL), TS_OK);
    for (size_t i = 0; i < ts_gguf_count(g); i++) {
        const ts_tensor *t = ts_gguf_at(g, i);
        const edit *e = edit_of(list, n, t->name);
        if (edited(e, t, c, &out, &data[kept], &size[kept])) {
            data[kept] = e != NULL && e->type != NULL ? zeros : data[kept];
            kept++;
        }
    }
    assert_int_equal(ts_out_open(&file, folder_file(&dir, "y.gguf", other), NULL), TS_OK);
    assert_int_equal(ts_gguf_out_begin(&out, &file, NULL), TS_OK);
    for (size_t i = 0; i < kept; i++) {
        assert_int_equal(ts_out_write(&file, data[i], size[i], NULL), TS_OK);
        assert_int_equal(ts_gguf_out_pad(&file, size[i], NULL), TS_OK);
    }
    assert_int_equal(ts_out_close(&file, TS_OK, NULL), TS_OK);
    ts_gguf_out_free(&out);
    ts_weights_free(w);
    ts_checkpoint_close(c);
    ts_gguf_close(g);
}

static float *logits(const char *model)
{
    ts_weights *w = NULL;
    ts_ref_model *m;
    ts_ref_state *s;
    ts_error err = {0};
    int32_t ids[T];
    if (ts_weights_load(model, &w, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    float *z = malloc((size_t)(T * w->cfg.V) * sizeof *z);
    assert_non_null(z);
    for (int i = 0; i < T; i++)
        ids[i] = (int32_t)((i * 37 + 5) % w->cfg.V);
    assert_int_equal(ts_ref32.model_new(w, ts_profile_find("ts"), &m, NULL), TS_OK);
    assert_int_equal(ts_ref32.state_new(m, T, &s, NULL), TS_OK);
    assert_int_equal(ts_ref32.forward(m, s, ids, T, T, z, NULL, NULL), TS_OK);
    ts_ref32.state_free(s);
    ts_ref32.model_free(m);
    ts_weights_free(w);
    return z;
}

/* As the folder that it was made of. Both goldens have 97 ids. */
static void same_logits(void)
{
    float *a = logits(other), *b = logits(dir.path);
    assert_memory_equal(a, b, T * 97 * sizeof *a);
    free(a);
    free(b);
}

static void older_qwen3next(void **state)
{
    (void)state;
    const edit list[] = {
        {"attn_qkv.weight", "linear_attn.in_proj_qkvz.weight", "ssm_in.weight", 2, {256, 64}, NULL},
        {"attn_gate.weight", NULL, NULL, 0, {0}, NULL}};
    write_edited("rand-qwen3-next-moe", list, 2);
    same_logits();
}

static void older_kimi(void **state)
{
    (void)state;
    const edit list[] = {{"attn_k_b.weight", "self_attn.kv_b_proj.weight", "attn_kv_b.weight", 2, {64, 32}, NULL},
                         {"attn_v_b.weight", NULL, NULL, 0, {0}, NULL}};
    write_edited("rand-kimi-linear", list, 2);
    same_logits();
}

/* Gate and up of all experts in one stack, gate's rows first. */
static void one_stack_of_gate_and_up(void **state)
{
    (void)state;
    const edit list[] = {
        {"ffn_gate_exps.weight", "mlp.experts.gate_up_proj", "ffn_gate_up_exps.weight", 3, {8, 64, 64}, NULL},
        {"ffn_up_exps.weight", NULL, NULL, 0, {0}, NULL}};
    write_edited("rand-kimi-linear", list, 2);
    same_logits();
    write_edited("rand-qwen3-next-moe", list, 2);
    same_logits();
}

/* ggml counts no dims of 1 at the slow end. */
static void shapes_of_ggml(void **state)
{
    (void)state;
    const edit list[] = {{"ssm_conv1d_q.weight", NULL, "ssm_conv1d_q.weight", 3, {64, 1, 4}, NULL},
                         {"ssm_conv1d_v.weight", NULL, "ssm_conv1d_v.weight", 3, {64, 1, 4}, NULL},
                         {"ssm_a", NULL, "ssm_a", 2, {2, 1}, NULL}};
    write_edited("rand-kimi-linear", list, 3);
    same_logits();
}

static void refused(const char *golden, const edit *list, int n, const char *tensor, const char *reason)
{
    ts_weights *w = NULL;
    ts_error err = {0};
    write_edited(golden, list, n);
    assert_int_equal(ts_weights_load(other, &w, &err), TS_BAD);
    if (strcmp(err.tensor, tensor) != 0 || strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s: %s\", want \"%s: %s\"", err.tensor, err.reason, tensor, reason);
}

static void unreadable(void **state)
{
    (void)state;
    const edit block = {"attn_v_b.weight", NULL, "attn_v_b.weight", 3, {2, 16, 32}, "Q8_0"};
    const edit lost = {"attn_v_b.weight", NULL, NULL, 0, {0}, NULL};
    const edit turned = {"attn_k_b.weight", NULL, "attn_k_b.weight", 3, {2, 16, 32}, NULL};
    const edit stream = {"ssm_conv1d_k.weight", NULL, NULL, 0, {0}, NULL};
    const edit z = {"attn_gate.weight", NULL, NULL, 0, {0}, NULL};
    const edit other_norm = {"ffn_norm.weight", NULL, "post_attention_norm.weight", 1, {64}, NULL};
    const edit both = {"attn_gate.weight", "linear_attn.in_proj_qkvz.weight", "ssm_in.weight", 2, {256, 64}, NULL};
    refused("rand-kimi-linear", &block, 1, "blk.3.attn_v_b.weight", "type Q8_0; F32, F16 and BF16 are read here");
    refused("rand-kimi-linear", &lost, 1, "blk.3.attn_v_b.weight", "missing");
    refused("rand-kimi-linear", &turned, 1, "blk.3.attn_k_b.weight", "wants [2,32,16]");
    refused("rand-kimi-linear", &stream, 1, "blk.0.ssm_conv1d_k.weight", "missing");
    refused("rand-kimi-linear", &other_norm, 1, "blk.0.ffn_norm.weight", "missing");
    refused("rand-qwen3-next-moe", &z, 1, "blk.0.attn_gate.weight", "missing");
    refused("rand-qwen3-next-moe", &both, 1, "blk.0.attn_qkv.weight", "no such tensor");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(older_qwen3next), cmocka_unit_test(older_kimi),
                                       cmocka_unit_test(one_stack_of_gate_and_up), cmocka_unit_test(shapes_of_ggml),
                                       cmocka_unit_test(unreadable)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
