/* format/tokenizer on the tiny vocabulary: ids made by Hugging Face tokenizers and llama.cpp,
 * decoding, streaming, added tokens, threads, and long inputs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "format/safetensors.h"
#include "format/tokenizer.h"

static const char MODEL[] = "golden/models/tiny-qwen35/tokenizer.json";
static ts_tokenizer *tiny;

static int open_tiny(void **state)
{
    (void)state;
    ts_error err = {0};
    char text[1024];
    if (ts_tokenizer_open(MODEL, &tiny, &err) == TS_OK)
        return 0;
    fprintf(stderr, "%s\n", ts_error_text(&err, text, sizeof text));
    return 1;
}

static int close_tiny(void **state)
{
    (void)state;
    ts_tokenizer_close(tiny);
    return 0;
}

/* Encodes from a buffer of exactly the text's size, so that the sanitizer sees any read past it. */
static int32_t *encode(const char *text, size_t size, size_t *n)
{
    char reason[1024], *exact = malloc(size + (size == 0));
    int32_t *ids = NULL;
    ts_error err = {0};
    assert_non_null(exact);
    memcpy(exact, text, size);
    if (ts_tokenizer_encode(tiny, exact, size, &ids, n, &err) != TS_OK)
        fail_msg("%.80s: %s", text, ts_error_text(&err, reason, sizeof reason));
    free(exact);
    return ids;
}

static char *decode(const int32_t *ids, size_t n, size_t *size)
{
    size_t room = 1;
    for (size_t i = 0, k = 0; i < n; i++) {
        assert_non_null(ts_tokenizer_bytes(tiny, ids[i], &k));
        room += k;
    }
    char *text = malloc(room);
    assert_non_null(text);
    *size = 0;
    for (size_t i = 0, k = 0; i < n; i++) {
        const char *bytes = ts_tokenizer_bytes(tiny, ids[i], &k);
        memcpy(text + *size, bytes, k);
        *size += k;
    }
    return text;
}

static void assert_ids(const char *text, size_t size, const int32_t *want, size_t n_want)
{
    size_t n;
    int32_t *ids = encode(text, size, &n);
    for (size_t i = 0; i < n && i < n_want; i++)
        if (ids[i] != want[i])
            fail_msg("\"%.200s\": id %zu is %d, not %d", text, i, (int)ids[i], (int)want[i]);
    if (n != n_want)
        fail_msg("\"%.200s\": %zu ids, not %zu", text, n, n_want);
    free(ids);
}

static void assert_json_ids(const char *text, size_t size, const cJSON *list)
{
    size_t n = (size_t)cJSON_GetArraySize(list), k = 0;
    int32_t *want = malloc((n + 1) * sizeof *want);
    assert_non_null(want);
    assert_true(cJSON_IsArray(list));
    for (const cJSON *i = list->child; i != NULL; i = i->next)
        want[k++] = (int32_t)i->valuedouble;
    assert_ids(text, size, want, n);
    free(want);
}

/* decode(encode(s)) == NFC(s), whole and streamed a token at a time and a byte at a time. */
static void assert_round_trip(const char *text, size_t text_size)
{
    size_t n, nfc_size, size, k = 0, got = 0;
    char *nfc, out[3 + 4];
    ts_utf8_stream s = {0};
    int32_t *ids = encode(text, text_size, &n);
    assert_int_equal(ts_nfc(text, text_size, &nfc, &nfc_size, NULL), TS_OK);
    char *bytes = decode(ids, n, &size);
    assert_int_equal(size, nfc_size);
    assert_memory_equal(bytes, nfc, size);
    for (size_t i = 0; i < size; i++) {
        k = ts_utf8_push(&s, bytes + i, 1, out);
        assert_true(got + k <= nfc_size);
        assert_memory_equal(out, nfc + got, k);
        got += k;
    }
    assert_int_equal(ts_utf8_flush(&s, out), 0);
    assert_int_equal(got, nfc_size);
    free(bytes);
    free(nfc);
    free(ids);
}

static cJSON *load(const char *file)
{
    cJSON *json = NULL;
    ts_error err = {0};
    if (ts_json_load(file, &json, &err) != TS_OK)
        fail_msg("%s: %s", file, err.reason);
    return json;
}

/* U+E000 stands for NUL between these two: a text may hold NUL, our JSON reader refuses it. */
static cJSON *load_with_nul(const char *file)
{
    char *text;
    size_t size;
    cJSON *json = NULL;
    assert_int_equal(ts_read_file(file, &text, &size, NULL), TS_OK);
    assert_null(strstr(text, "\xEE\x80\x80"));
    assert_null(strstr(text, "\\ue000"));
    assert_null(strstr(text, "\\\\u0000"));
    for (char *p = text; (p = strstr(p, "\\u0000")) != NULL;)
        memcpy(p, "\\ue000", 6);
    assert_int_equal(ts_json_parse(file, text, size, &json, NULL), TS_OK);
    free(text);
    return json;
}

static size_t restore_nul(char *text)
{
    size_t n = 0;
    for (const char *p = text; *p != '\0'; n++) {
        bool nul = strncmp(p, "\xEE\x80\x80", 3) == 0;
        text[n] = nul ? '\0' : *p;
        p += nul ? 3 : 1;
    }
    return n;
}

static void check_pairs(const char *file, int pairs, int pairs_with_nul)
{
    cJSON *list = load_with_nul(file);
    int n = 0, with_nul = 0;
    for (const cJSON *i = list->child; i != NULL; i = i->next, n++) {
        const cJSON *text = cJSON_GetObjectItemCaseSensitive(i, "text");
        assert_true(cJSON_IsString(text));
        size_t size = restore_nul(text->valuestring);
        with_nul += memchr(text->valuestring, 0, size) != NULL;
        assert_json_ids(text->valuestring, size, cJSON_GetObjectItemCaseSensitive(i, "ids"));
        assert_round_trip(text->valuestring, size);
    }
    assert_int_equal(n, pairs);
    assert_int_equal(with_nul, pairs_with_nul);
    cJSON_Delete(list);
}

static void golden_cases(void **state)
{
    (void)state;
    check_pairs("golden/external/tokenizer-cases.json", 30, 1);
}

static void golden_random(void **state)
{
    (void)state;
    check_pairs("golden/external/tokenizer-random.json", 250, 0);
}

/* `input_ids` of a model golden is its prompt, encoded. */
static bool check_prompt(const char *file)
{
    ts_safetensors *f;
    ts_error err = {0};
    if (ts_safetensors_open(file, &f, &err) != TS_OK)
        fail_msg("%s: %s", file, err.reason);
    const ts_tensor *ids = ts_safetensors_find(f, "input_ids");
    const char *prompt = ts_safetensors_meta(f, "prompt");
    if (prompt != NULL) {
        assert_non_null(ids);
        assert_int_equal(ids->dtype, TS_I32);
        int32_t *want = malloc(ids->size);
        assert_non_null(want);
        memcpy(want, ids->data, ids->size);
        assert_ids(prompt, strlen(prompt), want, ids->size / sizeof *want);
        assert_round_trip(prompt, strlen(prompt));
        free(want);
    }
    ts_safetensors_close(f);
    return prompt != NULL;
}

static void golden_prompts(void **state)
{
    (void)state;
    int n = 0;
    DIR *d = opendir("golden/external");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char file[512];
        snprintf(file, sizeof file, "golden/external/%s", e->d_name);
        if (strncmp(e->d_name, "tiny-qwen35-", 12) == 0 && strstr(e->d_name, ".safetensors") != NULL)
            n += check_prompt(file);
    }
    closedir(d);
    assert_int_equal(n, 10);
}

static void check_case(const cJSON *o)
{
    const char *prompt = cJSON_GetObjectItemCaseSensitive(o, "prompt")->valuestring;
    assert_json_ids(prompt, strlen(prompt), cJSON_GetObjectItemCaseSensitive(o, "prompt_ids"));
}

/* llama.cpp tokenised the same prompts from a GGUF. */
static void llama_cpp_prompts(void **state)
{
    (void)state;
    static const char *const files[] = {"golden/external/peer/llamacpp-greedy-bf16.json",
                                        "golden/external/peer/llamacpp-greedy-q8_0.json",
                                        "golden/external/peer/llamacpp-greedy-q4_k_m.json"};
    int n = 0;
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        cJSON *json = load(files[k]);
        const cJSON *cases = cJSON_GetObjectItemCaseSensitive(json, "cases");
        assert_non_null(cases);
        for (const cJSON *i = cases->child; i != NULL; i = i->next, n++)
            check_case(i);
        cJSON_Delete(json);
    }
    assert_true(n >= 3);
}

/* The sampled streams name a model golden each; theirs is the same prompt. */
static void sampled_prompts(void **state)
{
    (void)state;
    cJSON *json = load("golden/external/sample-plain.json");
    const cJSON *cases = cJSON_GetObjectItemCaseSensitive(json, "cases");
    assert_non_null(cases);
    for (const cJSON *i = cases->child; i != NULL; i = i->next) {
        char file[512];
        ts_safetensors *f;
        const char *prompt = cJSON_GetObjectItemCaseSensitive(i, "prompt")->valuestring;
        snprintf(file, sizeof file, "golden/external/tiny-qwen35-%s.safetensors", i->string);
        assert_int_equal(ts_safetensors_open(file, &f, NULL), TS_OK);
        assert_string_equal(ts_safetensors_meta(f, "prompt"), prompt);
        ts_safetensors_close(f);
        assert_true(check_prompt(file));
    }
    cJSON_Delete(json);
}

static void ids_and_names(void **state)
{
    (void)state;
    size_t size = 0;
    assert_int_equal(ts_tokenizer_size(tiny), 2048);
    assert_int_equal(ts_tokenizer_find(tiny, "<|im_end|>"), 2042);
    assert_int_equal(ts_tokenizer_find(tiny, "<|im_end|"), -1);
    assert_int_equal(ts_tokenizer_find(tiny, ""), -1);
    assert_int_equal(ts_tokenizer_find(tiny, " "), 220);
    assert_null(ts_tokenizer_bytes(tiny, -1, &size));
    assert_null(ts_tokenizer_bytes(tiny, 2048, &size));
    for (int32_t id = 0; id < 2048; id++)
        assert_non_null(ts_tokenizer_bytes(tiny, id, &size));
    assert_memory_equal(ts_tokenizer_bytes(tiny, 198, &size), "\n", 1);
    assert_int_equal(size, 1);
}

/* NFC and the split see only what lies between added tokens: U+0338 after '>' composes with nothing. */
static void added_tokens_are_cut_first(void **state)
{
    (void)state;
    size_t n, size;
    const char text[] = "<|im_<think>\xCC\xB8</think></think\xCC\xB8";
    int32_t *ids = encode(text, strlen(text), &n);
    char *bytes = decode(ids, n, &size);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
    free(ids);
    const int32_t specials[] = {2041, 2041, 2043, 2044};
    const char all[] = "<|im_start|><|im_start|><think></think>";
    assert_ids(all, strlen(all), specials, 4);
    assert_ids("", 0, NULL, 0);
}

/* A no-break space is a space: `\s+(?!\S)` takes both others before it, and they are one token. */
static void spaces_beyond_ascii(void **state)
{
    (void)state;
    size_t a, b;
    const char text[] = "  \xC2\xA0x";
    int32_t *two = encode(text, 2, &a), *rest = encode(text + 2, 3, &b);
    assert_int_equal(a, 1);
    two = realloc(two, (a + b) * sizeof *two);
    assert_non_null(two);
    memcpy(two + a, rest, b * sizeof *two);
    assert_ids(text, strlen(text), two, a + b);
    free(two);
    free(rest);
}

static void lone_continuation_byte(void **state)
{
    (void)state;
    int32_t *ids;
    size_t n;
    ts_error err = {0};
    assert_int_equal(ts_tokenizer_encode(tiny, "<think>\x80", 8, &ids, &n, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "byte 7 (0x80)"));
    assert_int_equal(ts_tokenizer_encode(tiny, "\xF0\x9F\x99", 3, &ids, &n, &err), TS_BAD);
}

/* Each finishes in well under a second; anything quadratic would take hours. */
static void a_megabyte_in_one_piece(void **state)
{
    (void)state;
    static const char *const units[] = {"a", "\xCC\x81", " ", "\n", "!", "\xCC\x81\xCC\xA3", "<|im_start", "'s "};
    const size_t room = 1 << 20;
    char *text = malloc(room + 1);
    assert_non_null(text);
    for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
        size_t unit = strlen(units[k]), size = 0;
        for (; size + unit <= room; size += unit)
            memcpy(text + size, units[k], unit);
        text[size] = '\0';
        size_t n, got;
        int32_t *ids = encode(text, size, &n);
        char *bytes = decode(ids, n, &got);
        assert_int_equal(got, size);
        if (k != 5) /* its marks are reordered */
            assert_memory_equal(bytes, text, size);
        free(bytes);
        free(ids);
    }
    free(text);
}

static void *encode_cases(void *ok)
{
    const char text[] = "int main(void)\n{\n    return don't + 1;\n}\xC3\xA9<|im_end|>";
    int32_t *first = NULL, *ids;
    size_t n_first = 0, n;
    bool same = ts_tokenizer_encode(tiny, text, strlen(text), &first, &n_first, NULL) == TS_OK;
    for (int i = 0; i < 200 && same; i++) {
        same = ts_tokenizer_encode(tiny, text, strlen(text), &ids, &n, NULL) == TS_OK && n == n_first;
        same = same && memcmp(ids, first, n * sizeof *ids) == 0;
        free(ids);
    }
    free(first);
    *(bool *)ok = same;
    return NULL;
}

static void threads_share_a_tokenizer(void **state)
{
    (void)state;
    pthread_t thread[4];
    bool ok[4] = {false};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, encode_cases, &ok[i]), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_true(ok[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases),
        cmocka_unit_test(golden_random),
        cmocka_unit_test(golden_prompts),
        cmocka_unit_test(llama_cpp_prompts),
        cmocka_unit_test(sampled_prompts),
        cmocka_unit_test(ids_and_names),
        cmocka_unit_test(added_tokens_are_cut_first),
        cmocka_unit_test(spaces_beyond_ascii),
        cmocka_unit_test(lone_continuation_byte),
        cmocka_unit_test(a_megabyte_in_one_piece),
        cmocka_unit_test(threads_share_a_tokenizer),
    };
    return cmocka_run_group_tests_name("tokenizer", tests, open_tiny, close_tiny);
}
