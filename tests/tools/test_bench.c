/* What bench says: its arithmetic on rounds that are given, its rows against the registry, its files, its errors.
 * No time is compared with anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/folder.h"
#include "bench/contest.h"
#include "bench/footprint.h"
#include "format/json.h"
#include "tool.h"
#include "tools/capture.h"

#define TINY "golden/models/tiny-qwen35"

static capture got;
static folder dir;
static char json[FOLDER_PATH], other[FOLDER_PATH], plot[FOLDER_PATH];

static int set_up(void **state)
{
    (void)state;
    folder_make(&dir);
    folder_file(&dir, "a.json", json);
    folder_file(&dir, "b.json", other);
    folder_file(&dir, "a.svg", plot);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(&dir);
    return 0;
}

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
        if (!has[op])
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
    size_t bytes = ts_packing_bytes(&packing, &c.matrix);
    assert_true(bytes == 12 * 128 && k.payload == bytes);
    assert_ptr_equal(a->w->packed, k.region.base);
    assert_ptr_equal(a->w->packing, &packing);
    assert_memory_equal(a->w->packed, c.matrix.packed, bytes);
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

static cJSON *load(const char *path)
{
    cJSON *o = NULL;
    assert_int_equal(ts_json_load(path, &o, NULL), TS_OK);
    return o;
}

static const cJSON *find_row(const cJSON *o, const char *name)
{
    const cJSON *row;
    cJSON_ArrayForEach (row, cJSON_GetObjectItemCaseSensitive(o, "rows"))
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "name")), name) == 0)
            return row;
    return NULL;
}

static double number(const cJSON *o, const char *a, const char *b)
{
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(o, a);
    return cJSON_GetNumberValue(b ? cJSON_GetObjectItemCaseSensitive(x, b) : x);
}

/* Every schedule of the registry that takes the shape has a row with numbers. */
static void rows_of_the_registry(void **state)
{
    const ts_schedule *s;
    (void)state;
    capture_run(&got, ts_cmd_bench, "bench", "--op", "residual_add", "--shape", "70001", "--seconds", "0.01",
                "--json", json, "--plot", plot, NULL);
    assert_int_equal(got.code, TS_OK);
    assert_int_equal(strncmp(got.out, "probe: ", 7), 0);
    cJSON *o = load(json);
    assert_true(number(o, "schema", NULL) == TS_RESULT_SCHEMA && number(o, "probe", "best") > 0);
    for (int i = 0; (s = ts_schedule_at(i)) != NULL; i++) {
        if (s->op != TS_OP_RESIDUAL_ADD)
            continue;
        const cJSON *row = find_row(o, s->name);
        assert_non_null(row);
        assert_non_null(strstr(got.out, s->name));
        assert_true(number(row, "ns", "median") > 0 && number(row, "runs", NULL) >= TS_LEAST_ROUNDS);
        assert_true(number(row, "ns", "q1") <= number(row, "ns", "median"));
        assert_true(number(row, "ns", "median") <= number(row, "ns", "q3"));
        assert_true(number(row, "bytes", NULL) == 3.0 * 4 * 70001);
        const cJSON *ratios = cJSON_GetObjectItemCaseSensitive(row, "ratios");
        assert_true(number(ratios, "read", "median") > 0);
        assert_true(!s->isa || number(ratios, "residual_add.portable", "median") > 0);
    }
    cJSON_Delete(o);
    char *svg = NULL;
    size_t size;
    assert_int_equal(ts_read_file(plot, &svg, &size, NULL), TS_OK);
    assert_int_equal(strncmp(svg, "<svg ", 5), 0);
    assert_string_equal(svg + size - 7, "</svg>\n");
    assert_non_null(strstr(svg, "residual_add.portable / read"));
    free(svg);
}

/* Beside the machine's limits it is alone. */
static void one_schedule(void **state)
{
    (void)state;
    capture_run(&got, ts_cmd_bench, "bench", "--schedule", "matmul_a64s8.portable", "--op", "matmul_a64s8",
                "--shape", "2,64,128", "--footprint", "cache", "--seconds", "0.05", "--json", json, NULL);
    assert_int_equal(got.code, TS_OK);
    cJSON *o = load(json);
    const cJSON *row = find_row(o, "matmul_a64s8.portable"), *x;
    assert_non_null(row);
    assert_true(number(row, "macs_per_ns", NULL) > 0 && number(o, "threads", NULL) == 1);
    assert_true(number(cJSON_GetObjectItemCaseSensitive(row, "ratios"), "read", "median") > 0);
    cJSON_ArrayForEach (x, cJSON_GetObjectItemCaseSensitive(o, "rows"))
        assert_string_not_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(x, "kind")), "schedule");
    cJSON_Delete(o);
}

static void threads(void **state)
{
    (void)state;
    capture_run(&got, ts_cmd_bench, "bench", "--op", "gdn_step", "--shape", "2,2,4,128,128", "--footprint", "cache",
                "--seconds", "0.05", "--threads", "2", "--json", json, NULL);
    assert_int_equal(got.code, TS_OK);
    cJSON *o = load(json);
    assert_true(number(o, "threads", NULL) == 2);
    assert_non_null(find_row(o, "gdn_step.portable"));
    assert_non_null(find_row(o, "read+write"));
    cJSON_Delete(o);
}

/* What it is built from: two schedules, one of which crashes when it runs. */
static const char plugin[] =
    "#include \"touchstone.h\"\n"
    "static void add(const void *args, int64_t begin, int64_t end)\n"
    "{\n"
    "    const ts_zip_args *a = (const ts_zip_args *)args;\n"
    "    for (int64_t i = begin; i < end; i++)\n"
    "        a->y[i] = a->a[i] + a->b[i];\n"
    "}\n"
    "static void crash(const void *args, int64_t begin, int64_t end) { *(volatile int *)16 = 1; }\n"
    "#define S(n, f) {n, TS_OP_RESIDUAL_ADD, \"cpu\", \"any\", \"elementwise\", \"any\", \"\", 0, f}\n"
    "static const ts_schedule a = S(\"residual_add.mine\", add), b = S(\"residual_add.crash\", crash);\n"
    "const uint32_t ts_plugin_abi = TS_PLUGIN_ABI;\n"
    "const ts_schedule *const ts_plugin_schedules[] = {&a, &b, 0};\n";

static void plugins(void **state)
{
    char source[FOLDER_PATH], object[FOLDER_PATH], command[2048];
    (void)state;
    folder_file(&dir, "plugin.c", source);
    folder_file(&dir, "plugin.so", object);
    assert_int_equal(ts_write_file(source, plugin, strlen(plugin), NULL), TS_OK);
    snprintf(command, sizeof command,
             "${CC:-cc} -std=c11 -w -Iref/base -Iref/model -Ifast -Itools -shared -fPIC %s -o %s", source, object);
    assert_int_equal(system(command), 0);
    capture_run(&got, ts_cmd_bench, "bench", "--op", "residual_add", "--shape", "70001", "--plugin", object,
                "--seconds", "0.02", "--json", json, NULL);
    assert_int_equal(got.code, TS_OK);
    cJSON *o = load(json);
    assert_true(number(find_row(o, "residual_add.mine"), "ns", "median") > 0);
    assert_non_null(strstr(got.out, "SKIP residual_add.crash: crashes: signal"));
    cJSON_Delete(o);
}

static void a_model(void **state)
{
    (void)state;
    capture_run(&got, ts_cmd_bench, "bench", "--model", TINY, "--seconds", "0.01", "--json", json, NULL);
    assert_int_equal(got.code, TS_OK);
    cJSON *o = load(json);
    static const char *const name[] = {"load", "pack", "prefill", "decode", "read"};
    for (int i = 0; i < 5; i++)
        assert_non_null(find_row(o, name[i]));
    assert_true(number(find_row(o, "load"), "ns", "median") > 0);
    cJSON_Delete(o);
}

#define HEAD "{\"schema\":1,\"kind\":\"touchstone bench\",\"cpu\":\"c\",\"rows\":["
#define ROW(name, kind, disturbed, read)                                                           \
    "{\"op\":\"o\",\"shape\":\"s\",\"footprint\":\"cache\",\"name\":\"" name "\",\"kind\":\"" kind \
    "\",\"disturbed\":" disturbed ",\"ns\":{\"median\":1},\"ratios\":{\"read\":{\"median\":" read "}}}"

static int compare(const char *was, const char *is, const char *tolerance)
{
    assert_int_equal(ts_write_file(json, was, strlen(was), NULL), TS_OK);
    assert_int_equal(ts_write_file(other, is, strlen(is), NULL), TS_OK);
    return capture_run(&got, ts_cmd_bench, "bench", "--compare", json, other, "--tolerance", tolerance, NULL);
}

static void compares_ratios(void **state)
{
    const char *was = HEAD ROW("a", "schedule", "false", "0.8") "," ROW("b", "peer", "false", "0.8") "]}";
    (void)state;
    assert_int_equal(compare(was, HEAD ROW("a", "schedule", "false", "0.73") "]}", "0.1"), TS_OK);
    assert_null(strstr(got.out, "FELL"));
    assert_int_equal(compare(was, HEAD ROW("a", "schedule", "false", "0.73") "]}", "0.05"), TS_DIFFERS);
    assert_non_null(strstr(got.out, "FELL o s cache a: 0.73 times read, was 0.8 (-9%)"));
    assert_int_equal(compare(was, HEAD ROW("a", "schedule", "false", "8") "]}", "0"), TS_OK);
    assert_int_equal(compare(was, HEAD ROW("a", "schedule", "true", "0.1") "]}", "0.1"), TS_BAD); /* nothing left */
    assert_non_null(strstr(got.out, "SKIP o s cache a: the machine was disturbed"));
    assert_int_equal(compare(was, HEAD ROW("b", "peer", "false", "0.1") "]}", "0.1"), TS_BAD);
    assert_non_null(strstr(got.out, "SKIP o s cache a: no such row"));
    assert_non_null(strstr(got.err, "no ratio in common"));
    assert_int_equal(compare(was, "{\"schema\":1,\"kind\":\"x\",\"rows\":[]}", "0.1"), TS_BAD);
    assert_int_equal(compare(was, "{\"schema\":2,\"kind\":\"touchstone bench\",\"rows\":[]}", "0.1"), TS_BAD);
    assert_int_equal(compare(was, HEAD "7,{},{\"ratios\":{\"read\":3}}]}", "0.1"), TS_BAD);
    assert_int_equal(compare(HEAD "7,{},{\"ratios\":{\"read\":3}}]}", was, "0.1"), TS_BAD);
    assert_int_equal(compare(was, "{", "0.1"), TS_BAD);
}

static void fails(int code, const char *reason, const char *a, const char *b, const char *c, const char *d)
{
    capture_run(&got, ts_cmd_bench, "bench", a, b, c, d, NULL);
    if (got.code != code || !strstr(got.err, reason))
        fail_msg("%s %s: exit %d, looked for '%s' in: %s", a, b, got.code, reason, got.err);
    assert_ptr_equal(strchr(got.err, '\n'), got.err + strlen(got.err) - 1); /* one line */
}

static void errors(void **state)
{
    char base[FOLDER_PATH];
    (void)state;
    fails(TS_USAGE, "no operation 'nope'", "--op", "nope", NULL, NULL);
    fails(TS_USAGE, "no schedule 'exp.nope'", "--schedule", "exp.nope", NULL, NULL);
    fails(TS_USAGE, "no schedule 'exp.portable' of silu", "--schedule", "exp.portable", "--op", "silu");
    fails(TS_USAGE, "needs --op", "--shape", "1,2,3", NULL, NULL);
    fails(TS_USAGE, "K%64", "--op", "matmul_a64s8", "--shape", "1,2,3");
    fails(TS_USAGE, "has 3 dims", "--op", "matmul_a64s8", "--shape", "1,2,64,5");
    fails(TS_USAGE, "'1,x'", "--op", "rmsnorm", "--shape", "1,x");
    fails(TS_USAGE, "another T", "--op", "rmsnorm", "--shape", "0");
    fails(TS_USAGE, "not cache, dram or both", "--footprint", "l2", NULL, NULL);
    fails(TS_USAGE, "more than 0", "--seconds", "0", NULL, NULL);
    fails(TS_USAGE, "below 1", "--tolerance", "1", NULL, NULL);
    fails(TS_USAGE, "not one operation", "--model", TINY, "--op", "exp");
    fails(TS_BAD, "cannot write", "--op", "exp", "--json", "/nonexistent/a.json");
    fails(TS_BAD, "/nonexistent", "--model", "/nonexistent", NULL, NULL);
    fails(TS_BAD, "/nonexistent/libggml-base.so", "--peer-ggml", "/nonexistent", "--op", "exp");
    folder_file(&dir, "libggml-base.so", base);
    assert_int_equal(ts_write_file(base, "no ELF", 6, NULL), TS_OK);
    snprintf(base, sizeof base, "%s", json);
    *strrchr(base, '/') = '\0';
    fails(TS_BAD, "not a shared object", "--peer-ggml", base, "--op", "exp");
    fails(TS_BAD, "cannot open", "--compare", "/nonexistent/a", "/nonexistent/b", NULL);
}

/* OpenBLAS chooses its core before main: the command itself is run, three folders above this program. */
static void old_blas_core(void **state)
{
    char path[4096], shell[4400], text[8192];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    (void)state;
    assert_true(n > 0);
    path[n] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = '\0';
    snprintf(
        shell, sizeof shell,
        "OPENBLAS_CORETYPE=PRESCOTT '%s/touchstone' bench --op matmul_a64s8 --shape 512,16,64 --footprint cache "
        "--seconds 0.01 --peer-blas",
        path);
    FILE *f = popen(shell, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    assert_int_equal(pclose(f), 0);
    assert_non_null(strstr(text, "SKIP openblas.sgemm: its core is Prescott"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quartiles),
        cmocka_unit_test(paired_ratios),
        cmocka_unit_test(machine_ratios),
        cmocka_unit_test(takes_turns),
        cmocka_unit_test(cycles_copies),
        cmocka_unit_test(every_operation_has_shapes),
        cmocka_unit_test(copies_are_calls),
        cmocka_unit_test(packed_copies),
        cmocka_unit_test(footprints),
        cmocka_unit_test(rows_of_the_registry),
        cmocka_unit_test(one_schedule),
        cmocka_unit_test(threads),
        cmocka_unit_test(plugins),
        cmocka_unit_test(old_blas_core),
        cmocka_unit_test(a_model),
        cmocka_unit_test(compares_ratios),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
