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
#include <string.h>
#include "fast/fixture.h"

static bool same(const fixture *a, const fixture *b)
{
    for (int i = 0; i < TS_MAX_FIELDS && a->op->field[i].name; i++)
        if (a->size[i] > 0 && memcmp(a->field[i], b->field[i], a->size[i]) != 0) {
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
        if (!f->field[i] || !d->dim[0] || strcmp(d->dim[0], "T") != 0)
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

/* Do the rows of a call belong together, chunk by chunk or block by block? */
static bool rows_are_pieces(ts_op_id op)
{
    return op == TS_OP_GDN_CHUNK64 || op == TS_OP_GROUPED_CONV;
}

static void rows_one(const ts_schedule *s, const shape *sh)
{
    fixture *whole = make_for(s, sh), *rows = make_for(s, sh);
    int64_t T = sh->dim[0];
    if (strcmp(whole->op->dim[0].name, "T") == 0 && !rows_are_pieces(s->op)) {
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

static void blocks_know_nothing_of_each_other(void **state)
{
    (void)state;
    static const shape s = {.op = TS_OP_GROUPED_CONV, .dim = {11, 63, 3, 21, 4, 1}};
    const ts_schedule *conv;
    for (int i = 0; (conv = ts_schedule_at(i)) != NULL; i++) {
        if (conv->op != TS_OP_GROUPED_CONV)
            continue;
        fixture *whole = make(&s), *pieces = make(&s);
        ts_schedule_run(conv, &whole->args, 1);
        for (int64_t t = 0; t < 11; t += 4) {
            one_row(pieces, t, 11);
            pieces->args.largest.T = t + 4 < 11 ? 4 : 11 - t;
            ts_schedule_run(conv, &pieces->args, 1);
        }
        assert_true(same(whole, pieces));
        discard(whole);
        discard(pieces);
    }
}

/* What the engine takes for a matrix of those weights, packed as for that schedule. */
static const ts_schedule *picked(shape s, weights w)
{
    ts_error err;
    s.w = w;
    fixture *f = make(&s);
    assert_int_equal(ts_matrix_pack(&f->matrix, s.op, "ts", 1, &err), TS_OK);
    const ts_schedule *taken = ts_schedule_pick(s.op, "ts", &f->args);
    discard(f);
    return taken;
}

static void eight_bits_have_the_schedules_of_four(void **state)
{
    (void)state;
    static const shape linear[] = {{.op = TS_OP_MATMUL_A64S8, .dim = {1, 40, 192}},
                                   {.op = TS_OP_GATE_UP_A64S8, .dim = {1, 40, 192}},
                                   {.op = TS_OP_QKV_CONV_A64S8, .dim = {1, 40, 192, 4}},
                                   {.op = TS_OP_MATMUL_DOT32, .dim = {1, 40, 192}}};
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++)
        for (int64_t T = 1; T <= 40; T++) {
            shape s = linear[i];
            s.dim[0] = T;
            const ts_schedule *eight = picked(s, W_MLX8);
            assert_non_null(eight);
            assert_ptr_equal(eight, picked(s, W_MLX4));
        }
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
        assert_true(ts_op_table[op].ref_only || entries[op] >= 1);
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
                           .kv = {.page = 16, .pages = 1, .table = table, .k = k, .v = v},
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

/* Codes with scales are the reference's alone: every schedule that meets a pool says so. */
static void codes_are_declined(void **state)
{
    (void)state;
    ts_attention_args a = {.D = 64};
    ts_kv_store_args put = {.D = 64};
    const ts_schedule *s;
    for (int64_t d = TS_KV_REAL; d <= TS_KV_E5M2; d++)
        for (int i = 0; (s = ts_schedule_at(i)) != NULL; i++) {
            a.kv.dtype = put.kv.dtype = d;
            const void *args = s->op == TS_OP_ATTENTION ? (const void *)&a : &put;
            if (s->op == TS_OP_ATTENTION || s->op == TS_OP_KV_STORE)
                assert_int_equal(s->accepts(args), d <= TS_KV_F16);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry_is_sound),
        cmocka_unit_test(pick_takes_the_first_that_accepts),
        cmocka_unit_test(ranges_and_threads_change_nothing),
        cmocka_unit_test(row_count_changes_nothing),
        cmocka_unit_test(chunks_may_be_cut_at_64),
        cmocka_unit_test(blocks_know_nothing_of_each_other),
        cmocka_unit_test(eight_bits_have_the_schedules_of_four),
        cmocka_unit_test(attention_sees_only_its_keys),
        cmocka_unit_test(codes_are_declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
