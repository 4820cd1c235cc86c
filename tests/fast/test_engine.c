/* The engine's promises: the bits of a row depend neither on how the tokens were
 * cut, nor on threads, page order or what free memory holds; bad calls are
 * refused and harm nothing; greedy ids are those of the float64 golden. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine_internal.h"
#include "num/convert.h"
#include "num/generate.h"
#include "schedule.h"

enum { TOKENS = 20, LONG = 530, KEEP = 30 };

/* A trained model, and two small ones: as usual, and with odd sizes and a tied head. */
static ts_weights *tiny, *dense, *asym;
static const ts_engine_options plain = {.threads = 1, .capacity = 64};

static void *allocate(size_t size)
{
    void *p = malloc(size ? size : 1);
    assert_non_null(p);
    return p;
}

static int loaded(ts_status status, const ts_error *err)
{
    char text[800];
    if (status != TS_OK)
        print_error("%s\n", ts_error_text(err, text, sizeof text));
    return status == TS_OK ? 0 : -1;
}

static int load(void **state)
{
    (void)state;
    ts_error err;
    if (loaded(ts_weights_load("golden/models/tiny-qwen35", &tiny, &err), &err) != 0)
        return -1;
    if (loaded(ts_weights_load_files("golden/external/rand-qwen35-dense-config.json",
                                     "golden/external/rand-qwen35-dense-weights.safetensors", &dense, &err),
               &err) != 0)
        return -1;
    return loaded(ts_weights_load_files("golden/external/rand-qwen35-asym-config.json",
                                        "golden/external/rand-qwen35-asym-weights.safetensors", &asym, &err),
                  &err);
}

static int unload(void **state)
{
    (void)state;
    ts_weights_free(tiny);
    ts_weights_free(dense);
    ts_weights_free(asym);
    return 0;
}

static ts_engine *make(const ts_weights *w, const char *profile, const ts_engine_options *o)
{
    ts_engine *e = NULL;
    assert_int_equal(ts_engine_new(w, ts_profile_find(profile), o, &e, NULL), TS_OK);
    return e;
}

/* Logits of all of T tokens run in pieces of `piece`; the caller frees them. */
static float *run(const ts_weights *w, const char *profile, const ts_engine_options *o, const int32_t *ids,
                  int64_t T, int64_t piece, ts_trace *trace)
{
    int64_t V = w->cfg.V;
    float *logits = allocate((size_t)(T * V) * sizeof *logits);
    ts_engine *e = make(w, profile, o);
    for (int64_t t = 0; t < T; t += piece) {
        int64_t n = T - t < piece ? T - t : piece;
        assert_int_equal(ts_engine_forward(e, ids + t, n, n, logits + t * V, trace, NULL), TS_OK);
    }
    ts_engine_free(e);
    return logits;
}

static void assert_same(const float *a, const float *b, int64_t n)
{
    assert_int_equal(memcmp(a, b, (size_t)n * sizeof *a), 0);
}

static void assert_finite(const float *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        assert_true(a[i] - a[i] == 0);
}

static void draw_ids(const ts_weights *w, int32_t *ids, int64_t n)
{
    ts_generate_ints(7, 0, 0, (int32_t)w->cfg.V - 1, ids, n);
}

/* One run against all others. */
static void assert_invariant(const ts_weights *w, const char *profile)
{
    static const int64_t pieces[] = {1, 3, 7};
    static const ts_engine_options options[] = {
        {.threads = 2, .capacity = 64},
        {.threads = 1, .capacity = TOKENS, .page_seed = 5},
        {.threads = 1, .capacity = 500, .poison = true},
        {.threads = 2, .capacity = 100, .page_seed = 99, .poison = true},
    };
    int32_t ids[TOKENS];
    draw_ids(w, ids, TOKENS);
    float *whole = run(w, profile, &plain, ids, TOKENS, TOKENS, NULL);
    assert_finite(whole, TOKENS * w->cfg.V);
    for (int i = 0; i < 3; i++) {
        float *cut = run(w, profile, &plain, ids, TOKENS, pieces[i], NULL);
        assert_same(whole, cut, TOKENS * w->cfg.V);
        free(cut);
    }
    for (int i = 0; i < 4; i++) {
        float *other = run(w, profile, &options[i], ids, TOKENS, 17, NULL);
        assert_same(whole, other, TOKENS * w->cfg.V);
        free(other);
    }
    free(whole);
}

static void exact_is_invariant(void **state)
{
    (void)state;
    assert_invariant(dense, "exact");
    assert_invariant(asym, "exact");
}

static void ts_is_invariant(void **state)
{
    (void)state;
    assert_invariant(dense, "ts");
    assert_invariant(asym, "ts");
}

/* The small models are too small for threads to be woken. */
static void threads_change_nothing(void **state)
{
    (void)state;
    static const ts_engine_options two = {.threads = 2, .capacity = 64};
    int32_t ids[9];
    draw_ids(tiny, ids, 9);
    float *one = run(tiny, "ts", &plain, ids, 9, 9, NULL), *both = run(tiny, "ts", &two, ids, 9, 8, NULL);
    assert_same(one, both, 9 * tiny->cfg.V);
    free(one);
    free(both);
}

/* A made-up MLX matrix of m's shape: scale 1/256, bias that centres the codes. */
static void fake_mlx(ts_matrix *m, int bits, void *owned[3])
{
    int64_t words = m->N * m->K * bits / 32, groups = m->N * m->K / 64;
    int32_t *code = owned[0] = allocate((size_t)words * sizeof *code);
    uint16_t *scale = owned[1] = allocate((size_t)groups * sizeof *scale);
    uint16_t *bias = owned[2] = allocate((size_t)groups * sizeof *bias);
    ts_generate_ints(3, (uint32_t)bits, INT32_MIN, INT32_MAX, code, words);
    for (int64_t i = 0; i < groups; i++) {
        scale[i] = ts_f32_to_bf16(bits == 4 ? 0x1p-7f : 0x1p-11f);
        bias[i] = ts_f32_to_bf16(-0x1p-4f);
    }
    *m = (ts_matrix){.format = TS_W_MLX,
                     .N = m->N,
                     .K = m->K,
                     .data = code,
                     .bits = bits,
                     .group = 64,
                     .aux = TS_BF16,
                     .scales = scale,
                     .biases = bias};
}

/* Traced tensor `to` is the linear w, on codes, of traced tensor `from`. */
static void assert_linear(const ts_trace *trace, const char *from, const ts_matrix *w, const char *to)
{
    static int8_t code[TOKENS * 64];
    static float step[TOKENS], sum[TOKENS];
    const ts_tensor *x = ts_trace_find(trace, from), *y = ts_trace_find(trace, to);
    assert_true(x && y && x->dim[0] == TOKENS && w->K == 64);
    float *again = allocate(y->size);
    ts_schedule_run(ts_schedule_find("quantize_a64.portable"),
                    &(ts_quantize_a64_args){TOKENS, 64, x->data, code, step, sum}, 1);
    ts_schedule_run(ts_schedule_find("matmul_a64s8.portable"),
                    &(ts_matmul_a64s8_args){TOKENS, w->N, 64, code, step, sum, w, again}, 1);
    assert_same(y->data, again, TOKENS * w->N);
    free(again);
}

/* Codes are shared by the linears of one input, and never taken for those of another. */
static void assert_codes_are_of_the_input(const ts_weights *w)
{
    int32_t ids[TOKENS];
    draw_ids(w, ids, TOKENS);
    ts_trace *trace = ts_trace_new();
    assert_non_null(trace);
    free(run(w, "ts", &plain, ids, TOKENS, TOKENS, trace));
    assert_linear(trace, "layer.0.input_norm", &w->layer[0].in_qkv, "layer.0.qkv");
    assert_linear(trace, "layer.0.post_norm", &w->layer[0].gate_proj, "layer.0.gate_proj");
    assert_linear(trace, "layer.0.post_norm", &w->layer[0].up_proj, "layer.0.up_proj");
    assert_linear(trace, "final_norm", &w->head, "logits");
    ts_trace_free(trace);
}

/* Part of the linears and the embedding on codes: with those that stay bf16, every kind of linear. */
static void codes_are_invariant(void **state)
{
    (void)state;
    ts_weights w = *dense;
    void *owned[8][3];
    int32_t ids[3] = {1, 2, 3};
    w.layer = allocate((size_t)w.cfg.layers * sizeof *w.layer);
    memcpy(w.layer, dense->layer, (size_t)w.cfg.layers * sizeof *w.layer);
    fake_mlx(&w.embed, 4, owned[0]);
    fake_mlx(&w.head, 8, owned[1]);
    fake_mlx(&w.layer[0].in_qkv, 4, owned[2]);
    fake_mlx(&w.layer[0].in_a, 8, owned[3]);
    fake_mlx(&w.layer[3].k_proj, 4, owned[4]);
    fake_mlx(&w.layer[3].o_proj, 4, owned[5]);
    fake_mlx(&w.layer[0].gate_proj, 8, owned[6]);
    fake_mlx(&w.layer[0].up_proj, 4, owned[7]);
    assert_invariant(&w, "ts");
    assert_invariant(&w, "exact");
    assert_codes_are_of_the_input(&w);
    float *codes = run(&w, "ts", &plain, ids, 3, 3, NULL), *widened = run(&w, "exact", &plain, ids, 3, 3, NULL);
    assert_int_not_equal(memcmp(codes, widened, (size_t)(3 * w.cfg.V) * sizeof *codes), 0);
    free(codes);
    free(widened);
    for (int i = 0; i < 24; i++)
        free(owned[i / 3][i % 3]);
    free(w.layer);
}

/* More than one internal piece, and logits asked for across the cut at 512. */
static void long_prefill_is_invariant(void **state)
{
    (void)state;
    static const ts_engine_options o = {.threads = 1, .capacity = LONG, .page_seed = 3, .poison = true};
    static int32_t ids[LONG];
    int64_t V = dense->cfg.V;
    float *whole = allocate((size_t)(KEEP * V) * sizeof *whole),
          *tail = allocate((size_t)(KEEP * V) * sizeof *tail);
    draw_ids(dense, ids, LONG);
    ts_engine *a = make(dense, "exact", &o), *b = make(dense, "exact", &o);
    assert_int_equal(ts_engine_forward(a, ids, LONG, KEEP, whole, NULL, NULL), TS_OK);
    assert_int_equal(ts_engine_forward(b, ids, LONG - KEEP, 0, NULL, NULL, NULL), TS_OK);
    assert_int_equal(ts_engine_forward(b, ids + LONG - KEEP, KEEP, KEEP, tail, NULL, NULL), TS_OK);
    assert_same(whole, tail, KEEP * V);
    ts_engine_free(a);
    ts_engine_free(b);
    free(whole);
    free(tail);
}

static void reset_is_as_new(void **state)
{
    (void)state;
    static const ts_engine_options o = {.threads = 1, .capacity = TOKENS, .poison = true};
    int32_t ids[TOKENS];
    int64_t V = dense->cfg.V;
    float *first = allocate((size_t)V * sizeof *first), *again = allocate((size_t)V * sizeof *again);
    draw_ids(dense, ids, TOKENS);
    ts_engine *e = make(dense, "ts", &o);
    assert_int_equal(ts_engine_forward(e, ids, TOKENS, 1, first, NULL, NULL), TS_OK);
    ts_engine_reset(e);
    assert_int_equal(ts_engine_forward(e, ids, TOKENS, 1, again, NULL, NULL), TS_OK);
    assert_same(first, again, V);
    ts_engine_free(e);
    free(first);
    free(again);
}

/* The names after "layer.N.", in execution order. */
/* What was asked to be poisoned is: otherwise the invariances above say less than they seem to. */
static void free_pages_are_poisoned(void **state)
{
    (void)state;
    static const char *const profiles[] = {"exact", "ts"};
    for (int i = 0; i < 2; i++) {
        ts_engine *e = make(asym, profiles[i], &(ts_engine_options){.threads = 1, .capacity = 40, .poison = true});
        int64_t layer = 0;
        while (!asym->cfg.full[layer])
            layer++;
        ts_kv kv = ts_engine_kv(e, layer);
        float k = kv.dtype ? ts_bf16_to_f32(*(const uint16_t *)kv.k) : *(const float *)kv.k;
        float v = kv.dtype ? ts_bf16_to_f32(*(const uint16_t *)kv.v) : *(const float *)kv.v;
        assert_true(k != k && v != v);
        ts_engine_free(e);
    }
}

static const char *const linear_names[] = {"input_norm", "qkv",     "conv",   "q",     "k",     "v",   "beta",
                                           "g",          "z",       "o",      "gated", "mixer", "mid", "post_norm",
                                           "gate_proj",  "up_proj", "swiglu", "mlp",   "out"};
static const char *const full_names[] = {"input_norm", "q",       "gate",   "k",   "v",
                                         "attn",       "gated",   "mixer",  "mid", "post_norm",
                                         "gate_proj",  "up_proj", "swiglu", "mlp", "out"};

static void assert_order(const ts_trace *trace, int64_t T)
{
    size_t at = 0;
    char name[64];
    assert_string_equal(ts_trace_at(trace, at++)->name, "embed");
    for (int64_t layer = 0; layer < dense->cfg.layers; layer++) {
        bool full = dense->cfg.full[layer];
        size_t n = full ? sizeof full_names / sizeof *full_names : sizeof linear_names / sizeof *linear_names;
        for (size_t i = 0; i < n; i++) {
            const ts_tensor *t = ts_trace_at(trace, at++);
            snprintf(name, sizeof name, "layer.%lld.%s", (long long)layer, (full ? full_names : linear_names)[i]);
            assert_string_equal(t->name, name);
            assert_int_equal(t->dtype, TS_F32);
            assert_int_equal(t->dim[0], T);
        }
    }
    assert_string_equal(ts_trace_at(trace, at++)->name, "final_norm");
    assert_string_equal(ts_trace_at(trace, at++)->name, "logits");
    assert_int_equal(ts_trace_count(trace), at);
}

static void assert_shape(const ts_trace *trace, const char *name, int64_t H, int64_t D)
{
    const ts_tensor *t = ts_trace_find(trace, name);
    assert_non_null(t);
    assert_int_equal(t->ndim, H ? 3 : 2);
    assert_int_equal(t->dim[1], H ? H : D);
    assert_int_equal(t->dim[t->ndim - 1], D);
}

static void traces_do_not_depend_on_pieces(void **state)
{
    (void)state;
    const ts_config *c = &dense->cfg;
    int32_t ids[TOKENS];
    draw_ids(dense, ids, TOKENS);
    ts_trace *whole = ts_trace_new(), *cut = ts_trace_new();
    assert_true(whole && cut);
    free(run(dense, "ts", &plain, ids, TOKENS, TOKENS, whole));
    free(run(dense, "ts", &plain, ids, TOKENS, 7, cut));
    assert_order(whole, TOKENS);
    assert_order(cut, TOKENS);
    for (size_t i = 0; i < ts_trace_count(whole); i++) {
        const ts_tensor *a = ts_trace_at(whole, i), *b = ts_trace_at(cut, i);
        assert_int_equal(a->size, b->size);
        assert_int_equal(memcmp(a->data, b->data, a->size), 0);
    }
    assert_shape(whole, "layer.0.qkv", 0, 2 * c->Hk * c->Dk + c->Hv * c->Dv);
    assert_shape(whole, "layer.0.k", c->Hk, c->Dk);
    assert_shape(whole, "layer.0.z", c->Hv, c->Dv);
    assert_shape(whole, "layer.3.gate", c->Hq, c->D);
    assert_shape(whole, "layer.3.v", c->Hkv, c->D);
    assert_shape(whole, "layer.3.swiglu", 0, c->I);
    ts_trace_free(whole);
    ts_trace_free(cut);
}

/* A trace alone gets the logits too, and holds the bits the caller would. */
static void trace_has_logits_without_a_buffer(void **state)
{
    (void)state;
    int32_t ids[5];
    draw_ids(dense, ids, 5);
    float *logits = run(dense, "exact", &plain, ids, 5, 5, NULL);
    ts_trace *trace = ts_trace_new();
    ts_engine *e = make(dense, "exact", &plain);
    assert_int_equal(ts_engine_forward(e, ids, 5, 2, NULL, trace, NULL), TS_OK);
    const ts_tensor *t = ts_trace_find(trace, "logits");
    assert_non_null(t);
    assert_int_equal(t->dim[0], 2);
    assert_same(t->data, logits + 3 * dense->cfg.V, 2 * dense->cfg.V);
    ts_engine_free(e);
    ts_trace_free(trace);
    free(logits);
}

static void assert_refused(ts_engine *e, const int32_t *ids, int64_t T, int64_t rows, const char *key)
{
    ts_error err = {{0}, {0}, {0}};
    assert_int_equal(ts_engine_forward(e, ids, T, rows, NULL, NULL, &err), TS_BAD);
    assert_string_equal(err.tensor, key);
    assert_true(err.reason[0] != 0);
}

static void bad_calls_are_refused_and_harm_nothing(void **state)
{
    (void)state;
    static const ts_engine_options o = {.threads = 1, .capacity = 8};
    int32_t ids[9], negative[2] = {1, -1}, beyond[2] = {(int32_t)dense->cfg.V, 1};
    int64_t V = dense->cfg.V;
    draw_ids(dense, ids, 9);
    float *clean = run(dense, "exact", &o, ids, 8, 8, NULL), *last = allocate((size_t)V * sizeof *last);
    ts_engine *e = make(dense, "exact", &o);
    assert_refused(e, ids, 9, 0, "ids");
    assert_int_equal(ts_engine_forward(e, ids, 5, 0, NULL, NULL, NULL), TS_OK);
    assert_refused(e, ids, 0, 0, "ids");
    assert_refused(e, ids, -1, 0, "ids");
    assert_refused(e, ids, INT64_MAX, 0, "ids");
    assert_refused(e, ids, 4, 0, "ids");
    assert_refused(e, negative, 2, 1, "ids");
    assert_refused(e, beyond, 2, 1, "ids");
    assert_refused(e, ids, 2, 3, "logits");
    assert_refused(e, ids, 2, -1, "logits");
    assert_int_equal(ts_engine_forward(e, ids + 5, 3, 1, last, NULL, NULL), TS_OK);
    assert_same(last, clean + 7 * V, V);
    assert_refused(e, ids, 1, 0, "ids");
    ts_engine_free(e);
    free(clean);
    free(last);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    static const ts_engine_options bad[] = {{.threads = 0, .capacity = 8},
                                            {.threads = -1, .capacity = 8},
                                            {.threads = 1, .capacity = 0},
                                            {.threads = 1, .capacity = INT64_MAX}};
    for (int i = 0; i < 4; i++) {
        ts_engine *e = (ts_engine *)&dense;
        ts_error err = {{0}, {0}, {0}};
        assert_int_equal(ts_engine_new(dense, ts_profile_find("exact"), &bad[i], &e, &err), TS_BAD);
        assert_null(e);
        assert_string_equal(err.tensor, i < 2 ? "threads" : "capacity");
    }
    ts_engine_free(NULL);
}

static int32_t argmax(const float *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return (int32_t)best;
}

static void greedy_ids_are_the_goldens(void **state)
{
    (void)state;
    ts_safetensors *f = NULL;
    assert_int_equal(ts_safetensors_open("golden/external/tiny-qwen35-comment.safetensors", &f, NULL), TS_OK);
    const ts_tensor *prompt = ts_safetensors_find(f, "input_ids"), *greedy = ts_safetensors_find(f, "greedy_ids");
    assert_true(prompt && greedy && prompt->dim[0] <= TOKENS && greedy->dim[0] >= 8);
    int32_t ids[TOKENS];
    float *logits = allocate((size_t)tiny->cfg.V * sizeof *logits);
    ts_engine *e = make(tiny, "exact", &plain);
    int64_t n = prompt->dim[0];
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)ts_tensor_get(prompt, i);
    for (int64_t i = 0; i < greedy->dim[0]; i++) {
        assert_int_equal(ts_engine_forward(e, ids, n, 1, logits, NULL, NULL), TS_OK);
        ids[0] = argmax(logits, tiny->cfg.V);
        n = 1;
        assert_int_equal(ids[0], (int32_t)ts_tensor_get(greedy, i));
    }
    ts_engine_free(e);
    ts_safetensors_close(f);
    free(logits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_ids_are_the_goldens),
        cmocka_unit_test(exact_is_invariant),
        cmocka_unit_test(ts_is_invariant),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(codes_are_invariant),
        cmocka_unit_test(long_prefill_is_invariant),
        cmocka_unit_test(reset_is_as_new),
        cmocka_unit_test(free_pages_are_poisoned),
        cmocka_unit_test(traces_do_not_depend_on_pieces),
        cmocka_unit_test(trace_has_logits_without_a_buffer),
        cmocka_unit_test(bad_calls_are_refused_and_harm_nothing),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
