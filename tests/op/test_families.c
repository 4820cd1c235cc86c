/* Qwen3.5-MoE, Qwen3-Next and Kimi-Linear in ref32: a row's bits depend neither on how many rows run with it nor on
 * what a state has been through. */
#include "call.h"

#include "config/weights.h"

enum { T = 23 };

static const char *const families[] = {"rand-qwen35-moe", "rand-qwen3-next-moe", "rand-kimi-linear"};

static ts_weights *load(const char *name)
{
    char config[96], file[96];
    ts_weights *w;
    snprintf(config, sizeof config, "golden/external/%s-config.json", name);
    snprintf(file, sizeof file, "golden/external/%s-weights.safetensors", name);
    assert_int_equal(ts_weights_load_files(config, file, &w, NULL), TS_OK);
    return w;
}

/* All rows of logits [T,V], in pieces of that many. */
static float *rows(const ts_weights *w, const ts_profile *p, int64_t piece)
{
    const int64_t V = w->cfg.V;
    float *z = floats(T * V);
    ts_ref_model *m;
    ts_ref_state *s;
    int32_t ids[T];
    for (int i = 0; i < T; i++)
        ids[i] = (int32_t)((i * 37 + 5) % V);
    assert_int_equal(ts_ref32.model_new(w, p, &m, NULL), TS_OK);
    assert_int_equal(ts_ref32.state_new(m, T, &s, NULL), TS_OK);
    for (int64_t t = 0, n; t < T; t += n) {
        n = T - t < piece ? T - t : piece;
        assert_int_equal(ts_ref32.forward(m, s, ids + t, n, n, z + t * V, NULL, NULL), TS_OK);
    }
    ts_ref32.state_free(s);
    ts_ref32.model_free(m);
    return z;
}

static void pieces_change_nothing(void **state)
{
    (void)state;
    ts_profile profile[] = {*ts_profile_find("ts"), *ts_profile_find("exact"), *ts_profile_find("ts")};
    const int64_t piece[] = {1, 5};
    assert_true(ts_profile_change(&profile[2], "kv=fp8-e4m3"));
    for (int f = 0; f < 3; f++)
        for (int p = 0; p < 3; p++) {
            ts_weights *w = load(families[f]);
            float *whole = rows(w, &profile[p], T);
            for (int i = 0; i < 2; i++) {
                float *cut = rows(w, &profile[p], piece[i]);
                assert_memory_equal(whole, cut, (size_t)(T * w->cfg.V) * sizeof *cut);
                free(cut);
            }
            free(whole);
            ts_weights_free(w);
        }
}

/* The state of `s` and of one that has run n tokens one by one, bit for bit. */
static void compare_state(const ts_ref_model *m, const ts_ref_state *s, const int32_t *ids, int64_t n)
{
    ts_ref_state *plain;
    ts_trace *a = ts_trace_new(), *b = ts_trace_new();
    assert_int_equal(ts_ref32.state_new(m, T, &plain, NULL), TS_OK);
    for (int64_t t = 0; t < n; t++)
        assert_int_equal(ts_ref32.forward(m, plain, ids + t, 1, 0, NULL, NULL, NULL), TS_OK);
    ts_ref32.state_trace(m, s, "", a);
    ts_ref32.state_trace(m, plain, "", b);
    assert_int_equal(ts_trace_count(a), ts_trace_count(b));
    for (size_t i = 0; i < ts_trace_count(a); i++) {
        const ts_tensor *x = ts_trace_at(a, i), *y = ts_trace_at(b, i);
        assert_int_equal(x->size, y->size);
        assert_memory_equal(x->data, y->data, x->size);
    }
    ts_trace_free(a);
    ts_trace_free(b);
    ts_ref32.state_free(plain);
}

/* A pass of eight rows, undone row by row. */
static void passes_can_be_undone(void **state)
{
    (void)state;
    enum { P = 6, ROWS = 8 };
    for (int f = 0; f < 3; f++) {
        ts_weights *w = load(families[f]);
        ts_ref_model *m;
        ts_ref_state *s;
        int32_t ids[T];
        for (int i = 0; i < T; i++)
            ids[i] = (int32_t)((i * 41 + 3) % w->cfg.V);
        assert_int_equal(ts_ref32.model_new(w, ts_profile_find("ts"), &m, NULL), TS_OK);
        assert_int_equal(ts_ref32.state_new(m, T, &s, NULL), TS_OK);
        assert_int_equal(ts_ref32.state_keep(m, s, ROWS, NULL), TS_OK);
        assert_int_equal(ts_ref32.forward(m, s, ids, P, 0, NULL, NULL, NULL), TS_OK);
        assert_int_equal(ts_ref32.forward(m, s, ids + P, ROWS, 0, NULL, NULL, NULL), TS_OK);
        for (int64_t keep = ROWS; keep >= 1; keep--) {
            assert_int_equal(ts_ref32.state_rewind(m, s, P + keep, NULL), TS_OK);
            compare_state(m, s, ids, P + keep);
        }
        assert_int_equal(ts_ref32.state_rewind(m, s, P, NULL), TS_BAD);
        ts_ref32.state_free(s);
        ts_ref32.model_free(m);
        ts_weights_free(w);
    }
}

/* Latent attention whose values are wider than its queries and keys: 40 channels against 16 + 8. */
static void values_may_be_wider_than_keys(void **state)
{
    (void)state;
    ts_weights *w = load("rand-kimi-linear");
    const int64_t Dm = 40, N = w->cfg.Hq * (w->cfg.Dn + Dm), K = w->cfg.Hq * Dm;
    float *kv_b = floats(N * w->cfg.rank), *o_proj = floats(w->cfg.C * K);
    ts_generate("normal:0.1", 3, 0, kv_b, N * w->cfg.rank, NULL);
    ts_generate("normal:0.1", 3, 1, o_proj, w->cfg.C * K, NULL);
    w->cfg.Dm = Dm;
    for (int64_t i = 0; i < w->cfg.layers; i++)
        if (w->cfg.full[i]) {
            w->layer[i].kv_b = (ts_matrix){.format = TS_W_F32, .N = N, .K = w->cfg.rank, .data = kv_b};
            w->layer[i].o_proj = (ts_matrix){.format = TS_W_F32, .N = w->cfg.C, .K = K, .data = o_proj};
        }
    float *whole = rows(w, ts_profile_find("ts"), T), *cut = rows(w, ts_profile_find("ts"), 1);
    assert_memory_equal(whole, cut, (size_t)(T * w->cfg.V) * sizeof *cut);
    free(whole);
    free(cut);
    free(kv_b);
    free(o_proj);
    ts_weights_free(w);
}

static void assert_refused(const char *family, const ts_profile *p)
{
    ts_weights *w = load(family);
    ts_ref_model *m;
    ts_error err = {0};
    assert_int_equal(ts_ref32.model_new(w, p, &m, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "is not defined for"));
    ts_weights_free(w);
}

/* By what is chosen, not by a name. */
static void replays_of_dense_engines_are_refused(void **state)
{
    (void)state;
    const char *const others[] = {"hf", "ggml", "mlx", "lse"};
    const char *const changes[] = {"gdn=chunk64_prefill", "linear=lse_a", "norm=rmsnorm_lse", "stream=bf16"};
    for (int f = 0; f < 3; f++)
        for (int p = 0; p < 4; p++) {
            ts_profile ts = *ts_profile_find("ts");
            assert_true(ts_profile_change(&ts, changes[p]));
            assert_refused(families[f], ts_profile_find(others[p]));
            assert_refused(families[f], &ts);
        }
}

/* A KV cache is the house's own choice, whatever the profile is called then. */
static void every_cache_is_had(void **state)
{
    (void)state;
    static const char *const changes[] = {"kv=real", "kv=f16", "kv=fp8-e4m3", "kv=fp8-e5m2", "linear=dot32"};
    for (int f = 0; f < 3; f++)
        for (int i = 0; i < 5; i++) {
            ts_weights *w = load(families[f]);
            ts_profile p = *ts_profile_find("ts");
            ts_ref_model *m;
            assert_true(ts_profile_change(&p, changes[i]));
            p.name = "ts, changed";
            assert_int_equal(ts_ref32.model_new(w, &p, &m, NULL), TS_OK);
            ts_ref32.model_free(m);
            ts_weights_free(w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_change_nothing),
        cmocka_unit_test(passes_can_be_undone),
        cmocka_unit_test(values_may_be_wider_than_keys),
        cmocka_unit_test(replays_of_dense_engines_are_refused),
        cmocka_unit_test(every_cache_is_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
