/* format/checkpoint: sharded and single files, and indexes that lie. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "folder.h"
#include "format/checkpoint.h"
#include "format/json.h"
#include "num/sha256.h"

static folder dir;

static int make_dir(void **state)
{
    (void)state;
    folder_make(&dir);
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

/* A shard of one-element U8 tensors with these names. */
static void put_shard(const char *file, const char *const *name, size_t count)
{
    static const uint8_t bytes[4] = {10, 20, 30, 40};
    char path[FOLDER_PATH];
    ts_tensor t[4];
    for (size_t i = 0; i < count; i++)
        t[i] = (ts_tensor){.name = name[i], .dtype = TS_U8, .ndim = 1, .dim = {1}, .data = &bytes[i], .size = 1};
    assert_int_equal(ts_safetensors_write(folder_file(&dir, file, path), t, count, NULL, 0, NULL), TS_OK);
}

static void put_shards(void)
{
    const char *const one[] = {"d", "a"}, *const two[] = {"c", "b"};
    put_shard("s1.safetensors", one, 2);
    put_shard("s2.safetensors", two, 2);
}

static void put_index(const char *text)
{
    folder_text(&dir, "model.safetensors.index.json", text);
}

static void assert_refused(const char *path, const char *reason)
{
    ts_checkpoint *c = NULL;
    ts_error err = {0};
    assert_int_equal(ts_checkpoint_open(path, &c, &err), TS_BAD);
    assert_null(c);
    if (strstr(err.reason, reason) == NULL)
        fail_msg("\"%s: %s: %s\" lacks \"%s\"", err.file, err.tensor, err.reason, reason);
}

#define GOOD_INDEX                                                                                        \
    "{\"metadata\":{\"total_size\":4},\"weight_map\":{\"a\":\"s1.safetensors\",\"b\":\"s2.safetensors\"," \
    "\"c\":\"s2.safetensors\",\"d\":\"s1.safetensors\"}}"

static void shards_are_one_set(void **state)
{
    (void)state;
    ts_checkpoint *c;
    const char *file = NULL;
    put_shards();
    put_index(GOOD_INDEX);
    folder_text(&dir, "mtp.safetensors", "not ours to read");
    assert_int_equal(ts_checkpoint_open(dir.path, &c, NULL), TS_OK);
    assert_int_equal(ts_checkpoint_count(c), 4);
    for (size_t i = 0; i < 4; i++) {
        const char name[2] = {(char)('a' + (int)i), 0};
        assert_string_equal(ts_checkpoint_at(c, i)->name, name);
        assert_ptr_equal(ts_checkpoint_find(c, name, &file), ts_checkpoint_at(c, i));
        assert_non_null(strstr(file, i == 0 || i == 3 ? "/s1.safetensors" : "/s2.safetensors"));
    }
    assert_int_equal(*(const uint8_t *)ts_checkpoint_find(c, "b", NULL)->data, 20);
    assert_null(ts_checkpoint_find(c, "e", NULL));
    ts_checkpoint_close(c);
    ts_checkpoint_close(NULL);
}

static void bad_indexes(void **state)
{
    (void)state;
    const struct {
        const char *text, *reason;
    } bad[] = {
        {"", "ends too early"},
        {"[]", "must be a non-empty object"},
        {"{\"weight_map\":{}}", "must be a non-empty object"},
        {"{\"weight_map\":[]}", "must be a non-empty object"},
        {"{\"weight_map\":{\"a\":1}}", "must be a string"},
        {"{\"weight_map\":{\"a\":\"../s1.safetensors\"}}", "not a plain file name"},
        {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "not a plain file name"},
        {"{\"weight_map\":{\"a\":\"..\"}}", "not a plain file name"},
        {"{\"weight_map\":{\"a\":\"\"}}", "not a plain file name"},
        {"{\"weight_map\":{\"a\":\"s3.safetensors\"}}", "No such file"},
        {"{\"weight_map\":{\"a\":\"s1.safetensors\",\"a\":\"s1.safetensors\"}}", "duplicate key"},
        {"{\"weight_map\":{\"a\":\"s1.safetensors\",\"x\":\"s1.safetensors\"}}", "not in its shard"},
        {"{\"weight_map\":{\"a\":\"s2.safetensors\"}}", "not in its shard"},
        {"{\"weight_map\":{\"a\":\"s1.safetensors\"}}", "maps it to no shard"},
    };
    put_shards();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_index(bad[i].text);
        assert_refused(dir.path, bad[i].reason);
    }
}

static void tensor_in_two_shards(void **state)
{
    (void)state;
    const char *const three[] = {"a"};
    put_shards();
    put_shard("s2.safetensors", three, 1);
    put_shard("s3.safetensors", three, 1);
    put_index("{\"weight_map\":{\"a\":\"s1.safetensors\",\"d\":\"s1.safetensors\"}}");
    ts_checkpoint *c;
    assert_int_equal(ts_checkpoint_open(dir.path, &c, NULL), TS_OK);
    ts_checkpoint_close(c);
    const char *const four[] = {"a", "e"};
    put_shard("s2.safetensors", four, 2);
    put_index("{\"weight_map\":{\"a\":\"s1.safetensors\",\"d\":\"s1.safetensors\",\"e\":\"s2.safetensors\"}}");
    assert_refused(dir.path, "maps it to s1.safetensors");
}

static void missing_and_broken(void **state)
{
    (void)state;
    char path[FOLDER_PATH];
    assert_refused(dir.path, "neither model.safetensors nor model.safetensors.index.json");
    assert_refused(folder_file(&dir, "none", path), "No such file");
    folder_text(&dir, "model.safetensors", "");
    assert_refused(dir.path, "too few");
    assert_refused(folder_file(&dir, "model.safetensors", path), "too few");
    folder_empty(&dir);
    put_shards();
    put_index(GOOD_INDEX);
    assert_int_equal(truncate(folder_file(&dir, "s2.safetensors", path), 40), 0);
    assert_refused(dir.path, "truncated");
}

/* An odd header offset: F64 data starts at byte 3 of the data section. */
static void unaligned_data_is_copied(void **state)
{
    (void)state;
    char path[FOLDER_PATH];
    const uint8_t three[3] = {1, 2, 3};
    const double value[2] = {0.25, -8};
    const ts_tensor t[] = {{"three", TS_U8, 1, {3}, three, 3}, {"value", TS_F64, 1, {2}, value, sizeof value}};
    assert_int_equal(ts_safetensors_write(folder_file(&dir, "x.safetensors", path), t, 2, NULL, 0, NULL), TS_OK);
    ts_checkpoint *c;
    assert_int_equal(ts_checkpoint_open(path, &c, NULL), TS_OK);
    const ts_tensor *v = ts_checkpoint_find(c, "value", NULL);
    assert_int_not_equal((uintptr_t)v->data % 8, 0);
    assert_int_equal(ts_checkpoint_align(c, v, NULL), TS_OK);
    assert_int_equal(ts_checkpoint_align(c, ts_checkpoint_find(c, "three", NULL), NULL), TS_OK);
    assert_int_equal((uintptr_t)v->data % 8, 0);
    assert_memory_equal(v->data, value, sizeof value);
    assert_memory_equal(ts_checkpoint_find(c, "three", NULL)->data, three, 3);
    ts_checkpoint_close(c);
}

static void hash(void **state)
{
    (void)state;
    char hex[65], want[65], path[FOLDER_PATH], *text[2], *all;
    size_t size[2];
    ts_checkpoint *c;
    put_shards();
    put_index(GOOD_INDEX);
    assert_int_equal(ts_checkpoint_open(dir.path, &c, NULL), TS_OK);
    assert_int_equal(ts_checkpoint_sha256(c, hex, NULL), TS_OK);
    ts_checkpoint_close(c);
    assert_int_equal(ts_read_file(folder_file(&dir, "s1.safetensors", path), &text[0], &size[0], NULL), TS_OK);
    assert_int_equal(ts_read_file(folder_file(&dir, "s2.safetensors", path), &text[1], &size[1], NULL), TS_OK);
    all = malloc(30 + size[0] + size[1]);
    assert_non_null(all);
    memcpy(all, "s1.safetensors\n", 15);
    memcpy(all + 15, text[0], size[0]);
    memcpy(all + 15 + size[0], "s2.safetensors\n", 15);
    memcpy(all + 30 + size[0], text[1], size[1]);
    ts_sha256(all, 30 + size[0] + size[1], want);
    assert_string_equal(hex, want);
    free(text[0]);
    free(text[1]);
    free(all);
}

static void tiny_model_opens(void **state)
{
    (void)state;
    ts_checkpoint *c;
    ts_error err = {0};
    const char *file = NULL;
    assert_int_equal(ts_checkpoint_open("golden/models/tiny-qwen35", &c, &err), TS_OK);
    const ts_tensor *t = ts_checkpoint_find(c, "lm_head.weight", &file);
    assert_non_null(t);
    assert_int_equal(t->dim[0], 2048);
    assert_string_equal(file, "golden/models/tiny-qwen35/model-00002-of-00002.safetensors");
    ts_checkpoint_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(shards_are_one_set, empty_dir),
        cmocka_unit_test_teardown(bad_indexes, empty_dir),
        cmocka_unit_test_teardown(tensor_in_two_shards, empty_dir),
        cmocka_unit_test_teardown(missing_and_broken, empty_dir),
        cmocka_unit_test_teardown(unaligned_data_is_copied, empty_dir),
        cmocka_unit_test_teardown(hash, empty_dir),
        cmocka_unit_test(tiny_model_opens),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
