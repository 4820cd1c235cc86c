/* What bench computes: ratios of rounds that are given, turns and copies, shapes and what they hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/footprint.h"
#include "bench/measure.h"
#include "bench/shapes.h"

static void quartiles(void **state)
{
    double odd[] = {9, 1, 5, 3, 7}, even[] = {4, 1, 3, 2};
    (void)state;
    ts_spread a = ts_spread_of(odd, 5), b = ts_spread_of(even, 4);
    assert_true(a.low == 3 && a.median == 5 && a.high == 7);
    assert_true(b.low == 1.75 && b.median == 2.5 && b.high == 3.25);
}

/* A match whose rounds were timed: m->v[i].ns[r] = ns[i][r]. */
static ts_match *rounds(const double ns[][3], const ts_contender_kind *kind, size_t n)
{
    ts_match *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->rounds = 3;
    for (size_t i = 0; i < n; i++) {
        ts_contender *c = ts_match_add(m, "x", kind[i]);
        assert_non_null(c);
        c->ns = calloc(3, sizeof *c->ns);
        assert_non_null(c->ns);
        memcpy(c->ns, ns[i], sizeof ns[i]);
    }
    return m;
}

/* Of paired rounds: the medians' ratio would be 1, and 20 as a mean. */
static void paired_ratios(void **state)
{
    static const double ns[][3] = {{10, 20, 1}, {20, 10, 4}};
    static const ts_contender_kind kind[] = {TS_SCHEDULE, TS_PORTABLE};
    ts_match *m = rounds(ns, kind, 2);
    ts_spread x;
    (void)state;
    assert_true(ts_match_ratio(m, &m->v[0], &m->v[1], &x));
    assert_true(x.median == 2);
    assert_false(ts_match_ratio(m, &m->v[1], &m->v[0], &x)); /* nothing is held against what is not ported */
    assert_false(ts_match_ratio(m, &m->v[1], &m->v[1], &x));
    snprintf(m->v[0].skip, sizeof m->v[0].skip, "too slow");
    assert_false(ts_match_ratio(m, &m->v[0], &m->v[1], &x));
    ts_match_free(m);
    free(m);
}

static void machine_ratios(void **state)
{
    static const double ns[][3] = {{10, 10, 10}, {10, 10, 10}, {10, 10, 10}, {10, 10, 10}};
    static const ts_contender_kind kind[] = {TS_SCHEDULE, TS_READ, TS_PEAK, TS_PEER};
    ts_match *m = rounds(ns, kind, 4);
    ts_spread x;
    (void)state;
    m->v[0].bytes = 100;
    m->v[1].bytes = 400;
    m->v[2].macs = 1000;
    assert_true(ts_match_ratio(m, &m->v[0], &m->v[1], &x) && x.median == 0.25);
    assert_false(ts_match_ratio(m, &m->v[0], &m->v[2], &x)); /* multiplies nothing */
    m->v[0].macs = 500;
    assert_true(ts_match_ratio(m, &m->v[0], &m->v[2], &x) && x.median == 0.5);
    assert_false(ts_match_ratio(m, &m->v[1], &m->v[2], &x)); /* the machine's limits have no ratios */
    assert_true(ts_match_ratio(m, &m->v[0], &m->v[3], &x) && x.median == 1);
    ts_match_free(m);
    free(m);
}

static char order[1 << 16];
static size_t calls;

static void note(void *context, int64_t copy)
{
    (void)copy;
    volatile double x = 1;
    for (int i = 0; i < 100000; i++)
        x = x * 0.999999;
    if (calls < sizeof order)
        order[calls++] = *(char *)context;
}

static void note_copy(void *context, int64_t copy)
{
    (void)context;
    if (calls < sizeof order)
        order[calls++] = (char)('0' + copy);
    volatile double x = 1;
    for (int i = 0; i < 100000; i++)
        x = x * 0.999999;
}

static double guess_long(void *context)
{
    (void)context;
    return 1e12;
}

/* Rounds end in A, B, A, B: a turn of each. What would take too long is never called. */
static void takes_turns(void **state)
{
    static char a = 'A', b = 'B', slow = 'S';
    ts_match *m = calloc(1, sizeof *m);
    (void)state;
    assert_non_null(m);
    ts_contender *A = ts_match_add(m, "a", TS_SCHEDULE), *B = ts_match_add(m, "b", TS_SCHEDULE),
                 *S = ts_match_add(m, "slow", TS_SCHEDULE);
    A->run = B->run = S->run = note;
    A->context = &a;
    B->context = &b;
    S->context = &slow;
    A->copies = B->copies = 2; /* nothing to settle */
    S->guess = guess_long;
    calls = 0;
    assert_int_equal(ts_match_run(m, 0.1, NULL), TS_OK);
    assert_true(m->rounds >= TS_LEAST_ROUNDS && m->rounds <= TS_MOST_ROUNDS);
    assert_null(memchr(order, 'S', calls));
    assert_non_null(strstr(S->skip, "--seconds"));
    size_t changes = 0;
    for (size_t i = 5; i < calls; i++)
        changes += order[i] != order[i - 1];
    assert_true(changes >= 2 * m->rounds - 1);
    assert_true(ts_match_time(m, A).median > 0);
    ts_match_free(m);
    free(m);
}

static void cycles_copies(void **state)
{
    ts_match *m = calloc(1, sizeof *m);
    (void)state;
    assert_non_null(m);
    ts_contender *c = ts_match_add(m, "c", TS_SCHEDULE);
    c->run = note_copy;
    c->copies = 3;
    calls = 0;
    assert_int_equal(ts_match_run(m, 0.1, NULL), TS_OK);
    assert_true(calls > 3);
    for (size_t i = 0; i < calls; i++)
        assert_int_equal(order[i], '0' + (char)(i % 3));
    ts_match_free(m);
    free(m);
}

/* A new operation needs a line in the table, a new schedule nothing. */
static void every_operation_has_shapes(void **state)
{
    static ts_bench_shape shape[TS_MAX_SHAPES];
    size_t n;
    bool has[TS_OP_COUNT] = {false};
    const ts_bench_problem *p;
    (void)state;
    for (int i = 0; (p = ts_bench_problem_at(i)) != NULL; i++) {
        has[p->op] = true;
        assert_int_equal(ts_bench_shapes(p, NULL, shape, &n, NULL), TS_OK);
        assert_true(n > 0);
        for (size_t j = 0; j < n; j++)
            for (int d = 0; d < TS_MAX_OP_DIMS && ts_op_table[p->op].dim[d].name; d++)
                assert_true(shape[j].dim[d] > 0 || d >= 2);
    }
    for (int op = 0; op < TS_OP_COUNT; op++)
        if (!has[op] && !ts_op_table[op].ref_only)
            fail_msg("no shapes for %s", ts_op_table[op].name);
}

static const char *small(ts_op_id op)
{
    switch (op) {
    case TS_OP_ATTENTION:
        return "2,4,2,64,2,0";
    case TS_OP_MATMUL_DOT32:
    case TS_OP_MATMUL_A64S8:
        return "2,96,128";
    case TS_OP_EMBED:
        return "3,16,128";
    case TS_OP_SELECTOR_SCORES:
        return "3,4,64,16";
    case TS_OP_TOP_SLOTS:
        return "2,200,16";
    case TS_OP_KV_STORE:
        return "3,2,64,40";
    case TS_OP_GDN_STEP:
    case TS_OP_GDN_CHUNK64:
        return "3,2,4,32,32";
    default:
        return NULL;
    }
}

static ts_bench_shape small_shape(const ts_bench_problem *p)
{
    static ts_bench_shape shape[TS_MAX_SHAPES];
    size_t n;
    assert_int_equal(ts_bench_shapes(p, small(p->op), shape, &n, NULL), TS_OK);
    return shape[0];
}

/* Copies compute what the call computes, each into its own state. */
static void copies_are_calls(void **state)
{
    const ts_bench_problem *p;
    (void)state;
    for (int i = 0; (p = ts_bench_problem_at(i)) != NULL; i++) {
        ts_bench_shape shape = small_shape(p);
        ts_call a, b;
        ts_copies k;
        assert_int_equal(ts_bench_call(p, &shape, &a, NULL), TS_OK);
        assert_int_equal(ts_bench_call(p, &shape, &b, NULL), TS_OK);
        assert_int_equal(ts_copies_new(&b, p->stream, false, &k, NULL), TS_OK);
        assert_true(ts_bench_bytes(&b, k.payload) > 0);
        assert_int_equal(k.copies, 1);
        const ts_schedule *s = ts_schedule_pick(p->op, "ts", a.args);
        assert_non_null(s);
        ts_schedule_run(s, a.args, 1);
        ts_schedule_run(s, k.args[0], 1);
        for (int f = 0; f < TS_MAX_FIELDS && a.op->field[f].name; f++) {
            bool streamed = p->stream && strcmp(p->stream, a.op->field[f].name) == 0;
            if (a.op->field[f].role == TS_OUT || (a.op->field[f].role == TS_INOUT && !streamed))
                assert_memory_equal(a.data[f], b.data[f], a.size[f]);
            if (a.op->field[f].role == TS_INOUT && streamed)
                assert_memory_equal(a.data[f], k.region.base, a.size[f]);
        }
        ts_copies_free(&k);
        ts_call_free(&a);
        ts_call_free(&b);
    }
}

static size_t panel_size(const ts_matrix *w)
{
    return (size_t)(w->K + 63) / 64 * 64;
}

static void pack_panels(const ts_matrix *w, int64_t begin, int64_t end, void *to)
{
    for (int64_t i = begin; i < end; i++)
        memset((char *)to + (size_t)i * panel_size(w), (int)i + 1, panel_size(w));
}

/* Of a packed matrix the packing is copied, and it is what counts as moved. */
static void packed_copies(void **state)
{
    static const ts_packing packing = {"test.1", 8, panel_size, pack_panels};
    const ts_bench_problem *p = ts_bench_problem_at(0);
    ts_call c;
    ts_copies k;
    (void)state;
    for (int i = 0; p->op != TS_OP_MATMUL_A64S8; i++)
        p = ts_bench_problem_at(i);
    ts_bench_shape shape = small_shape(p);
    assert_int_equal(ts_bench_call(p, &shape, &c, NULL), TS_OK);
    assert_int_equal(ts_call_pack(&c, &packing, NULL), TS_OK);
    assert_int_equal(ts_copies_new(&c, p->stream, false, &k, NULL), TS_OK);
    const ts_matmul_a64s8_args *a = k.args[0];
    size_t bytes = ts_packing_bytes(&packing, &c.matrix[0]);
    assert_true(bytes == 12 * 128 && k.payload == bytes);
    assert_ptr_equal(a->w->packed, k.region.base);
    assert_ptr_equal(a->w->packing, &packing);
    assert_memory_equal(a->w->packed, c.matrix[0].packed, bytes);
    ts_copies_free(&k);
    ts_call_free(&c);
}

static void footprints(void **state)
{
    ts_error err = {0};
    (void)state;
    assert_int_equal(ts_copies_for(1 << 20, false), 1);
    assert_int_equal(ts_copies_for(0, true), 1);
    assert_true(ts_copies_for(50000000, true) * 50000000 > TS_DRAM);
    assert_int_equal(ts_memory_for(1e15, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "GiB are free"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quartiles),        cmocka_unit_test(paired_ratios),
        cmocka_unit_test(machine_ratios),   cmocka_unit_test(takes_turns),
        cmocka_unit_test(cycles_copies),    cmocka_unit_test(every_operation_has_shapes),
        cmocka_unit_test(copies_are_calls), cmocka_unit_test(packed_copies),
        cmocka_unit_test(footprints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
