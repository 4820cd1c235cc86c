/* format/gguf: a file of llama.cpp opens, every broken rule is named. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/gguf_build.h"
#include "base/scratch.h"

#define GOLDEN "golden/models/tiny-qwen35/tiny-qwen35-mtp-q4_k_m.gguf"

static build b;

static const char *write_build(void)
{
    static char path[FOLDER_PATH];
    folder_write(&dir, "x.gguf", (const char *)b.bytes, b.n);
    return folder_file(&dir, "x.gguf", path);
}

static void assert_refused(const char *name, const char *reason)
{
    ts_gguf *g = NULL;
    ts_error err = {0};
    const char *path = write_build();
    assert_int_equal(ts_gguf_open(path, &g, &err), TS_BAD);
    assert_null(g);
    assert_string_equal(err.file, path);
    if (strcmp(err.tensor, name) != 0 || strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s: %s\", want \"%s: %s\"", err.tensor, err.reason, name, reason);
}

static ts_gguf *opened(void)
{
    ts_gguf *g = NULL;
    ts_error err = {0};
    if (ts_gguf_open(write_build(), &g, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    return g;
}

static void golden_opens(void **state)
{
    (void)state;
    ts_gguf *g;
    assert_true(ts_gguf_is(GOLDEN));
    assert_int_equal(ts_gguf_open(GOLDEN, &g, NULL), TS_OK);
    assert_int_equal(ts_gguf_version(g), 3);
    assert_int_equal(ts_gguf_count(g), 124);
    assert_int_equal(ts_gguf_values(g), 33);
    const ts_tensor *t = ts_gguf_find(g, "blk.3.attn_v.weight");
    assert_non_null(t);
    assert_int_equal(t->ndim, 2);
    assert_int_equal(t->dim[0], 128); /* outputs first */
    assert_int_equal(t->dim[1], 256);
    assert_int_equal(t->size, 128 * 210);
    assert_null(ts_gguf_find(g, "blk.3.attn_v"));
    const ts_gguf_value *v = ts_gguf_get(g, "qwen35.rope.freq_base");
    assert_true(ts_gguf_number(v, 0) == 1e7);
    v = ts_gguf_get(g, "tokenizer.ggml.tokens");
    assert_true(v->array && v->kind == TS_GGUF_STRING && v->count == 2048);
    size_t n, whole;
    const unsigned char *at = v->data;
    assert_memory_equal(ts_gguf_text(&at, &n), "!", 1);
    assert_int_equal(n, 1);
    assert_memory_equal(ts_gguf_text(&at, &n), "\"", 1);
    const unsigned char *bytes = ts_gguf_bytes(g, &whole);
    assert_int_equal(whole, 6918272);
    t = ts_gguf_at(g, 123);
    assert_string_equal(t->name, "blk.8.post_attention_norm.weight");
    assert_ptr_equal((const unsigned char *)t->data + t->size, bytes + whole);
    ts_gguf_close(g);
}

static void not_gguf(void **state)
{
    (void)state;
    b.n = 0;
    assert_refused("", "0 bytes, too few");
    put_bytes(&b, "GGUF", 4);
    assert_refused("", "4 bytes, too few");
    put_header(&b, 3, 0, 0);
    b.bytes[3] = 'f';
    assert_refused("", "does not begin with GGUF");
    assert_false(ts_gguf_is(write_build()));
    assert_false(ts_gguf_is("/nonexistent"));
    assert_false(ts_gguf_is("/tmp"));
    ts_error err;
    ts_gguf *g;
    assert_int_equal(ts_gguf_open("/tmp", &g, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "a folder"));
}

static void versions(void **state)
{
    (void)state;
    for (uint64_t v = 0; v < 6; v++) {
        put_header(&b, v, 0, 0);
        if (v == 2 || v == 3)
            ts_gguf_close(opened());
        else
            assert_refused("", "2 and 3 are read");
    }
    put_header(&b, 0x03000000, 0, 0);
    assert_refused("", "big-endian");
}

static void counts(void **state)
{
    (void)state;
    put_header(&b, 3, UINT64_MAX, 0);
    assert_refused("", "the number of tensors is negative");
    put_header(&b, 3, 0, (uint64_t)INT64_MAX + 1);
    assert_refused("", "the number of keys is negative");
    put_header(&b, 3, 1, 0);
    assert_refused("", "1 tensors do not fit in a file of 24 bytes");
    put_header(&b, 3, 0, 1000000);
    assert_refused("", "1000000 keys do not fit");
}

static void keys(void **state)
{
    (void)state;
    put_header(&b, 3, 0, 2);
    put_u32(&b, "a", 1);
    put_u32(&b, "a", 2);
    assert_refused("a", "the key is there twice");
    put_header(&b, 3, 0, 1);
    put_u32(&b, "", 1);
    assert_refused("", "key 0 has a name of 0 bytes");
    put_header(&b, 3, 0, 1);
    put_number(&b, UINT64_MAX, 8);
    put_number(&b, 0, 8);
    assert_refused("", "truncated");
    put_header(&b, 3, 0, 1);
    put_u32(&b, "a?b", 1);
    b.bytes[33] = 0;
    assert_refused("a", "holds a NUL");
    put_header(&b, 3, 0, 1);
    put_string(&b, "k");
    put_number(&b, 13, 4);
    put_number(&b, 0, 8);
    assert_refused("k", "value type 13 is none of");
    put_header(&b, 3, 0, 1);
    put_string(&b, "k");
    put_number(&b, TS_GGUF_BOOL, 4);
    put_number(&b, 2, 1);
    assert_refused("k", "a bool of 2");
    put_header(&b, 3, 0, 1);
    put_text(&b, "key", "value");
    b.n--;
    assert_refused("key", "a string of 5 bytes, but the file has only 4");
    put_header(&b, 3, 0, 1);
    put_string(&b, "key");
    put_number(&b, TS_GGUF_U64, 4);
    put_number(&b, 0, 7);
    assert_refused("key", "truncated");
}

static void arrays(void **state)
{
    (void)state;
    put_header(&b, 3, 0, 1);
    put_array(&b, "k", TS_GGUF_ARRAY, 1);
    assert_refused("k", "an array of arrays");
    put_header(&b, 3, 0, 1);
    put_array(&b, "k", TS_GGUF_U64, UINT64_MAX);
    assert_refused("k", "truncated");
    put_header(&b, 3, 0, 1);
    put_array(&b, "k", TS_GGUF_STRING, UINT64_MAX);
    assert_refused("k", "truncated");
    put_header(&b, 3, 0, 1);
    put_array(&b, "k", TS_GGUF_BOOL, 3);
    put_number(&b, 0x050001, 3);
    assert_refused("k", "a bool of 5");
    put_header(&b, 3, 0, 1);
    put_array(&b, "k", TS_GGUF_I16, 3);
    put_number(&b, 0xFFFE00010000, 6);
    ts_gguf *g = opened();
    const ts_gguf_value *v = ts_gguf_get(g, "k");
    assert_true(ts_gguf_number(v, 0) == 0 && ts_gguf_number(v, 1) == 1 && ts_gguf_number(v, 2) == -2);
    ts_gguf_close(g);
}

static void alignment(void **state)
{
    (void)state;
    static const uint32_t wrong[] = {0, 1, 4, 12, 33, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_header(&b, 3, 0, 1);
        put_u32(&b, "general.alignment", wrong[i]);
        assert_refused("general.alignment", "is not a power of two");
    }
    put_header(&b, 3, 0, 1);
    put_string(&b, "general.alignment");
    put_number(&b, TS_GGUF_U64, 4);
    put_number(&b, 32, 8);
    assert_refused("general.alignment", "must be a u32");
    put_header(&b, 3, 2, 1);
    put_u32(&b, "general.alignment", 8);
    put_tensor(&b, "a", 1, 1, 0, 0, 0);
    put_tensor(&b, "b", 1, 1, 0, 0, 8);
    put_padding(&b, 8);
    put_number(&b, 1, 8);
    put_number(&b, 2, 4);
    ts_gguf *g = opened();
    assert_int_equal(*(const char *)ts_gguf_find(g, "b")->data, 2);
    ts_gguf_close(g);
}

/* One tensor of that rank, shape and type, and 64 bytes of data. */
static void one(const char *name, int rank, int64_t n0, int64_t n1, int type)
{
    put_header(&b, 3, 1, 0);
    put_tensor(&b, name, rank, n0, n1, type, 0);
    put_padding(&b, 32);
    put_number(&b, 0, 64);
}

static void shapes(void **state)
{
    (void)state;
    put_header(&b, 3, 1, 0);
    put_string(&b, "t");
    put_number(&b, 5, 4);
    for (int i = 0; i < 5; i++)
        put_number(&b, 1, 8);
    put_number(&b, 0, 12);
    assert_refused("t", "5 dims, at most 4");
    one("t", 2, -1, 1, 0);
    assert_refused("t", "a dim is negative");
    one("t", 2, INT64_C(1) << 40, INT64_C(1) << 40, 0);
    assert_refused("t", "overflows");
    one("t", 1, INT64_C(1) << 62, 0, 0);
    assert_refused("t", "overflows");
    one("t", 1, 33, 0, 2);
    assert_refused("t", "rows of 33 are not whole blocks of 32 (Q4_0)");
    one("t", 2, 128, 2, 12);
    assert_refused("t", "not whole blocks of 256 (Q4_K)");
    for (int type = 0; type < 50; type++) {
        const ts_ggml_type *known = ts_ggml_type_of(type);
        one("t", 2, 256, 0, type);
        if (known == NULL) {
            assert_refused("t", "is not known");
            continue;
        }
        b.n -= 64;
        ts_gguf_close(opened());
    }
    one("t", 1, INT64_C(1) << 60, 0, 24);
    assert_refused("t", "more than the whole file: truncated");
}

static void names(void **state)
{
    (void)state;
    char longest[65] = {0};
    memset(longest, 'n', 63);
    one(longest, 1, 16, 0, 0);
    ts_gguf_close(opened());
    longest[63] = 'n';
    one(longest, 1, 16, 0, 0);
    assert_refused("", "tensor 0 has a name of 64 bytes");
    one("", 1, 16, 0, 0);
    assert_refused("", "tensor 0 has a name of 0 bytes");
    put_header(&b, 3, 2, 0);
    put_tensor(&b, "t", 1, 8, 0, 0, 0);
    put_tensor(&b, "t", 1, 8, 0, 0, 32);
    put_padding(&b, 32);
    b.n += 64;
    assert_refused("t", "the tensor is there twice");
}

/* Tensors a and b of 20 and 4 bytes, b at that offset; `data` bytes of data. */
static void two(uint64_t offset, size_t data)
{
    put_header(&b, 3, 2, 0);
    put_tensor(&b, "a", 1, 5, 0, 0, 0);
    put_tensor(&b, "b", 1, 1, 0, 0, offset);
    put_padding(&b, 32);
    memset(b.bytes + b.n, 0, data);
    b.n += data;
}

static void places(void **state)
{
    (void)state;
    two(32, 64);
    ts_gguf_close(opened());
    two(32, 36); /* without the last padding */
    ts_gguf_close(opened());
    two(32, 35);
    assert_refused("b", "ends at byte 36 of the data, the file at 35: truncated");
    two(32, 65);
    assert_refused("", "trailing bytes");
    two(64, 96);
    assert_refused("b", "lies at byte 64 of the data, wants 32: gap");
    two(16, 64);
    assert_refused("b", "overlap");
    two(UINT64_MAX, 64);
    assert_refused("b", "gap");
    two(32, 0);
    assert_refused("a", "truncated");
    two(32, 64);
    b.bytes[b.n - 65] = 1;
    assert_refused("", "the padding before the data is not zero");
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "a", 1, 0, 0, 0, 0);
    assert_refused("", "no data section");
    put_padding(&b, 32);
    ts_gguf_close(opened());
}

/* Wherever it is cut it is refused, and nothing is read past the end. */
static void every_cut(void **state)
{
    (void)state;
    put_header(&b, 3, 1, 3);
    put_text(&b, "general.architecture", "qwen35");
    put_array(&b, "list", TS_GGUF_STRING, 2);
    put_string(&b, "one");
    put_string(&b, "two");
    put_f32(&b, "x", 1.5f);
    put_tensor(&b, "t", 2, 8, 1, 0, 0);
    put_padding(&b, 32);
    put_number(&b, 7, 32);
    const size_t whole = b.n;
    ts_gguf_close(opened());
    for (b.n = 0; b.n < whole; b.n++) {
        ts_gguf *g = NULL;
        ts_error err = {0};
        if (ts_gguf_open(write_build(), &g, &err) == TS_OK)
            fail_msg("cut at %zu of %zu opens", b.n, whole);
        assert_true(err.reason[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_opens), cmocka_unit_test(not_gguf),  cmocka_unit_test(versions),
        cmocka_unit_test(counts),       cmocka_unit_test(keys),      cmocka_unit_test(arrays),
        cmocka_unit_test(alignment),    cmocka_unit_test(shapes),    cmocka_unit_test(names),
        cmocka_unit_test(places),       cmocka_unit_test(every_cut),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
