/* Is every bound a bound (ref32 never strays from ref64 by more), and is it
 * narrow enough to catch a wrong output? The inputs are described by rows of a
 * table; the operations come from the reference as the rest of the project sees it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound.h"
#include "check/err.h"
#include "tools/bound_rows.h"
#include "num/convert.h"
#include "num/generate.h"
#include "ref.h"

enum { PAGE = 16 };

enum { ROWS = (int)(sizeof table / sizeof *table) };

/* Both structs of one row of the table, and what is freed with them. */
typedef struct {
    union {
        char bytes[256];
        int64_t align;
    } args32, args64;
    float *state; /* before the call */
    void *owned[64];
    int owned_count;
    ts_matrix w[2];
    int matrices;
} built;

static void *own(built *b, int64_t n, size_t size)
{
    void *p = calloc((size_t)n + 1, size);
    assert_non_null(p);
    assert_true(b->owned_count < 64);
    return b->owned[b->owned_count++] = p;
}

static void put(built *b, size_t offset, const void *p32, const void *p64)
{
    memcpy(b->args32.bytes + offset, &p32, sizeof p32);
    memcpy(b->args64.bytes + offset, &p64, sizeof p64);
}

static float *generated(built *b, const char *spec, uint32_t stream, int64_t n)
{
    ts_error err;
    float *x = own(b, n, sizeof *x);
    assert_int_equal(ts_generate(spec ? spec : "normal", 20240229, stream, x, n, &err), TS_OK);
    return x;
}

static double *widened(built *b, const float *x, int64_t n)
{
    double *y = own(b, n, sizeof *y);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

static void build_real(built *b, const inputs *in, int field, int64_t n)
{
    const ts_field *f = &ts_op_table[in->op].field[field];
    float *x = generated(b, in->spec[field], (uint32_t)field, n);
    put(b, f->offset, x, widened(b, x, n));
    if (f->role == TS_INOUT) {
        float *before = own(b, n, sizeof *before);
        memcpy(before, x, (size_t)n * sizeof *before);
        b->state = before;
    }
}

static void build_i8(built *b, const ts_field *f, int64_t n)
{
    int8_t *c32 = own(b, n, 1), *c64 = own(b, n, 1);
    int32_t *c = own(b, n, sizeof *c);
    ts_generate_ints(7, 3, -127, 127, c, n);
    for (int64_t i = 0; i < n; i++)
        c32[i] = c64[i] = (int8_t)c[i];
    put(b, f->offset, c32, c64);
}

/* id, prev, cand: rows of w; pos: 100, 180, ...; len: all keys but for one row that is cut short, one that sees
 * none */
static void build_i32(built *b, const inputs *in, const ts_field *f, int64_t n)
{
    int32_t *x = own(b, n, sizeof *x);
    if (f->role != TS_IN) {
        put(b, f->offset, x, own(b, n, sizeof *x));
        return;
    }
    for (int64_t i = 0; i < n; i++)
        if (in->op == TS_OP_EMBED || in->op == TS_OP_SELECTOR_SCORES)
            x[i] = (int32_t)(i * 7 % in->dim[in->op == TS_OP_EMBED ? 1 : 3]);
        else if (strcmp(f->name, "pos") == 0)
            x[i] = 50 + (int32_t)(i * 80);
        else
            x[i] = i == 1 ? 0 : i == 2 ? 140 : 384;
    put(b, f->offset, x, x);
}

static void build_matrix(built *b, const inputs *in, int field, int64_t N, int64_t K)
{
    float *x = generated(b, in->format == TS_W_MLX ? "normal:0.02" : in->spec[field], 9u + (uint32_t)field, N * K);
    ts_matrix *w = &b->w[b->matrices++];
    *w = (ts_matrix){
        .format = in->format, .N = N, .K = K, .data = x, .bits = (int)in->bits, .group = 64, .aux = TS_F32};
    if (in->format == TS_W_MLX) {
        uint32_t *words = own(b, N * K, sizeof *words);
        ts_generate_ints(5, 4u + (uint32_t)b->matrices, INT32_MIN, INT32_MAX, (int32_t *)words,
                         N * K * in->bits / 32);
        w->data = words;
        w->scales = x;
        w->biases = x + N * (K / 64);
    } else if (ts_matrix_has_blocks(w)) {
        uint8_t *blocks = own(b, N * ts_matrix_row_bytes(w), 1);
        ts_ref32.block_encode(in->format, TS_BLOCK_REFERENCE, x, N * K, blocks);
        w->data = blocks;
    } else if (in->format != TS_W_F32) {
        uint16_t *h = own(b, N * K, sizeof *h);
        for (int64_t i = 0; i < N * K; i++)
            h[i] = in->format == TS_W_BF16 ? ts_f32_to_bf16(x[i]) : ts_f32_to_f16(x[i]);
        w->data = h;
    }
    put(b, ts_op_table[in->op].field[field].offset, w, w);
}

/* One pool half, k or v, for both precisions. */
static void build_pool(built *b, ts_kv_dtype dtype, uint32_t stream, int64_t n, void **p32, void **p64)
{
    float *x = generated(b, NULL, stream, n);
    uint16_t *h = own(b, n, sizeof *h);
    for (int64_t i = 0; i < n; i++)
        h[i] = dtype == TS_KV_F16 ? ts_f32_to_f16(x[i]) : ts_f32_to_bf16(x[i]);
    *p32 = dtype ? (void *)h : (void *)x;
    *p64 = dtype ? (void *)h : (void *)widened(b, x, n);
}

static void build_kv(built *b, const inputs *in, const ts_field *f, int64_t Hkv, int64_t D)
{
    enum { PAGES = 24 };
    int32_t *pages = own(b, PAGES, sizeof *pages);
    for (int32_t i = 0; i < PAGES; i++)
        pages[i] = i * 5 % PAGES;
    ts_kv kv32 = {.dtype = in->kv, .page = PAGE, .pages = PAGES, .table = pages}, kv64 = kv32;
    build_pool(b, in->kv, 11, PAGES * PAGE * Hkv * D, &kv32.k, &kv64.k);
    build_pool(b, in->kv, 12, PAGES * PAGE * Hkv * D, &kv32.v, &kv64.v);
    memcpy(b->args32.bytes + f->offset, &kv32, sizeof kv32);
    memcpy(b->args64.bytes + f->offset, &kv64, sizeof kv64);
}

static void build(built *b, const inputs *in)
{
    const ts_op *op = &ts_op_table[in->op];
    memset(b, 0, sizeof *b);
    assert_true(op->args_size <= sizeof b->args32);
    for (int i = 0; i < TS_MAX_OP_DIMS && op->dim[i].name; i++)
        memcpy(b->args32.bytes + op->dim[i].offset, &in->dim[i], sizeof in->dim[i]);
    for (int i = 0; i < TS_MAX_PARAMS && op->param[i].name; i++)
        memcpy(b->args32.bytes + op->param[i].offset, &in->param[i], sizeof in->param[i]);
    b->args64 = b->args32;
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++) {
        const ts_field *f = &op->field[i];
        int64_t n = ts_field_count(op, f, &b->args32);
        int64_t d0 = ts_op_dim(op, &b->args32, f->dim[0]),
                d1 = f->dim[1] ? ts_op_dim(op, &b->args32, f->dim[1]) : 1;
        switch (f->kind) {
        case TS_FIELD_REAL:
            build_real(b, in, i, n);
            break;
        case TS_FIELD_I8:
            build_i8(b, f, n);
            break;
        case TS_FIELD_I32:
            build_i32(b, in, f, n);
            break;
        case TS_FIELD_MATRIX:
            build_matrix(b, in, i, d0, d1);
            break;
        case TS_FIELD_KV:
            build_kv(b, in, f, d0, d1);
            break;
        }
    }
}

static void unbuild(built *b)
{
    for (int i = 0; i < b->owned_count; i++)
        free(b->owned[i]);
}

static void *array(const void *args, const ts_field *f)
{
    void *p;
    memcpy(&p, (const char *)args + f->offset, sizeof p);
    return p;
}

/* Element i of an output: x as the f32 coding has it, ref as the double one. */
static void pair(const built *b, const ts_field *f, int64_t i, double *x, double *ref)
{
    if (f->kind == TS_FIELD_I8) {
        *x = ((const int8_t *)array(&b->args32, f))[i];
        *ref = ((const int8_t *)array(&b->args64, f))[i];
    } else if (f->kind == TS_FIELD_I32) {
        *x = ((const int32_t *)array(&b->args32, f))[i];
        *ref = ((const int32_t *)array(&b->args64, f))[i];
    } else {
        *x = (double)((const float *)array(&b->args32, f))[i];
        *ref = ((const double *)array(&b->args64, f))[i];
    }
}

static double *bounds(const built *b, const inputs *in, const ts_field *f, int64_t n)
{
    ts_error err;
    double *bound = malloc((size_t)n * sizeof *bound);
    assert_non_null(bound);
    assert_int_equal(ts_bound(in->op, &b->args32, b->state, f->name, bound, &err), TS_OK);
    return bound;
}

/* Every element is within its bound. */
static void check_holds(const built *b, const inputs *in, const ts_field *f)
{
    int64_t n = ts_field_count(&ts_op_table[in->op], f, &b->args32);
    double *bound = bounds(b, in, f, n), x, ref;
    for (int64_t i = 0; i < n; i++) {
        pair(b, f, i, &x, &ref);
        assert_true(bound[i] >= 0);
        if (!ts_bound_holds(x, ref, bound[i]))
            fail_msg("%s %s[%lld]: %.9g, in double %.17g, bound %g", ts_op_table[in->op].name, f->name,
                     (long long)i, x, ref, bound[i]);
    }
    free(bound);
}

/* Nine in ten elements scaled by 1 + 2^-12 are outside it. */
static void check_narrow(const built *b, const inputs *in, const ts_field *f)
{
    int64_t n = ts_field_count(&ts_op_table[in->op], f, &b->args32), planted = 0, caught = 0;
    double *bound = bounds(b, in, f, n), worst = 0, x, ref;
    for (int64_t i = 0; i < n; i++) {
        pair(b, f, i, &x, &ref);
        worst = x != ref ? fmax(worst, fabs(x - ref) / bound[i]) : worst;
        bool finite = x != 0 && isfinite(x);
        planted += finite;
        caught += finite && !ts_bound_holds(x * (1 + 0x1p-12), ref, bound[i]);
    }
    print_message("%-13s %-5s %6lld elements, largest error/bound %.3f, caught %lld of %lld\n",
                  ts_op_table[in->op].name, f->name, (long long)n, worst, (long long)caught, (long long)planted);
    assert_true(planted > 0 && caught * 10 >= planted * 9);
    free(bound);
}

static void run(const built *b, const inputs *in, void (*check)(const built *, const inputs *, const ts_field *))
{
    const ts_op *op = &ts_op_table[in->op];
    ts_ref32.op(in->op, &b->args32);
    ts_ref64.op(in->op, &b->args64);
    for (int f = 0; f < TS_MAX_FIELDS && op->field[f].name; f++)
        if (op->field[f].role != TS_IN && op->field[f].kind != TS_FIELD_KV)
            check(b, in, &op->field[f]);
}

static void test_no_error_exceeds_its_bound(void **state)
{
    (void)state;
    bool seen[TS_OP_COUNT] = {false};
    for (int i = 0; i < ROWS; i++) {
        built b;
        build(&b, &table[i]);
        run(&b, &table[i], check_holds);
        unbuild(&b);
        seen[table[i].op] = true;
    }
    for (int i = 0; i < TS_OP_COUNT; i++)
        assert_true(seen[i]);
}

static void test_wrong_outputs_are_caught(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        built b;
        if (table[i].adverse || table[i].op == TS_OP_QUANTIZE_A64 ||
            table[i].op == TS_OP_QUANTIZE_LSE_A8) /* codes are integers */
            continue;
        build(&b, &table[i]);
        run(&b, &table[i], check_narrow);
        unbuild(&b);
    }
}

/* Element n/3 of every real input field in turn becomes NaN, infinite or huge. */
static void plant(built *b, const inputs *in, const ts_field *f, float x)
{
    int64_t at = ts_field_count(&ts_op_table[in->op], f, &b->args32) / 3;
    ((float *)array(&b->args32, f))[at] = x;
    ((double *)array(&b->args64, f))[at] = (double)x;
    if (f->role == TS_INOUT)
        b->state[at] = x;
}

static void test_infinite_and_huge_inputs_keep_their_class(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f};
    for (int i = 0; i < ROWS; i++)
        for (int f = 0; f < TS_MAX_FIELDS && ts_op_table[table[i].op].field[f].name; f++) {
            const ts_field *field = &ts_op_table[table[i].op].field[f];
            if (field->kind != TS_FIELD_REAL || field->role == TS_OUT || field->role == TS_INNER)
                continue;
            for (size_t v = 0; v < sizeof bad / sizeof *bad; v++) {
                built b;
                build(&b, &table[i]);
                plant(&b, &table[i], field, bad[v]);
                run(&b, &table[i], check_holds);
                unbuild(&b);
            }
        }
}

static void test_copies_have_no_room(void **state)
{
    (void)state;
    ts_error err;
    ts_kv_store_args store = {.T = 1, .Hkv = 2, .D = 3};
    double bound[6] = {1, 1, 1, 1, 1, 1};
    assert_int_equal(ts_bound(TS_OP_KV_STORE, &store, NULL, "kv", bound, &err), TS_OK);
    for (int i = 0; i < 6; i++)
        assert_true(bound[i] == 0);
}

static void test_what_cannot_be_bounded_is_refused(void **state)
{
    (void)state;
    ts_error err;
    double bound[1];
    float S[1] = {0};
    ts_gdn_args gdn = {.T = 2, .Hk = 1, .Hv = 1, .Dk = 1, .Dv = 1, .pos = 63};
    ts_map_args map = {.n = 1};
    assert_int_equal(ts_bound(TS_OP_GDN_STEP, &gdn, S, "o", bound, &err), TS_USAGE);
    assert_string_equal(err.tensor, "o");
    assert_int_equal(ts_bound(TS_OP_GDN_CHUNK64, &gdn, S, "o", bound, &err), TS_USAGE);
    gdn.T = 1;
    assert_int_equal(ts_bound(TS_OP_GDN_STEP, &gdn, NULL, "o", bound, &err), TS_USAGE);
    assert_int_equal(ts_bound(TS_OP_EXP, &map, NULL, "x", bound, &err), TS_USAGE);
    assert_int_equal(ts_bound(TS_OP_EXP, &map, NULL, "z", bound, &err), TS_USAGE);
    assert_int_equal(ts_bound(TS_OP_COUNT, &map, NULL, "y", bound, &err), TS_USAGE);
}

static void test_class_of_the_bound_itself(void **state)
{
    (void)state;
    ts_error err;
    float x[5] = {INFINITY, -INFINITY, NAN, 200, 0x1.62e43p+6f}, y[5] = {0};
    ts_map_args map = {.n = 5, .x = x, .y = y};
    double bound[5];
    assert_int_equal(ts_bound(TS_OP_EXP, &map, NULL, "y", bound, &err), TS_OK);
    assert_true(bound[0] == 0 && bound[1] <= 0x1p-148 && bound[2] == 0 && isinf(bound[3]) && isinf(bound[4]));
    assert_true(ts_bound_holds((double)NAN, (double)NAN, 0));
    assert_true(ts_bound_holds((double)INFINITY, (double)INFINITY, 0));
    assert_true(ts_bound_holds((double)INFINITY, 1e39, (double)INFINITY));
    assert_true(ts_bound_holds((double)NAN, 1, (double)INFINITY));
    assert_false(ts_bound_holds((double)NAN, 1, 1));
    assert_false(ts_bound_holds((double)INFINITY, 1, 1));
    assert_false(ts_bound_holds(1, (double)NAN, 1));
    assert_false(ts_bound_holds((double)-INFINITY, (double)INFINITY, 0));
}

/* A code may move only where the product is a tie within its error. */
static void test_codes_move_only_at_ties(void **state)
{
    (void)state;
    ts_error err;
    float x[64] = {127, 0.5f, 2.5f, 2.5001f, 3, -7.5f};
    ts_quantize_a64_args a = {.T = 1, .K = 64, .x = x};
    double bound[64];
    assert_int_equal(ts_bound(TS_OP_QUANTIZE_A64, &a, NULL, "code", bound, &err), TS_OK);
    const double want[6] = {0, 1, 1, 0, 0, 1};
    for (int i = 0; i < 6; i++)
        assert_true(bound[i] == want[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_error_exceeds_its_bound),
        cmocka_unit_test(test_wrong_outputs_are_caught),
        cmocka_unit_test(test_infinite_and_huge_inputs_keep_their_class),
        cmocka_unit_test(test_copies_have_no_room),
        cmocka_unit_test(test_what_cannot_be_bounded_is_refused),
        cmocka_unit_test(test_class_of_the_bound_itself),
        cmocka_unit_test(test_codes_move_only_at_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
