/* Drafters' tensors, wherever they lie: every error with its file, its tensor and the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/draft_set.h"

/* A tensor of the set, changed; the data is the caller's. */
typedef struct {
    const char *file, *tensor;
    const char *missing; /* what the error then names, if not this: codebooks have a suffix in some files */
} one;

static const one parts[] = {
    {"dflash2.safetensors", "fc.weight", NULL},
    {"dflash2.safetensors", "norm.weight", NULL},
    {"dflash2.safetensors", "hidden_norm.weight", NULL},
    {"dflash2.safetensors", "layers.0.self_attn.q_norm.weight", NULL},
    {"dflash2.safetensors", "layers.1.attention_conv.base_kernel", NULL},
    {"dflash2.safetensors", "layers.2.mlp_conv.kernel_projection.weight", NULL},
    {"dflash2.safetensors", "layers.2.mlp.down_proj.weight", NULL},
    {"dflash2.safetensors", "candidate_selector.predecessor_codebook",
     "candidate_selector.predecessor_codebook.weight"},
    {"dflash2.safetensors", "candidate_selector.hidden_projection.weight", NULL},
    {"mtp.safetensors", "mtp.fc.weight", NULL},
    {"mtp.safetensors", "mtp.pre_fc_norm_hidden.weight", NULL},
    {"mtp.safetensors", "mtp.layers.0.input_layernorm.weight", NULL},
    {"mtp.safetensors", "mtp.layers.0.self_attn.q_proj.weight", NULL},
    {"mtp.safetensors", "mtp.layers.0.self_attn.k_norm.weight", NULL},
    {"mtp.safetensors", "mtp.layers.0.mlp.up_proj.weight", NULL},
};

static void assert_refused_part(const one *p, const char *reason)
{
    if (strcmp(p->file, "mtp.safetensors") == 0)
        assert_mtp_refused(p->tensor, reason);
    else
        assert_dflash_refused(file, p->tensor, reason);
}

static void a_wrong_tensor_is_named(void **state)
{
    (void)state;
    put_config("hidden_act", NULL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const one *p = &parts[i];
        set s;
        take(&s, p->file);
        ts_tensor *t = set_find(&s, p->tensor), good = *t;
        set_remove(&s, p->tensor);
        put(&s);
        assert_refused_part(&(one){p->file, p->missing ? p->missing : p->tensor, NULL}, "missing");
        s.t[s.n++] = good;
        t = &s.t[s.n - 1];
        t->dim[0] /= 2; /* half the rows, twice the columns */
        t->dim[t->ndim - 1] *= 2;
        if (t->ndim == 1)
            t->ndim = 2, t->dim[0] = 2, t->dim[1] = good.dim[0] / 2;
        put(&s);
        assert_refused_part(p, "has shape");
        *t = good;
        t->dtype = TS_I16;
        put(&s);
        assert_refused_part(p, "dtype I16");
        *t = good;
        uint16_t *data = malloc(t->size);
        memcpy(data, t->data, t->size);
        data[t->size / 2 - 1] = 0x7fc0;
        t->data = data;
        put(&s);
        assert_refused_part(p, "NaN at element");
        data[t->size / 2 - 1] = 0xff80;
        put(&s);
        assert_refused_part(p, "Inf at element");
        free(data);
        ts_safetensors_close(s.source);
    }
}

static void a_tensor_too_many_is_named(void **state)
{
    (void)state;
    static const one extra[] = {
        {"dflash2.safetensors", "layers.0.self_attn.q_proj.bias", NULL},
        {"dflash2.safetensors", "layers.3.input_layernorm.weight", NULL},
        {"dflash2.safetensors", "lm_head.weight", NULL},
        {"mtp.safetensors", "mtp.layers.0.self_attn.q_proj.bias", NULL},
        {"mtp.safetensors", "mtp.embed_tokens.weight", NULL},
    };
    static const uint16_t zero[256];
    put_config("hidden_act", NULL);
    for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) {
        set s;
        take(&s, extra[i].file);
        set_add(&s, extra[i].tensor, TS_BF16, 1, 256, zero, sizeof zero);
        put(&s);
        assert_refused_part(&extra[i], "no such tensor");
        ts_safetensors_close(s.source);
    }
}

static void a_second_head_is_refused(void **state)
{
    (void)state;
    static const uint16_t zero[256];
    set s;
    take(&s, "mtp.safetensors");
    set_add(&s, "mtp.layers.1.input_layernorm.weight", TS_BF16, 1, 256, zero, sizeof zero);
    put(&s);
    assert_mtp_refused("mtp.layers.1.input_layernorm.weight", "more than one layer");
    ts_safetensors_close(s.source);
}

/* Cut off anywhere: an error of that file, never a crash. */
static void truncated_files(void **state)
{
    (void)state;
    static const char *const names[] = {"dflash2.safetensors", "mtp.safetensors", NULL};
    put_config("hidden_act", NULL);
    for (size_t i = 0; i < 2; i++) {
        set s;
        struct stat st;
        take(&s, names[i]);
        put(&s);
        assert_int_equal(stat(file, &st), 0);
        const off_t cuts[] = {st.st_size - 1, st.st_size / 2, 1000, 9, 8, 7, 0};
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
            ts_weights *w = NULL;
            ts_error err = {0};
            assert_int_equal(truncate(file, cuts[c]), 0);
            assert_int_equal((i ? ts_weights_load_mtp : ts_weights_load_dflash)(target, file, &w, &err), TS_BAD);
            assert_string_equal(err.file, file);
            assert_true(err.reason[0] != '\0');
        }
        ts_safetensors_close(s.source);
    }
    put_config("hidden_act", NULL);
    assert_int_equal(truncate(beside, 100), 0);
    ts_weights *w = NULL;
    ts_error err = {0};
    assert_int_equal(ts_weights_load_dflash(target, TINY "/dflash2.safetensors", &w, &err), TS_OK);
    ts_weights_free(w);
    set s;
    take(&s, "dflash2.safetensors");
    put(&s);
    assert_int_equal(ts_weights_load_dflash(target, file, &w, &err), TS_BAD);
    assert_string_equal(err.file, beside);
    ts_safetensors_close(s.source);
}

static void absent_files(void **state)
{
    (void)state;
    ts_weights *w = NULL;
    ts_error err = {0};
    assert_dflash_refused(file, "", "No such file");
    assert_mtp_refused("", "No such file");
    set s;
    take(&s, "dflash2.safetensors");
    put(&s); /* but no config beside it */
    assert_dflash_refused(beside, "", "No such file");
    assert_mtp_refused("mtp.norm.weight", "no head of multi-token prediction");
    ts_safetensors_close(s.source);
    set_open(&s, DENSE);
    assert_int_equal(ts_safetensors_write(path, s.t, s.n, NULL, 0, NULL), TS_OK);
    ts_weights *other;
    assert_int_equal(ts_weights_load(dir.path, &other, NULL), TS_OK);
    assert_int_equal(ts_weights_load_mtp(other, NULL, &w, &err), TS_BAD);
    assert_string_equal(err.tensor, "mtp.norm.weight");
    assert_int_equal(ts_weights_load_dflash(other, NULL, &w, &err), TS_BAD);
    assert_non_null(strstr(err.file, "dflash2.safetensors"));
    assert_int_equal(ts_weights_load_mtp(other, TINY "/mtp.safetensors", &w, &err), TS_BAD); /* of another model */
    assert_non_null(strstr(err.reason, "has shape"));
    assert_int_equal(ts_weights_load_dflash(other, TINY "/dflash2.safetensors", &w, &err), TS_BAD);
    assert_string_equal(err.tensor, "hidden_size");
    ts_weights_free(other);
    ts_safetensors_close(s.source);
}

static void assert_same_head(const ts_weights *a, const ts_weights *b)
{
    assert_memory_equal(a->fc.data, b->fc.data, (size_t)(a->fc.N * a->fc.K) * 2);
    assert_memory_equal(a->layer->o_proj.data, b->layer->o_proj.data,
                        (size_t)(a->layer->o_proj.N * a->layer->o_proj.K) * 2);
    assert_memory_equal(a->final_norm.v, b->final_norm.v, (size_t)a->final_norm.n * sizeof(float));
    assert_memory_equal(a->layer->q_norm.v, b->layer->q_norm.v, (size_t)a->layer->q_norm.n * sizeof(float));
}

static void link_to(const char *name, const char *as)
{
    char from[FOLDER_PATH], here[PATH_MAX], to[FOLDER_PATH];
    snprintf(from, sizeof from, TINY "/%s", name);
    assert_non_null(realpath(from, here));
    assert_int_equal(symlink(here, folder_file(&dir, as, to)), 0);
}

/* A head among the model's own shards, and what the model's names say about its norms. */
static void a_head_in_the_models_files(void **state)
{
    (void)state;
    ts_weights *model, *own, *alone;
    ts_error err = {0};
    cJSON *index;
    char to[FOLDER_PATH];
    set s;
    take(&s, "mtp.safetensors");
    assert_int_equal(ts_json_load(TINY "/model.safetensors.index.json", &index, NULL), TS_OK);
    for (size_t i = 0; i < s.n; i++)
        cJSON_AddStringToObject(cJSON_GetObjectItem(index, "weight_map"), s.t[i].name, "third.safetensors");
    assert_int_equal(ts_json_save(folder_file(&dir, "model.safetensors.index.json", to), index, NULL), TS_OK);
    cJSON_Delete(index);
    link_to("config.json", "config.json");
    link_to("model-00001-of-00002.safetensors", "model-00001-of-00002.safetensors");
    link_to("model-00002-of-00002.safetensors", "model-00002-of-00002.safetensors");
    link_to("mtp.safetensors", "third.safetensors");
    must(ts_weights_load(dir.path, &model, &err), &err);
    must(ts_weights_load_mtp(model, NULL, &own, &err), &err);
    must(ts_weights_load_mtp(target, NULL, &alone, &err), &err);
    assert_same_head(own, alone);
    assert_true(!own->folded && own->cfg.layers == 1);
    assert_string_equal(own->path, model->path);
    assert_string_equal(alone->path, TINY "/mtp.safetensors");
    ts_weights_free(own);
    ts_weights_free(model);
    set_rename(&s, "mtp.", "language_model.mtp.");
    put(&s);
    must(ts_weights_load_mtp(target, file, &own, &err), &err);
    assert_same_head(own, alone);
    assert_true(own->folded);
    ts_weights_free(own);
    ts_weights_free(alone);
    ts_safetensors_close(s.source);
}

/* A GGUF file's own block, by its path; beside the file mtp.safetensors comes first. */
static void a_head_in_a_gguf_file(void **state)
{
    (void)state;
    ts_weights *model, *head;
    ts_error err = {0};
    must(ts_weights_load(GGUF, &model, &err), &err);
    must(ts_weights_load_mtp(model, GGUF, &head, &err), &err);
    assert_true(head->folded && head->cfg.draft == TS_DRAFT_MTP && head->fc.N == 256 && head->fc.K == 512);
    ts_weights_free(head);
    must(ts_weights_load_mtp(model, NULL, &head, &err), &err);
    assert_string_equal(head->path, TINY "/mtp.safetensors");
    ts_weights_free(head);
    assert_int_equal(ts_weights_load_dflash(model, GGUF, &head, &err), TS_BAD);
    ts_weights_free(model);
}

/* Kimi-Linear has no such head, and says so. */
static void a_family_without_a_head(void **state)
{
    (void)state;
    ts_weights w = {.cfg = {.family = TS_FAMILY_KIMI, .model_type = "kimi_linear"}, .path = "m"}, *head = NULL;
    ts_error err = {0};
    assert_int_equal(ts_weights_load_mtp(&w, NULL, &head, &err), TS_BAD);
    assert_error(&err, "m", "", "kimi_linear has no head");
}

/* A folder instead of a file. */
static void a_drafter_in_a_folder(void **state)
{
    (void)state;
    ts_weights *w = NULL;
    ts_error err = {0};
    link_to("dflash2-config.json", "config.json");
    link_to("dflash2.safetensors", "model.safetensors");
    must(ts_weights_load_dflash(target, dir.path, &w, &err), &err);
    assert_true(w->cfg.dflash.block == 8);
    ts_weights_free(w);
    assert_int_equal(ts_weights_load_mtp(target, dir.path, &w, &err), TS_BAD);
    assert_string_equal(err.tensor, "mtp.norm.weight");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_wrong_tensor_is_named),
        CASE(a_tensor_too_many_is_named),
        CASE(a_second_head_is_refused),
        CASE(truncated_files),
        CASE(absent_files),
        CASE(a_head_in_the_models_files),
        CASE(a_head_in_a_gguf_file),
        CASE(a_family_without_a_head),
        CASE(a_drafter_in_a_folder),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
