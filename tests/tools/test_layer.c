#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compare.h"
#include "tool.h"
#include "tools/big_model.h"
#include "tools/capture.h"
#include "tools/inout.h"

#define TINY "golden/models/tiny-qwen35"
#define GOLDEN "golden/external/tiny-qwen35-comment.safetensors"

enum { C = 256, T = 9, SPLIT = 4 };

static capture got;
static char other[FOLDER_PATH];
static ts_safetensors *golden;

static int set_up(void **state)
{
    (void)state;
    inout_make();
    folder_file(&dir, "other.safetensors", other);
    return ts_safetensors_open(GOLDEN, &golden, NULL) == TS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ts_safetensors_close(golden);
    folder_remove(&dir);
    return 0;
}

static ts_tensor named(const ts_safetensors *f, const char *name, const char *as)
{
    return renamed(ts_safetensors_find(f, name), name, as);
}

static ts_tensor rows(ts_tensor t, int64_t first, int64_t n)
{
    size_t row = t.size / (size_t)t.dim[0];
    t.data = (const char *)t.data + (size_t)first * row;
    t.dim[0] = n;
    t.size = (size_t)n * row;
    return t;
}

static int run_layer(int layer, const char *engine, const char *to)
{
    char number[16];
    snprintf(number, sizeof number, "%d", layer);
    return capture_run(&got, ts_cmd_layer, "layer", "--model", TINY, "--layer", number, "--in", in, "-o", to,
                       "--engine", engine, "--threads", "2", NULL);
}

static void assert_runs(int layer, const char *engine, const char *to)
{
    if (run_layer(layer, engine, to) != TS_OK)
        fail_msg("layer %d, %s: exit %d %s", layer, engine, got.code, got.err);
}

static ts_safetensors *opened(const char *path)
{
    ts_safetensors *f = NULL;
    assert_int_equal(ts_safetensors_open(path, &f, NULL), TS_OK);
    return f;
}

/* Within 2e-13 of the largest golden value. */
static void assert_close(const ts_tensor *x, const ts_tensor *g)
{
    double worst = 0, scale = 0;
    assert_int_equal(ts_tensor_count(x), ts_tensor_count(g));
    for (int64_t i = 0; i < ts_tensor_count(g); i++) {
        double d = fabs(ts_tensor_get(x, i) - ts_tensor_get(g, i));
        worst = d <= worst ? worst : d; /* a NaN stays */
        scale = fmax(scale, fabs(ts_tensor_get(g, i)));
    }
    if (!(worst <= 2e-13 * scale))
        fail_msg("%s: off by %g of %g", g->name, worst, scale);
}

static void assert_same(const ts_tensor *a, const ts_tensor *b)
{
    ts_comparison c;
    if (ts_compare(a, b, &c) != TS_OK)
        fail_msg("%s against %s: %s, %lld differ", a->name, b->name, c.mismatch, (long long)c.differing);
}

/* Each layer fed with the golden output of the one before gives the golden's. */
static void golden_layers(void **state)
{
    (void)state;
    const char *const part[] = {"mixer", "mlp", "out"};
    for (int i = 1; i < 8; i++) {
        char name[64];
        snprintf(name, sizeof name, "layer.%d.out", i - 1);
        ts_tensor x = named(golden, name, "x");
        write_in(&x, 1);
        assert_runs(i, "ref64", out);
        ts_safetensors *f = opened(out);
        for (size_t k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "layer.%d.%s", i, part[k]);
            ts_tensor y = named(f, name, name);
            assert_close(&y, ts_safetensors_find(golden, name));
        }
        if (i == 6)
            assert_close(ts_safetensors_find(f, "cache.6.recurrent_states"),
                         ts_safetensors_find(golden, "cache.6.recurrent_states.final"));
        ts_safetensors_close(f);
    }
}

/* The golden's own state put in: the rest of the sequence comes out. */
static void golden_state(void **state)
{
    (void)state;
    const struct {
        int layer;
        const char *source[2], *name[2];
    } kind[] = {
        {3, {"cache.3.k.after_prefill", "cache.3.v.after_prefill"}, {"k", "v"}},
        {6,
         {"cache.6.conv_states.after_prefill", "cache.6.recurrent_states.after_prefill"},
         {"conv_state", "recurrent_state"}},
    };
    for (size_t i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "layer.%d.out", kind[i].layer - 1);
        ts_tensor t[] = {rows(named(golden, name, "x"), SPLIT, T - SPLIT),
                         named(golden, kind[i].source[0], kind[i].name[0]),
                         named(golden, kind[i].source[1], kind[i].name[1])};
        write_in(t, 3);
        assert_runs(kind[i].layer, "ref64", out);
        ts_safetensors *f = opened(out);
        snprintf(name, sizeof name, "layer.%d.out", kind[i].layer);
        ts_tensor g = rows(named(golden, name, name), SPLIT, T - SPLIT), y = named(f, name, name);
        assert_close(&y, &g);
        ts_safetensors_close(f);
    }
}

/* Everything fast gives is what ref32 gives, and so it is when the sequence comes in two pieces. */
static void engines_and_cuts(void **state)
{
    (void)state;
    const char *const part[2][2] = {{"conv_states", "recurrent_states"}, {"k", "v"}};
    const char *const input[2][2] = {{"conv_state", "recurrent_state"}, {"k", "v"}};
    for (int layer = 2; layer < 4; layer++) {
        const int full = layer == 3;
        char name[2][64], y[64];
        ts_tensor x = named(golden, "layer.1.out", "x");
        write_in(&x, 1);
        assert_runs(layer, "fast", out);
        assert_runs(layer, "ref32", other);
        ts_safetensors *fast = opened(out), *whole = opened(other);
        assert_int_equal(ts_safetensors_count(fast), ts_safetensors_count(whole));
        for (size_t i = 0; i < ts_safetensors_count(fast); i++)
            assert_same(ts_safetensors_at(fast, i), ts_safetensors_at(whole, i));
        ts_safetensors_close(fast);
        ts_tensor head = rows(x, 0, SPLIT);
        write_in(&head, 1);
        assert_runs(layer, "fast", out);
        ts_safetensors *first = opened(out);
        for (int k = 0; k < 2; k++)
            snprintf(name[k], sizeof name[k], "cache.%d.%s", layer, part[full][k]);
        const int64_t pos = SPLIT;
        ts_tensor rest[] = {rows(x, SPLIT, T - SPLIT),
                            named(first, name[0], input[full][0]),
                            named(first, name[1], input[full][1]),
                            {"pos", TS_I64, 1, {1}, &pos, 8}};
        write_in(rest, 4);
        ts_safetensors_close(first);
        const char *const engine[] = {"fast", "ref32"};
        for (int e = 0; e < 2; e++) {
            assert_runs(layer, engine[e], out);
            ts_safetensors *second = opened(out);
            snprintf(y, sizeof y, "layer.%d.out", layer);
            ts_tensor a = rows(named(whole, y, y), SPLIT, T - SPLIT), b = named(second, y, y);
            assert_same(&a, &b);
            for (int k = 0; k < 2; k++)
                assert_same(ts_safetensors_find(whole, name[k]), ts_safetensors_find(second, name[k]));
            ts_safetensors_close(second);
        }
        ts_safetensors_close(whole);
    }
}

/* The whole file of one run beside the next rows: its state is found, its outputs are passed over. */
static void feeds_the_next_run(void **state)
{
    (void)state;
    for (int layer = 2; layer < 4; layer++) {
        char y[64], wrong[64];
        snprintf(y, sizeof y, "layer.%d.out", layer);
        snprintf(wrong, sizeof wrong, "layer.%d.output", layer);
        ts_tensor x = named(golden, "layer.1.out", "x"), head = rows(x, 0, SPLIT);
        write_in(&x, 1);
        assert_runs(layer, "ref32", other);
        write_in(&head, 1);
        assert_runs(layer, "ref32", out);
        ts_safetensors *first = opened(out), *whole = opened(other);
        const int64_t pos = SPLIT;
        ts_tensor t[40] = {rows(x, SPLIT, T - SPLIT), {"pos", TS_I64, 1, {1}, &pos, 8}};
        size_t n = 2;
        for (size_t i = 0; i < ts_safetensors_count(first); i++)
            t[n++] = *ts_safetensors_at(first, i);
        write_in(t, n);
        assert_runs(layer, "ref32", out);
        ts_safetensors *second = opened(out);
        ts_tensor a = rows(named(whole, y, y), SPLIT, T - SPLIT), b = named(second, y, y);
        assert_same(&a, &b);
        for (size_t i = 0; i < ts_safetensors_count(whole); i++)
            if (strncmp(ts_safetensors_at(whole, i)->name, "cache.", 6) == 0)
                assert_same(ts_safetensors_at(whole, i),
                            ts_safetensors_find(second, ts_safetensors_at(whole, i)->name));
        t[n] = named(first, y, wrong);
        write_in(t, n + 1);
        run_layer(layer, "ref32", out);
        if (got.code != TS_BAD || !strstr(got.err, "not a tensor of a "))
            fail_msg("%s: exit %d %s", wrong, got.code, got.err);
        ts_tensor twice[] = {head, t[n - 2], t[n - 1], t[n - 2]};
        twice[3].name = layer == 2 ? "conv_state" : "k";
        write_in(twice, 4);
        run_layer(layer, "ref32", out);
        if (got.code != TS_BAD || !strstr(got.err, "is the same state as"))
            fail_msg("exit %d %s", got.code, got.err);
        ts_safetensors_close(first);
        ts_safetensors_close(whole);
        ts_safetensors_close(second);
    }
}

static void refuses(int layer, int code, const char *text)
{
    run_layer(layer, "fast", out);
    if (got.code != code || !strstr(got.err, text))
        fail_msg("exit %d, want %d \"%s\"\n%s", got.code, code, text, got.err);
}

static void bad_input(void **state)
{
    (void)state;
    const int64_t pos = 3, far = 32768;
    ts_tensor x = named(golden, "layer.1.out", "x"), k = named(golden, "cache.3.k.after_prefill", "k"),
              v = named(golden, "cache.3.v.after_prefill", "v"), p = {"pos", TS_I64, 1, {1}, &pos, 8};
    write_in(&x, 1);
    refuses(8, TS_BAD, "no layer 8");
    write_in((ts_tensor[]){x, k}, 2);
    refuses(3, TS_BAD, "v: missing: k and v come together");
    refuses(2, TS_BAD, "k: not a tensor of a linear attention layer");
    write_in((ts_tensor[]){x, k, v, p}, 4);
    refuses(3, TS_BAD, "3, but k and v hold 4 earlier tokens");
    p.data = &far;
    write_in((ts_tensor[]){x, p}, 2);
    refuses(2, TS_BAD, "exceed the model's 32768 positions");
    k.dim[0] = 4, k.dim[1] = 2;
    write_in((ts_tensor[]){x, k, v}, 3);
    refuses(3, TS_BAD, "k: wants shape [2,2,64]");
    x.name = "y";
    write_in(&x, 1);
    refuses(2, TS_BAD, "x: missing");
    x = rows(named(golden, "logits", "x"), 0, 1);
    write_in(&x, 1);
    refuses(2, TS_BAD, "x: wants shape [1,256]");
    x.size = 0, x.dim[0] = 0;
    write_in(&x, 1);
    refuses(2, TS_BAD, "T at least 1");
    folder_text(&dir, "in.safetensors", "");
    refuses(2, TS_BAD, "too few");
    assert_int_equal(capture_run(&got, ts_cmd_layer, "layer", "--model", TINY, "--layer", "2", "--in", in, NULL),
                     TS_USAGE);
    assert_non_null(strstr(got.err, "--out"));
}

/* A layer of zeros adds nothing. Only its pages are read, and only its state is made. */
static void big_model_layer(void **state)
{
    (void)state;
    folder big;
    folder_make(&big);
    if (!big_model(&big)) {
        folder_remove(&big);
        skip();
    }
    float *x = calloc(2 * BIG_C, sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < 2 * BIG_C; i++)
        x[i] = (float)(i % 7) - 3;
    ts_tensor t = {"x", TS_F32, 2, {2, BIG_C}, x, 2 * BIG_C * sizeof *x};
    write_in(&t, 1);
    capture_run(&got, ts_cmd_layer, "layer", "--model", big.path, "--layer", "0", "--in", in, "-o", out, NULL);
    if (got.code != TS_OK)
        fail_msg("exit %d %s", got.code, got.err);
    ts_safetensors *f = opened(out);
    ts_tensor y = named(f, "layer.0.out", "x");
    assert_same(&t, &y);
    assert_true(big_children_mb() < 2048);
    ts_safetensors_close(f);
    free(x);
    folder_remove(&big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_layers),      cmocka_unit_test(golden_state), cmocka_unit_test(engines_and_cuts),
        cmocka_unit_test(feeds_the_next_run), cmocka_unit_test(bad_input),    cmocka_unit_test(big_model_layer),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
