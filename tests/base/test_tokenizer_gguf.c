/* The tokenizer of a GGUF file gives the ids of the model's tokenizer.json; what is wrong in it is named. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/gguf_build.h"
#include "base/scratch.h"
#include "format/json.h"
#include "format/tokenizer.h"

#define MODEL "golden/models/tiny-qwen35/"
#define GOLDEN MODEL "tiny-qwen35-mtp-q4_k_m.gguf"

static build b;

static void assert_ids(const ts_tokenizer *t, const char *text, const int32_t *want, size_t count)
{
    int32_t *ids = NULL;
    size_t n = 0;
    assert_int_equal(ts_tokenizer_encode(t, text, strlen(text), &ids, &n, NULL), TS_OK);
    assert_int_equal(n, count);
    assert_memory_equal(ids, want, n * sizeof *ids);
    free(ids);
}

/* JSON cannot hold NUL here: another character takes its place, and then only the two tokenizers are compared. */
static cJSON *load_texts(const char *file)
{
    char *text;
    size_t size;
    cJSON *json;
    assert_int_equal(ts_read_file(file, &text, &size, NULL), TS_OK);
    for (char *p = text; (p = strstr(p, "\\u0000")) != NULL;)
        memcpy(p, "\\ue000", 6);
    assert_int_equal(ts_json_parse(file, text, size, &json, NULL), TS_OK);
    free(text);
    return json;
}

static int compare_texts(const ts_tokenizer *gguf, const ts_tokenizer *json, const char *file)
{
    cJSON *list = load_texts(file);
    int n = 0;
    for (const cJSON *i = list->child; i != NULL; i = i->next, n++) {
        const char *text = cJSON_GetObjectItemCaseSensitive(i, "text")->valuestring;
        const cJSON *golden = cJSON_GetObjectItemCaseSensitive(i, "ids");
        int32_t *ids;
        size_t count, k = 0;
        assert_int_equal(ts_tokenizer_encode(json, text, strlen(text), &ids, &count, NULL), TS_OK);
        assert_ids(gguf, text, ids, count);
        if (strstr(text, "\xee\x80\x80") == NULL)
            for (const cJSON *id = golden->child; id != NULL; id = id->next)
                assert_int_equal(ids[k++], id->valueint);
        free(ids);
    }
    cJSON_Delete(list);
    return n;
}

static void same_ids(void **state)
{
    (void)state;
    ts_tokenizer *gguf, *json;
    assert_int_equal(ts_tokenizer_open(GOLDEN, &gguf, NULL), TS_OK);
    assert_int_equal(ts_tokenizer_open(MODEL "tokenizer.json", &json, NULL), TS_OK);
    assert_int_equal(ts_tokenizer_size(gguf), ts_tokenizer_size(json));
    assert_int_equal(ts_tokenizer_find(gguf, "<|im_end|>"), 2042);
    assert_int_equal(compare_texts(gguf, json, "golden/external/tokenizer-cases.json"), 30);
    assert_int_equal(compare_texts(gguf, json, "golden/external/tokenizer-random.json"), 250);
    for (int32_t id = 0; id < ts_tokenizer_size(json); id++) {
        size_t n = 0, m = 0;
        const char *x = ts_tokenizer_bytes(gguf, id, &n), *y = ts_tokenizer_bytes(json, id, &m);
        assert_true(n == m && memcmp(x, y, n) == 0);
    }
    ts_tokenizer_close(gguf);
    ts_tokenizer_close(json);
}

typedef struct {
    const char *model, *pre, *merge;
    bool bos;
    int types, type; /* how many, and of the last token */
} vocabulary;

static const vocabulary good = {"gpt2", "qwen2", "a b", false, 4, 3};

/* Tokens a, b, ab and <s>. */
static ts_status open_tiny(const vocabulary *v, ts_tokenizer **t, ts_error *err)
{
    static const char *const tokens[] = {"a", "b", "ab", "<s>"};
    char path[FOLDER_PATH];
    put_header(&b, 3, 0, 6);
    put_text(&b, "tokenizer.ggml.model", v->model);
    put_text(&b, "tokenizer.ggml.pre", v->pre);
    put_string(&b, "tokenizer.ggml.add_bos_token");
    put_number(&b, TS_GGUF_BOOL, 4);
    put_number(&b, v->bos, 1);
    put_array(&b, "tokenizer.ggml.tokens", TS_GGUF_STRING, 4);
    for (int i = 0; i < 4; i++)
        put_string(&b, tokens[i]);
    put_array(&b, "tokenizer.ggml.token_type", TS_GGUF_I32, (uint64_t)v->types);
    for (int i = 0; i < v->types; i++)
        put_number(&b, i == 3 ? (uint64_t)v->type : 1, 4);
    put_array(&b, "tokenizer.ggml.merges", TS_GGUF_STRING, 1);
    put_string(&b, v->merge);
    folder_write(&dir, "t.gguf", (const char *)b.bytes, b.n);
    return ts_tokenizer_open(folder_file(&dir, "t.gguf", path), t, err);
}

static void tiny_works(void **state)
{
    (void)state;
    ts_tokenizer *t;
    assert_int_equal(open_tiny(&good, &t, NULL), TS_OK);
    assert_ids(t, "ab<s>ba", (const int32_t[]){2, 3, 1, 0}, 4);
    ts_tokenizer_close(t);
    vocabulary v = good;
    v.type = 5; /* unused: no token */
    assert_int_equal(open_tiny(&v, &t, NULL), TS_OK);
    assert_int_equal(ts_tokenizer_size(t), 3);
    ts_tokenizer_close(t);
}

static void assert_refused(vocabulary v, const char *key, const char *reason)
{
    ts_tokenizer *t;
    ts_error err = {0};
    assert_int_equal(open_tiny(&v, &t, &err), TS_BAD);
    if (strcmp(err.tensor, key) != 0 || strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s: %s\", want \"%s: %s\"", err.tensor, err.reason, key, reason);
}

static void mistakes(void **state)
{
    (void)state;
    vocabulary v = good;
    v.model = "llama";
    assert_refused(v, "tokenizer.ggml.model", "only \"gpt2\"");
    v = good;
    v.pre = "gpt-2";
    assert_refused(v, "tokenizer.ggml.pre", "only \"qwen35\", \"qwen2\" and \"kimi-k2\"");
    v = good;
    v.bos = true;
    assert_refused(v, "tokenizer.ggml.add_bos_token", "true is not supported");
    v = good;
    v.types = 3;
    assert_refused(v, "tokenizer.ggml.token_type", "3 entries for 4 tokens");
    v = good;
    v.type = 2;
    assert_refused(v, "tokenizer.ggml.token_type", "token 3 has type 2");
    v.type = -1;
    assert_refused(v, "tokenizer.ggml.token_type", "token 3 has type 0");
    v = good;
    v.merge = "a c";
    assert_refused(v, "model.merges", "the right part is not in the vocabulary");
    v.merge = "ab";
    assert_refused(v, "model.merges", "is not two strings");
    v.merge = "\xff b";
    assert_refused(v, "tokenizer.ggml.merges", "UTF-8");
}

static void missing(void **state)
{
    (void)state;
    char path[FOLDER_PATH];
    ts_tokenizer *t;
    ts_error err = {0};
    put_header(&b, 3, 0, 0);
    folder_write(&dir, "t.gguf", (const char *)b.bytes, b.n);
    assert_int_equal(ts_tokenizer_open(folder_file(&dir, "t.gguf", path), &t, &err), TS_BAD);
    assert_string_equal(err.tensor, "tokenizer.ggml.model");
    assert_string_equal(err.reason, "missing");
    put_header(&b, 3, 0, 1);
    put_u32(&b, "tokenizer.ggml.model", 1);
    folder_write(&dir, "t.gguf", (const char *)b.bytes, b.n);
    assert_int_equal(ts_tokenizer_open(path, &t, &err), TS_BAD);
    assert_string_equal(err.reason, "must be a string");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_ids),
        cmocka_unit_test(tiny_works),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(missing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
