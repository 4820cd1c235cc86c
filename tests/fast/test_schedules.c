/* The registry, and what every schedule owes whatever its inputs: the same bits
 * however the units are cut, and for any number of rows at once. Whether they are
 * the right bits is `check`'s question. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "num/convert.h"
#include "num/generate.h"
#include "schedule.h"

typedef enum { W_BF16, W_F16, W_F32, W_MLX4, W_MLX8, W_MLX5 } weights;

typedef struct {
    ts_op_id op;
    int64_t dim[TS_MAX_OP_DIMS]; /* as in op->dim */
    weights w;
    ts_kv_dtype kv;
} shape;

/* Odd sizes, so that every block has a tail, and even ones, so that it has none. */
static const shape shapes[] = {
    {.op = TS_OP_EXP, .dim = {10007}},
    {.op = TS_OP_SIGMOID, .dim = {10007}},
    {.op = TS_OP_SILU, .dim = {10007}},
    {.op = TS_OP_SOFTPLUS, .dim = {10007}},
    {.op = TS_OP_RSQRT, .dim = {10007}},
    {.op = TS_OP_RESIDUAL_ADD, .dim = {10007}},
    {.op = TS_OP_SWIGLU, .dim = {10007}},
    {.op = TS_OP_SIGMOID_GATE, .dim = {10007}},
    {.op = TS_OP_EMBED, .dim = {7, 11, 64}, .w = W_BF16},
    {.op = TS_OP_EMBED, .dim = {7, 11, 64}, .w = W_F16},
    {.op = TS_OP_EMBED, .dim = {7, 11, 64}, .w = W_F32},
    {.op = TS_OP_EMBED, .dim = {7, 11, 192}, .w = W_MLX4},
    {.op = TS_OP_EMBED, .dim = {7, 11, 192}, .w = W_MLX8},
    {.op = TS_OP_EMBED, .dim = {7, 11, 192}, .w = W_MLX5},
    {.op = TS_OP_RMSNORM, .dim = {7, 77, 0}},
    {.op = TS_OP_RMSNORM, .dim = {7, 256, 1}},
    {.op = TS_OP_L2NORM, .dim = {5, 3, 40}},
    {.op = TS_OP_GATED_NORM, .dim = {5, 3, 24}},
    {.op = TS_OP_CONV1D, .dim = {9, 77, 4}},
    {.op = TS_OP_CONV1D, .dim = {2, 70, 4}},
    {.op = TS_OP_GDN_GATES, .dim = {9, 5}},
    {.op = TS_OP_GDN_STEP, .dim = {9, 2, 6, 16, 24, 0}},
    {.op = TS_OP_GDN_STEP, .dim = {5, 1, 3, 40, 72, 3}},
    {.op = TS_OP_GDN_CHUNK64, .dim = {150, 2, 6, 16, 24, 40}},
    {.op = TS_OP_GDN_CHUNK64, .dim = {65, 1, 3, 40, 72, 0}},
    {.op = TS_OP_ROPE, .dim = {9, 3, 20, 10}},
    {.op = TS_OP_KV_STORE, .dim = {19, 3, 20, 7}},
    {.op = TS_OP_KV_STORE, .dim = {19, 3, 20, 7}, .kv = TS_KV_BF16},
    {.op = TS_OP_KV_STORE, .dim = {19, 3, 20, 7}, .kv = TS_KV_F16},
    {.op = TS_OP_ATTENTION, .dim = {5, 6, 2, 72, 3, 0}},
    {.op = TS_OP_ATTENTION, .dim = {5, 6, 2, 64, 3, 0}, .kv = TS_KV_BF16},
    {.op = TS_OP_ATTENTION, .dim = {5, 6, 2, 64, 3, 0}, .kv = TS_KV_F16},
    {.op = TS_OP_ATTENTION, .dim = {5, 4, 4, 40, 4, 100}, .kv = TS_KV_BF16},
    {.op = TS_OP_ATTENTION, .dim = {5, 4, 4, 40, 4, 100}, .kv = TS_KV_F16},
    {.op = TS_OP_ATTENTION, .dim = {2, 2, 1, 4, 70, 0}},
    {.op = TS_OP_MATMUL_DOT32, .dim = {71, 9, 1100}, .w = W_BF16},
    {.op = TS_OP_MATMUL_DOT32, .dim = {7, 9, 100}, .w = W_F16},
    {.op = TS_OP_MATMUL_DOT32, .dim = {7, 9, 50}, .w = W_F32},
    {.op = TS_OP_MATMUL_DOT32, .dim = {7, 9, 640}, .w = W_MLX4},
    {.op = TS_OP_MATMUL_DOT32, .dim = {7, 9, 640}, .w = W_MLX5},
    {.op = TS_OP_MATMUL_DOT32, .dim = {1, 9, 1100}, .w = W_BF16},
    {.op = TS_OP_MATMUL_DOT32, .dim = {1, 7, 2048}, .w = W_MLX5},
    {.op = TS_OP_QUANTIZE_A64, .dim = {7, 192}},
    {.op = TS_OP_MATMUL_A64S8, .dim = {37, 9, 64}, .w = W_MLX4},
    {.op = TS_OP_MATMUL_A64S8, .dim = {7, 9, 320}, .w = W_MLX8},
    {.op = TS_OP_MATMUL_A64S8, .dim = {7, 9, 832}, .w = W_MLX4},
    {.op = TS_OP_MATMUL_A64S8, .dim = {1, 100, 832}, .w = W_MLX4},
    {.op = TS_OP_MATMUL_A64S8, .dim = {1, 33, 192}, .w = W_MLX8},
    {.op = TS_OP_MATMUL_A64S8, .dim = {109, 150, 576}, .w = W_MLX4},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, PAGE = 16, MORE = 4 };

/* An operation's arguments and the memory under them. */
typedef struct {
    const ts_op *op;
    union {
        ts_attention_args largest;
        unsigned char byte[sizeof(ts_attention_args)];
    } args;
    ts_matrix matrix;
    void *field[TS_MAX_FIELDS]; /* owned; of a KV field the k pool */
    size_t size[TS_MAX_FIELDS];
    void *more[MORE]; /* scales, biases; v pool, page table */
    size_t v_size;
} fixture;

static void *allocate(size_t size)
{
    void *p = malloc(size ? size : 1);
    assert_non_null(p);
    return p;
}

static float *normal(int64_t n, uint32_t stream)
{
    float *y = allocate((size_t)n * sizeof *y);
    assert_int_equal(ts_generate("normal", 1, stream, y, n, NULL), TS_OK);
    return y;
}

/* n normal values as bf16 or f16 patterns. */
static uint16_t *narrow(int64_t n, uint32_t stream, uint16_t (*to)(float))
{
    float *x = normal(n, stream);
    uint16_t *y = allocate((size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++)
        y[i] = to(x[i]);
    free(x);
    return y;
}

static void *make_matrix(fixture *f, weights w, int64_t N, int64_t K, uint32_t stream)
{
    static const int bits[] = {[W_MLX4] = 4, [W_MLX8] = 8, [W_MLX5] = 5};
    f->matrix = (ts_matrix){.format = w < W_MLX4 ? (ts_weight_format)w : TS_W_MLX, .N = N, .K = K};
    if (w == W_BF16 || w == W_F16)
        return narrow(N * K, stream, w == W_BF16 ? ts_f32_to_bf16 : ts_f32_to_f16);
    if (w == W_F32)
        return normal(N * K, stream);
    f->matrix.bits = bits[w];
    f->matrix.group = 64;
    f->matrix.aux = TS_BF16;
    f->matrix.scales = f->more[0] = narrow(N * K / 64, stream + 1, ts_f32_to_bf16);
    f->matrix.biases = f->more[1] = narrow(N * K / 64, stream + 2, ts_f32_to_bf16);
    int64_t words = N * K * bits[w] / 32;
    int32_t *code = allocate((size_t)words * sizeof *code);
    ts_generate_ints(1, stream, INT32_MIN, INT32_MAX, code, words);
    return code;
}

/* A pool of 128 tokens a partition and one page more, its pages in reverse order. */
static void *make_kv(fixture *f, ts_kv *kv, ts_kv_dtype dtype, int64_t tokens, int64_t width, size_t *size)
{
    int64_t pages = tokens / PAGE + 1, n = pages * PAGE * width;
    int32_t *table = allocate((size_t)pages * sizeof *table);
    for (int64_t i = 0; i < pages; i++)
        table[i] = (int32_t)(pages - 1 - i);
    uint16_t (*to)(float) = dtype == TS_KV_F16 ? ts_f32_to_f16 : ts_f32_to_bf16;
    void *k = dtype ? (void *)narrow(n, 20, to) : normal(n, 20);
    void *v = dtype ? (void *)narrow(n, 21, to) : normal(n, 21);
    *kv = (ts_kv){dtype, PAGE, pages, table, k, v};
    *size = (size_t)n * (dtype ? sizeof(uint16_t) : sizeof(float));
    f->more[0] = v;
    f->more[1] = table;
    f->v_size = *size;
    return k;
}

/* Token ids below V; or pos and len of rows that end the sequence, pos two past the last key once. */
static int32_t *make_ints(const fixture *f, const char *name, int64_t n)
{
    int32_t *y = allocate((size_t)n * sizeof *y);
    if (strcmp(name, "id") == 0) {
        ts_generate_ints(1, 30, 0, (int32_t)ts_op_dim(f->op, &f->args, "V") - 1, y, n);
        return y;
    }
    int32_t keys = (int32_t)ts_op_dim(f->op, &f->args, "parts") * 128 - 9;
    for (int64_t t = 0; t < n; t++)
        y[t] = keys - (int32_t)(40 * t) + (name[0] == 'p' && t == 1 ? 2 : -1);
    return y;
}

/* Outputs start as garbage, other garbage in every fixture: what nobody writes is then a difference. */
static void *make_garbage(size_t size)
{
    static int garbage;
    return memset(allocate(size), garbage++ & 0xff, size);
}

static int8_t *make_codes(int64_t n)
{
    int8_t *y = allocate((size_t)n);
    for (int64_t k = 0; k < n; k++)
        y[k] = (int8_t)(k * 37 % 255 - 127);
    return y;
}

static void make_field(fixture *f, int i, const shape *s)
{
    const ts_field *d = &f->op->field[i];
    unsigned char *slot = f->args.byte + d->offset;
    int64_t n = ts_field_count(f->op, d, &f->args);
    if (d->kind == TS_FIELD_KV) {
        int64_t tokens = s->op == TS_OP_ATTENTION ? s->dim[4] * 128 : 64;
        f->field[i] = make_kv(f, (ts_kv *)(void *)slot, s->kv, tokens, n, &f->size[i]);
        return;
    }
    f->size[i] = (size_t)n * (d->kind == TS_FIELD_I8 ? 1 : sizeof(float));
    if (d->kind == TS_FIELD_MATRIX) {
        f->field[i] = make_matrix(f, s->w, s->dim[1], s->dim[2], 10);
        f->size[i] = 0;
    } else if (d->role == TS_OUT || d->role == TS_INNER) {
        f->field[i] = make_garbage(f->size[i]);
    } else if (d->kind == TS_FIELD_I32) {
        f->field[i] = make_ints(f, d->name, n);
    } else if (d->kind == TS_FIELD_I8) {
        f->field[i] = make_codes(n);
    } else {
        f->field[i] = normal(n, (uint32_t)i);
    }
    void *p = d->kind == TS_FIELD_MATRIX ? &f->matrix : f->field[i];
    if (d->kind == TS_FIELD_MATRIX)
        f->matrix.data = f->field[i];
    memcpy(slot, &p, sizeof p);
}

static fixture *make(const shape *s)
{
    fixture *f = allocate(sizeof *f);
    memset(f, 0, sizeof *f);
    f->op = &ts_op_table[s->op];
    for (int i = 0; f->op->dim[i].name; i++)
        memcpy(f->args.byte + f->op->dim[i].offset, &s->dim[i], sizeof s->dim[i]);
    static const double param[] = {1e-6, 0.125};
    for (int i = 0; i < TS_MAX_PARAMS && f->op->param[i].name; i++)
        memcpy(f->args.byte + f->op->param[i].offset, &param[i], sizeof param[i]);
    for (int i = 0; i < TS_MAX_FIELDS && f->op->field[i].name; i++)
        make_field(f, i, s);
    return f;
}

static void discard(fixture *f)
{
    for (int i = 0; i < TS_MAX_FIELDS; i++)
        free(f->field[i]);
    for (int i = 0; i < MORE; i++)
        free(f->more[i]);
    ts_matrix_unpack(&f->matrix);
    free(f);
}

/* Its matrix, if there is one, packed as the schedule wants it. */
static fixture *make_for(const ts_schedule *s, const shape *sh)
{
    ts_error err;
    fixture *f = make(sh);
    if (f->matrix.data)
        assert_int_equal(ts_matrix_pack_as(&f->matrix, s->packing, 1, &err), TS_OK);
    return f;
}

static bool same(const fixture *a, const fixture *b)
{
    for (int i = 0; i < TS_MAX_FIELDS && a->op->field[i].name; i++)
        if (memcmp(a->field[i], b->field[i], a->size[i]) != 0) {
            print_error("%s: %s differs\n", a->op->name, a->op->field[i].name);
            return false;
        }
    return a->v_size == 0 || memcmp(a->more[0], b->more[0], a->v_size) == 0;
}

/* Moves the arguments down to row t alone. */
static void one_row(fixture *f, int64_t t, int64_t T)
{
    const ts_op *op = f->op;
    int64_t one = 1;
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++) {
        const ts_field *d = &op->field[i];
        if (!d->dim[0] || strcmp(d->dim[0], "T") != 0)
            continue;
        unsigned char *p = (unsigned char *)f->field[i] + (size_t)t * (f->size[i] / (size_t)T);
        memcpy(f->args.byte + d->offset, &p, sizeof p);
    }
    for (int i = 0; op->dim[i].name; i++) {
        int64_t pos;
        memcpy(&pos, f->args.byte + op->dim[i].offset, sizeof pos);
        pos += t > 0;
        if (strcmp(op->dim[i].name, "pos") == 0)
            memcpy(f->args.byte + op->dim[i].offset, &pos, sizeof pos);
    }
    memcpy(f->args.byte + op->dim[0].offset, &one, sizeof one);
}

/* gdn_chunk64 in the pieces its chunks allow: rows t .. t+n of the original T. */
static void rows_from(fixture *f, int64_t t, int64_t n, int64_t T, int64_t pos)
{
    one_row(f, t, T);
    f->args.largest.T = n;
    ((ts_gdn_args *)(void *)&f->args)->pos = pos + t;
}

static bool accepts(const ts_schedule *s, const fixture *f)
{
    return !s->accepts || s->accepts(&f->args);
}

static void for_each(void (*test)(const ts_schedule *, const shape *))
{
    for (int i = 0; ts_schedule_at(i); i++) {
        int tested = 0;
        for (int j = 0; j < SHAPES; j++) {
            if (shapes[j].op != ts_schedule_at(i)->op)
                continue;
            fixture *f = make_for(ts_schedule_at(i), &shapes[j]);
            bool accepted = accepts(ts_schedule_at(i), f);
            discard(f);
            if (accepted)
                test(ts_schedule_at(i), &shapes[j]);
            tested += accepted;
        }
        assert_true(tested > 0);
    }
}

typedef struct {
    const ts_schedule *s;
    const void *args;
    int64_t begin, end;
} range;

static void *run_range(void *context)
{
    const range *r = context;
    r->s->run(r->args, r->begin, r->end);
    return NULL;
}

/* Two halves at the same time, whatever ts_schedule_run would think them worth. */
static void run_at_once(const ts_schedule *s, fixture *f, int64_t units)
{
    pthread_t other;
    range first = {s, &f->args, 0, units / 2};
    assert_int_equal(pthread_create(&other, NULL, run_range, &first), 0);
    s->run(&f->args, units / 2, units);
    assert_int_equal(pthread_join(other, NULL), 0);
}

static void cut_one(const ts_schedule *s, const shape *sh)
{
    fixture *whole = make_for(s, sh), *cut = make_for(s, sh), *at_once = make_for(s, sh),
            *threaded = make_for(s, sh);
    int64_t units = ts_op_units(whole->op, &whole->args);
    ts_schedule_run(s, &whole->args, 1);
    s->run(&cut->args, units / 2, units);
    s->run(&cut->args, 0, units / 3);
    s->run(&cut->args, units / 3, units / 2);
    run_at_once(s, at_once, units);
    ts_schedule_run(s, &threaded->args, 2);
    assert_true(same(whole, cut));
    assert_true(same(whole, at_once));
    assert_true(same(whole, threaded));
    discard(at_once);
    discard(whole);
    discard(cut);
    discard(threaded);
}

/* The schedule itself, or what the engine takes where it declines. */
static void run_or_next(const ts_schedule *s, fixture *f)
{
    if (!accepts(s, f))
        s = ts_schedule_pick(s->op, "any", &f->args);
    assert_non_null(s);
    ts_schedule_run(s, &f->args, 1);
}

static void rows_one(const ts_schedule *s, const shape *sh)
{
    fixture *whole = make_for(s, sh), *rows = make_for(s, sh);
    int64_t T = sh->dim[0];
    if (strcmp(whole->op->dim[0].name, "T") == 0 && s->op != TS_OP_GDN_CHUNK64) {
        ts_schedule_run(s, &whole->args, 1);
        for (int64_t t = 0; t < T; t++) {
            one_row(rows, t, T);
            run_or_next(s, rows);
        }
        assert_true(same(whole, rows));
    }
    discard(whole);
    discard(rows);
}

static void ranges_and_threads_change_nothing(void **state)
{
    (void)state;
    for_each(cut_one);
}

static void row_count_changes_nothing(void **state)
{
    (void)state;
    for_each(rows_one);
}

static void chunks_may_be_cut_at_64(void **state)
{
    (void)state;
    static const shape s = {.op = TS_OP_GDN_CHUNK64, .dim = {150, 2, 6, 16, 24, 40}};
    static const int64_t rows[] = {0, 24, 88, 150};
    const ts_schedule *chunk = ts_schedule_find("gdn_chunk64.portable");
    assert_non_null(chunk);
    fixture *whole = make(&s), *pieces = make(&s);
    ts_schedule_run(chunk, &whole->args, 1);
    for (int i = 0; i < 3; i++) {
        rows_from(pieces, rows[i], rows[i + 1] - rows[i], 150, 40);
        ts_schedule_run(chunk, &pieces->args, 1);
    }
    assert_true(same(whole, pieces));
    discard(whole);
    discard(pieces);
}

static bool known_inner(const ts_op *op, const char *name)
{
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++)
        if (op->field[i].role == TS_INNER && strcmp(op->field[i].name, name) == 0)
            return true;
    return false;
}

static void assert_exposes_known(const ts_schedule *s)
{
    char list[64];
    assert_true((size_t)snprintf(list, sizeof list, "%s", s->exposes) < sizeof list);
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
        assert_true(known_inner(&ts_op_table[s->op], name));
        assert_true(ts_schedule_exposes(s, name));
    }
    assert_false(ts_schedule_exposes(s, ""));
    assert_false(ts_schedule_exposes(s, "nothing"));
}

static void registry_is_sound(void **state)
{
    (void)state;
    int entries[TS_OP_COUNT] = {0}, n = 0;
    for (const ts_schedule *s; (s = ts_schedule_at(n)); n++) {
        assert_true(s->op >= 0 && s->op < TS_OP_COUNT);
        entries[s->op]++;
        assert_string_equal(s->order, ts_op_table[s->op].order);
        assert_string_equal(s->backend, "cpu");
        assert_memory_equal(s->name, ts_op_table[s->op].name, strlen(ts_op_table[s->op].name));
        assert_ptr_equal(ts_schedule_find(s->name), s); /* the first of that name is this one */
        assert_non_null(s->run);
        assert_exposes_known(s);
    }
    for (int op = 0; op < TS_OP_COUNT; op++)
        assert_true(entries[op] >= 1);
    assert_null(ts_schedule_at(-1));
    assert_null(ts_schedule_at(n));
    assert_null(ts_schedule_find("nothing"));
}

static void pick_takes_the_first_that_accepts(void **state)
{
    (void)state;
    ts_attention_args a = {.D = 1024};
    const ts_schedule *s = ts_schedule_pick(TS_OP_ATTENTION, "exact", &a);
    assert_non_null(s);
    assert_int_equal(s->op, TS_OP_ATTENTION);
    a.D = 1 << 20;
    assert_null(ts_schedule_pick(TS_OP_ATTENTION, "exact", &a));
}

/* By hand: two partitions, the second masked by len; one key, though there is a second; no key. */
static void attention_sees_only_its_keys(void **state)
{
    (void)state;
    float q[2] = {1, 1}, k[32] = {2}, v[32] = {3, -5}, o[2] = {9, 9}, m[2], l[2], acc[4] = {7, 7, 7, 7};
    int32_t pos = 0, len = 1, table[1] = {0};
    ts_attention_args a = {.T = 1,
                           .Hq = 1,
                           .Hkv = 1,
                           .D = 2,
                           .parts = 2,
                           .scale = 0.5,
                           .q = q,
                           .pos = &pos,
                           .len = &len,
                           .kv = {0, 16, 1, table, k, v},
                           .o = o,
                           .m = m,
                           .l = l,
                           .acc = acc};
    const ts_schedule *s = ts_schedule_find("attention.portable");
    ts_schedule_run(s, &a, 1);
    assert_true(o[0] == 3 && o[1] == -5 && m[0] == 1 && l[0] == 1 && acc[1] == -5);
    assert_true(m[1] == -INFINITY && l[1] == 0 && acc[2] == 0 && acc[3] == 0);
    len = 2;
    o[0] = 9;
    ts_schedule_run(s, &a, 1);
    assert_true(o[0] == 3 && l[0] == 1); /* key 1 is in the future of position 0 */
    len = 0;
    ts_schedule_run(s, &a, 1);
    assert_int_equal(ts_bits(o[0]) | ts_bits(o[1]), 0);
    assert_true(m[0] == -INFINITY && l[0] == 0 && acc[0] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry_is_sound),
        cmocka_unit_test(pick_takes_the_first_that_accepts),
        cmocka_unit_test(ranges_and_threads_change_nothing),
        cmocka_unit_test(row_count_changes_nothing),
        cmocka_unit_test(chunks_may_be_cut_at_64),
        cmocka_unit_test(attention_sees_only_its_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
