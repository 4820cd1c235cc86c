/* tokenizer.json files, good and bad: each is a small one with one thing changed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "folder.h"
#include "format/tokenizer.h"

static const char BASE[] =
    "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": ["
    "{\"id\": 9, \"content\": \"<e>\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
    "\"normalized\": false, \"special\": true}], \"normalizer\": {\"type\": \"NFC\"}, \"pre_tokenizer\": "
    "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"pattern\": {\"Regex\": \" "
    "?[a-z]+\"}, "
    "\"behavior\": \"Isolated\", \"invert\": false}, {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
    "\"trim_offsets\": true, \"use_regex\": false}]}, \"post_processor\": null, \"decoder\": {\"type\": "
    "\"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, "
    "\"byte_fallback\": false, \"ignore_merges\": false, \"vocab\": {\"a\": 0, \"b\": 1, \"\\u0120\": 2, "
    "\"ab\": 3, \"\\u0120ab\": 4, \"aba\": 5, \"<\": 6, \"\xC3\xA3\": 7}, \"merges\": [[\"a\", \"b\"], "
    "[\"\\u0120\", \"ab\"]]}}";

static folder dir;
static char path[FOLDER_PATH];

static int make_dir(void **state)
{
    (void)state;
    folder_make(&dir);
    folder_file(&dir, "tokenizer.json", path);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    folder_remove(&dir);
    return 0;
}

/* Opens BASE with `from` (which must occur once) replaced. */
static ts_status open_changed(const char *from, const char *to, ts_tokenizer **t, ts_error *err)
{
    size_t room = sizeof BASE + strlen(to);
    const char *at = strstr(BASE, from);
    char *text = malloc(room);
    assert_non_null(text);
    assert_non_null(at);
    assert_null(strstr(at + 1, from));
    snprintf(text, room, "%.*s%s%s", (int)(at - BASE), BASE, to, at + strlen(from));
    folder_text(&dir, "tokenizer.json", text);
    free(text);
    *t = NULL;
    return ts_tokenizer_open(path, t, err);
}

static void assert_encodes(const ts_tokenizer *t, const char *text, const int32_t *want, size_t n_want)
{
    int32_t *ids;
    size_t n;
    assert_int_equal(ts_tokenizer_encode(t, text, strlen(text), &ids, &n, NULL), TS_OK);
    assert_int_equal(n, n_want);
    assert_memory_equal(ids, want, n * sizeof *ids);
    free(ids);
}

static void accepted_variants_give_the_same_ids(void **state)
{
    (void)state;
    const char *const cases[][2] = {
        {"\"version\": \"1.0\", ", ""},
        {"[[\"a\", \"b\"], [\"\\u0120\", \"ab\"]]", "[\"a b\", \"\\u0120 ab\"]"},
        {"{\"type\": \"NFC\"}", "null"},
        {"{\"type\": \"NFC\"}", "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}]}"},
        {"{\"type\": \"NFC\"}", "{\"type\": \"Sequence\", \"normalizers\": []}"},
        {"\"post_processor\": null", "\"post_processor\": {\"type\": \"ByteLevel\", \"trim_offsets\": false}"},
        {"\"post_processor\": null", "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": "
                                     "[{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], \"special_tokens\": {}}"},
        {"\"unk_token\": null", "\"continuing_subword_prefix\": \"\", \"end_of_word_suffix\": \"\""},
        {"\"dropout\": null", "\"dropout\": 0.0"},
        {"\"<\": 6", "\"<\": 6, \"<e>\": 9"},
    };
    const int32_t want[] = {3, 4, 9, 3, 0, 2, 6};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_tokenizer *t;
        ts_error err = {0};
        if (open_changed(cases[i][0], cases[i][1], &t, &err) != TS_OK)
            fail_msg("%s: %s: %s", cases[i][1], err.tensor, err.reason);
        assert_encodes(t, "ab ab<e>aba <", want, 7);
        ts_tokenizer_close(t);
    }
}

static void options_change_the_ids(void **state)
{
    (void)state;
    ts_tokenizer *t;
    const int32_t whole[] = {5, 0, 4}, one[] = {3, 0, 3}, longest[] = {8, 9, 6};
    assert_int_equal(open_changed("\"ignore_merges\": false", "\"ignore_merges\": true", &t, NULL), TS_OK);
    assert_encodes(t, "aba", whole, 1);
    assert_int_equal(ts_tokenizer_find(t, " ab"), 4);
    assert_int_equal(ts_tokenizer_find(t, "\xE3"), 7);
    ts_tokenizer_close(t);
    assert_int_equal(
        open_changed("\"pretokenizers\": [{\"type\": \"Split\", \"pattern\": {\"Regex\": \" ?[a-z]+\"}, "
                     "\"behavior\": \"Isolated\", \"invert\": false}, ",
                     "\"pretokenizers\": [", &t, NULL),
        TS_OK);
    assert_encodes(t, "abaab", one, 3);
    ts_tokenizer_close(t);
    assert_int_equal(
        open_changed("\"added_tokens\": [", "\"added_tokens\": [{\"id\": 8, \"content\": \"<e>ab\"},", &t, NULL),
        TS_OK);
    assert_encodes(t, "<e>ab<e><", longest, 3);
    ts_tokenizer_close(t);
}

static void bad_files_are_named(void **state)
{
    (void)state;
    const struct {
        const char *from, *to, *key, *reason;
    } cases[] = {
        {"\"truncation\": null", "\"truncation\": {\"max_length\": 4}", "truncation", "not supported"},
        {"\"padding\": null", "\"padding\": {\"x\": 4}", "padding", "not supported"},
        {"{\"type\": \"NFC\"}", "{\"type\": \"NFKC\"}", "normalizer", "NFKC"},
        {"{\"type\": \"NFC\"}", "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Strip\"}]}", "normalizer",
         "Strip"},
        {"{\"type\": \"NFC\"}", "\"NFC\"", "normalizer", "no type"},
        {"\"type\": \"Split\"", "\"type\": \"Punctuation\"", "pre_tokenizer", "Punctuation"},
        {"{\"Regex\": \" ?[a-z]+\"}", "{\"String\": \" \"}", "pre_tokenizer", "Split pattern"},
        {"{\"Regex\": \" ?[a-z]+\"}", "{\"Regex\": \"[a-z\"}", "pre_tokenizer.pattern.Regex", "class without end"},
        {"{\"Regex\": \" ?[a-z]+\"}", "{\"Regex\": 4}", "pre_tokenizer", "Split pattern"},
        {"\"Isolated\"", "\"Removed\"", "pre_tokenizer.behavior", "Removed"},
        {"\"invert\": false", "\"invert\": true", "invert", "true"},
        {"\"add_prefix_space\": false", "\"add_prefix_space\": true", "pre_tokenizer", "add_prefix_space"},
        {"\"use_regex\": false", "\"use_regex\": true", "pre_tokenizer", "use_regex"},
        {", \"use_regex\": false", "", "pre_tokenizer", "use_regex"},
        {"\"post_processor\": null", "\"post_processor\": {\"type\": \"BertProcessing\"}", "post_processor",
         "Bert"},
        {"\"post_processor\": null",
         "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": "
         "\"<e>\"}}, "
         "{\"Sequence\": {\"id\": \"A\"}}], \"special_tokens\": {\"<e>\": {}}}",
         "post_processor", "adds tokens"},
        {"\"decoder\": {\"type\": \"ByteLevel\"}", "\"decoder\": {\"type\": \"Fuse\"}", "decoder", "Fuse"},
        {"\"decoder\": {\"type\": \"ByteLevel\"}", "\"decoder\": null", "decoder", "null"},
        {"\"BPE\"", "\"Unigram\"", "model.type", "Unigram"},
        {"\"dropout\": null", "\"dropout\": 0.1", "model.dropout", "not supported"},
        {"\"unk_token\": null", "\"unk_token\": \"<e>\"", "unk_token", "not supported"},
        {"\"unk_token\": null", "\"end_of_word_suffix\": \"</w>\"", "end_of_word_suffix", "not supported"},
        {"\"byte_fallback\": false", "\"byte_fallback\": true", "byte_fallback", "not supported"},
        {"\"ignore_merges\": false", "\"ignore_merges\": 1", "ignore_merges", "must be a boolean"},
        {"\"single_word\": false", "\"single_word\": true", "added_tokens", "\"<e>\": single_word true"},
        {"\"lstrip\": false", "\"lstrip\": true", "added_tokens", "\"<e>\": lstrip true"},
        {"\"rstrip\": false", "\"rstrip\": true", "added_tokens", "\"<e>\": rstrip true"},
        {"\"normalized\": false", "\"normalized\": true", "added_tokens", "\"<e>\": normalized true"},
        {"\"content\": \"<e>\"", "\"content\": \"\"", "added_tokens", "empty string"},
        {"\"content\": \"<e>\"", "\"text\": \"<e>\"", "content", "missing"},
        {"\"content\": \"<e>\"", "\"content\": \"ab\"", "added_tokens", "id 9 here, 3 in the vocabulary"},
        {"\"id\": 9", "\"id\": 3", "model.vocab", "\"ab\": another token has this id"},
        {"\"id\": 9", "\"id\": 16777216", "added_tokens", "0..16777215"},
        {"\"id\": 9", "\"id\": -1", "added_tokens", "0..16777215"},
        {"\"id\": 9", "\"id\": \"9\"", "added_tokens", "0..16777215"},
        {"\"added_tokens\": [", "\"added_tokens\": [{\"id\": 10, \"content\": \"<e>\"},", "added_tokens", "twice"},
        {"\"added_tokens\": [", "\"added_tokens\": [{\"id\": 9, \"content\": \"<f>\"},", "added_tokens", "this id"},
        {"\"added_tokens\": [", "\"added_tokens\": [7, ", "content", "not an object"},
        {"\"b\": 1", "\"b\": 0", "model.vocab", "\"b\": another token has this id"},
        {"\"b\": 1", "\"b\": 1.5", "model.vocab", "\"b\": the id must be"},
        {"\"b\": 1", "\"b\": 1e300", "model.vocab", "\"b\": the id must be"},
        {"\"b\": 1", "\"b\": null", "model.vocab", "\"b\": the id must be"},
        {"\"b\": 1", "\"b\": 1, \"\": 8", "model.vocab", "empty string"},
        {"\"b\": 1", "\"a\": 1", "a", "duplicate key"},
        {"\"b\": 1", "\"b\": 1, \"x y\": 8", "model.vocab", "\"x y\":   (byte 1) stands for no byte"},
        {"\"b\": 1", "\"b\": 1, \"x\\u2581\": 8", "model.vocab", "\xE2\x96\x81 (byte 1) stands for no byte"},
        {"\"b\": 1", "\"b\": 1, \"\\u0144\": 8", "model.vocab", "stands for no byte"},
        {"\"a\": 0, \"b\": 1", "\"c\": 0, \"d\": 1", "model.merges", "merge 0 (a, b): the left part"},
        {"\"vocab\"", "\"words\"", "model.vocab", "at least one token"},
        {"\"merges\"", "\"pairs\"", "model.merges", "must be a list"},
        {"[\"a\", \"b\"]", "[\"a\", \"c\"]", "model.merges", "merge 0 (a, c): the right part"},
        {"[\"a\", \"b\"]", "[\"b\", \"a\"]", "model.merges", "merge 0 (b, a): the result"},
        {"[\"a\", \"b\"]", "[\"a\", \"b\", \"a\"]", "model.merges", "merge 0 is not two strings"},
        {"[\"a\", \"b\"]", "[\"a\"]", "model.merges", "merge 0 is not two strings"},
        {"[\"a\", \"b\"]", "\"a b a\"", "model.merges", "merge 0 is not two strings"},
        {"[\"a\", \"b\"]", "\"a \"", "model.merges", "merge 0 is not two strings"},
        {"[\"a\", \"b\"]", "{\"a\": \"b\", \"b\": \"a\"}", "model.merges", "merge 0 is not two strings"},
        {"[\"a\", \"b\"]", "7", "model.merges", "merge 0 is not two strings"},
        {"[\"\\u0120\", \"ab\"]", "[\"a\", \"b\"]", "model.merges", "merge 1 repeats merge 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_tokenizer *t;
        ts_error err = {0};
        if (open_changed(cases[i].from, cases[i].to, &t, &err) != TS_BAD)
            fail_msg("%s: accepted", cases[i].to);
        assert_null(t);
        assert_string_equal(err.file, path);
        if (strcmp(err.tensor, cases[i].key) != 0 || strstr(err.reason, cases[i].reason) == NULL)
            fail_msg("%s: \"%s: %s\" is not \"%s: ...%s\"", cases[i].to, err.tensor, err.reason, cases[i].key,
                     cases[i].reason);
    }
}

/* Every prefix of a good file is a bad file. */
static void truncated_files_are_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof BASE - 1; size++) {
        ts_tokenizer *t = NULL;
        folder_write(&dir, "tokenizer.json", BASE, size);
        assert_int_equal(ts_tokenizer_open(path, &t, NULL), TS_BAD);
        assert_null(t);
    }
    ts_tokenizer *t = NULL;
    assert_int_not_equal(ts_tokenizer_open("/nonexistent/tokenizer.json", &t, NULL), TS_OK);
}

/* Other types in every place: whatever becomes of the file, it is an error or a working tokenizer. */
static void junk_values_do_not_crash(void **state)
{
    (void)state;
    static const char *const junk[] = {"null", "{}", "[]", "[[[]]]", "7", "\"x\"", "true"};
    for (const char *at = BASE; (at = strstr(at, "\": ")) != NULL; at += 3) {
        const char *value = at + 3;
        size_t n = *value == '{' || *value == '[' ? 0 : strcspn(value + 1, ",}]") + 1;
        for (size_t k = 0; k < sizeof junk / sizeof *junk; k++) {
            char text[sizeof BASE + 32];
            ts_tokenizer *t = NULL;
            int32_t *ids;
            size_t count;
            const char *rest = n > 0 ? value + n : value;
            snprintf(text, sizeof text, "%.*s%s%s%s", (int)(value - BASE), BASE, junk[k],
                     n > 0 ? "" : ", \"x\": ", rest);
            folder_text(&dir, "tokenizer.json", text);
            if (ts_tokenizer_open(path, &t, NULL) != TS_OK)
                continue;
            if (ts_tokenizer_encode(t, "ab ab<e>", 8, &ids, &count, NULL) == TS_OK)
                free(ids);
            ts_tokenizer_close(t);
        }
    }
}

static void a_missing_byte_is_named(void **state)
{
    (void)state;
    ts_tokenizer *t;
    ts_error err = {0};
    int32_t *ids;
    size_t n;
    assert_int_equal(open_changed("\"1.0\"", "\"1.0\"", &t, &err), TS_OK);
    assert_int_equal(ts_tokenizer_encode(t, "abc", 3, &ids, &n, &err), TS_BAD);
    assert_string_equal(err.file, path);
    assert_string_equal(err.reason, "no token for byte 0x63, which the text has");
    ts_tokenizer_close(t);
}

static void a_hostile_pattern_is_an_error(void **state)
{
    (void)state;
    ts_tokenizer *t;
    ts_error err = {0};
    int32_t *ids;
    size_t n, size = 100000;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'a', size);
    text[size - 1] = '!';
    assert_int_equal(open_changed("\" ?[a-z]+\"", "\"(a+)+$\"", &t, &err), TS_OK);
    assert_int_equal(ts_tokenizer_encode(t, text, size, &ids, &n, &err), TS_BAD);
    assert_string_equal(err.file, path);
    assert_non_null(strstr(err.reason, "too much backtracking"));
    ts_tokenizer_close(t);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_variants_give_the_same_ids),
        cmocka_unit_test(options_change_the_ids),
        cmocka_unit_test(bad_files_are_named),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(junk_values_do_not_crash),
        cmocka_unit_test(a_missing_byte_is_named),
        cmocka_unit_test(a_hostile_pattern_is_an_error),
    };
    return cmocka_run_group_tests_name("tokenizer_file", tests, make_dir, remove_dir);
}
