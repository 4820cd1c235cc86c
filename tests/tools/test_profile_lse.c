/* Profile lse over a whole model: the number of rows picks the class of every product of 4-bit codes and the form
 * in which q and k are normed. Cut otherwise, a pass gives other bits exactly where that picks differently. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/folder.h"
#include "num/generate.h"
#include "quantize.h"
#include "ref.h"

static folder codes;
static ts_weights *model[2]; /* the first four layers of the tiny model in 4 and in 8 bits */
static int64_t layers;       /* that there are */

static int setup(void **state)
{
    (void)state;
    folder_make(&codes);
    for (int i = 0; i < 2; i++) {
        char to[FOLDER_PATH];
        folder_file(&codes, i == 0 ? "4" : "8", to);
        const ts_quantize_options o = {.bits = i == 0 ? 4 : 8, .group = 64};
        assert_int_equal(ts_quantize("golden/models/tiny-qwen35", to, &o, NULL), TS_OK);
        assert_int_equal(ts_weights_load(to, &model[i], NULL), TS_OK);
        layers = model[i]->cfg.layers;
        model[i]->cfg.layers = 4;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        folder f;
        model[i]->cfg.layers = layers; /* all are freed */
        ts_weights_free(model[i]);
        snprintf(f.path, sizeof f.path, "%.50s/%s", codes.path, i == 0 ? "4" : "8");
        folder_remove(&f);
    }
    folder_remove(&codes);
    return 0;
}

/* Everything that M rows compute, cut into pieces of that many. To be freed. */
static ts_trace *traced(const ts_weights *w, const ts_profile *p, int64_t M, int64_t piece)
{
    ts_ref_model *m;
    ts_ref_state *s;
    ts_trace *t = ts_trace_new();
    int32_t ids[64];
    assert_true(t && M <= 64);
    for (int i = 0; i < M; i++)
        ids[i] = (int32_t)((i * 37 + i / 9) % w->cfg.V);
    assert_int_equal(ts_ref32.model_new(w, p, &m, NULL), TS_OK);
    assert_int_equal(ts_ref32.state_new(m, M, &s, NULL), TS_OK);
    for (int64_t i = 0; i < M; i += piece)
        assert_int_equal(ts_ref32.forward(m, s, ids + i, piece, 0, NULL, t, NULL), TS_OK);
    ts_ref32.state_free(s);
    ts_ref32.model_free(m);
    return t;
}

static bool agrees(const ts_trace *a, const ts_trace *b, const char *name)
{
    const ts_tensor *x = ts_trace_find(a, name), *y = ts_trace_find(b, name);
    assert_true(x && y && x->size == y->size);
    return memcmp(x->data, y->data, x->size) == 0;
}

typedef struct {
    int64_t whole, piece;
    bool products, norms; /* do they agree? */
} cut;

/* Layer 0 is linear: what lies before its first product, the product, the norm of q and k, and all that follows. */
static void assert_cut(const ts_weights *w, const ts_profile *p, cut c)
{
    ts_trace *a = traced(w, p, c.whole, c.whole), *b = traced(w, p, c.whole, c.piece);
    const bool all = c.products && c.norms;
    static const char *const products[] = {"layer.0.qkv", "layer.0.z", "layer.0.v"};
    static const char *const norms[] = {"layer.0.q", "layer.0.k", "layer.3.out", "final_norm"};
    assert_true(agrees(a, b, "embed") && agrees(a, b, "layer.0.input_norm"));
    for (int i = 0; i < 3; i++)
        if (agrees(a, b, products[i]) != c.products)
            fail_msg("%s: %s of %lld rows in pieces of %lld", p->name, products[i], (long long)c.whole,
                     (long long)c.piece);
    for (int i = 0; i < 4; i++)
        if (agrees(a, b, norms[i]) != all)
            fail_msg("%s: %s of %lld rows in pieces of %lld", p->name, norms[i], (long long)c.whole,
                     (long long)c.piece);
    ts_trace_free(a);
    ts_trace_free(b);
}

enum { FEW = 4 }; /* of the cuts below, where one will do */

/* A8 up to 8 rows, exact up to 15, then A64: the shapes of this model are split for no number of rows. */
static const cut cuts[] = {
    {4, 1, true, false}, {12, 4, false, true}, {16, 1, false, false}, {16, 8, false, true}, {4, 2, true, true},
    {8, 4, true, true},  {18, 9, false, true}, {20, 10, false, true}, {32, 16, true, true},
};

static void bits_follow_the_rows(void **state)
{
    (void)state;
    const ts_profile *lse = ts_profile_find("lse");
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        assert_cut(model[0], lse, cuts[i]);
}

/* Of codes of 8 bits every class is one: they are widened. */
static void other_weights_have_one_class(void **state)
{
    (void)state;
    const ts_profile *lse = ts_profile_find("lse");
    for (size_t i = 0; i < FEW; i++)
        assert_cut(model[1], lse, (cut){cuts[i].whole, cuts[i].piece, true, cuts[i].norms});
}

static void the_house_has_one_class(void **state)
{
    (void)state;
    const ts_profile *ts = ts_profile_find("ts");
    for (size_t i = 0; i < FEW; i++)
        for (int k = 0; k < 2; k++)
            assert_cut(model[k], ts, (cut){cuts[i].whole, cuts[i].piece, true, true});
}

/* The eras part at 16 rows, the class of v0.5.4 differs from that of 8 and 12, and agrees with itself. */
static void eras_part_at_sixteen_rows(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 8, 15, 16, 17};
    ts_profile a = *ts_profile_find("lse"), b = a;
    assert_true(a.linear == TS_LINEAR_LSE_A && ts_profile_change(&b, "linear=lse_b"));
    for (int i = 0; i < 5; i++) {
        ts_trace *x = traced(model[0], &a, rows[i], rows[i]), *y = traced(model[0], &b, rows[i], rows[i]);
        assert_int_equal(agrees(x, y, "layer.0.qkv"), rows[i] < 16);
        assert_int_equal(agrees(x, y, "final_norm"), rows[i] < 16);
        ts_trace_free(x);
        ts_trace_free(y);
    }
    for (size_t i = 0; i < FEW; i++)
        assert_cut(model[0], &b, cuts[i]);
}

/* The delta rule of v0.5.4 scans rows from 16 on, in layer 0 after the same products and norms. */
static void the_delta_rule_has_eras_too(void **state)
{
    (void)state;
    ts_profile a = *ts_profile_find("lse"), b = a;
    assert_true(ts_profile_change(&b, "gdn=lse_b"));
    for (int64_t rows = 15; rows <= 17; rows++) {
        ts_trace *x = traced(model[0], &a, rows, rows), *y = traced(model[0], &b, rows, rows);
        assert_true(agrees(x, y, "layer.0.q") && agrees(x, y, "layer.0.g"));
        assert_int_equal(agrees(x, y, "layer.0.o"), rows < 16);
        ts_trace_free(x);
        ts_trace_free(y);
    }
}

/* A matrix [N,K] of random codes; its data and scales are to be freed. */
static void fill(ts_matrix *m, int64_t N, int64_t K)
{
    uint32_t *word = malloc((size_t)(N * K / 2));
    uint16_t *aux = malloc((size_t)(N * K / 32) * sizeof *aux);
    assert_true(word && aux);
    ts_generate_ints(3, 2, INT32_MIN, INT32_MAX, (int32_t *)word, N * K / 8);
    for (int64_t i = 0; i < N * K / 32; i++)
        aux[i] = (uint16_t)(0x3a80 + i % 61); /* near 2^-10 */
    *m = (ts_matrix){.format = TS_W_MLX,
                     .N = N,
                     .K = K,
                     .data = word,
                     .bits = 4,
                     .group = 64,
                     .aux = TS_BF16,
                     .scales = aux,
                     .biases = aux + N * K / 64};
}

/* Where no split of K fits the local memory, class A8 is not to be had: eight rows of 25600 columns run exactly. */
static void what_cannot_be_staged_is_exact(void **state)
{
    (void)state;
    enum { T = 8, I = 25600 };
    ts_weights *w = model[0];
    ts_layer *l = &w->layer[0];
    const ts_layer before = *l;
    const int64_t some = w->cfg.layers, width = w->cfg.I;
    ts_matrix *const made[] = {&l->gate_proj, &l->up_proj, &l->down_proj};
    float *y = malloc((size_t)(T * w->cfg.C) * sizeof *y);
    assert_non_null(y);
    for (int i = 0; i < 3; i++)
        fill(made[i], i < 2 ? I : w->cfg.C, i < 2 ? w->cfg.C : I);
    w->cfg.layers = 1;
    w->cfg.I = I;
    ts_trace *t = traced(w, ts_profile_find("lse"), T, T);
    const ts_tensor *act = ts_trace_find(t, "layer.0.swiglu"), *mlp = ts_trace_find(t, "layer.0.mlp");
    assert_true(act && mlp && mlp->size == (size_t)(T * w->cfg.C) * sizeof *y);
    ts_ref32.op(TS_OP_MATMUL_LSE_EX,
                &(ts_matmul_args){.T = T, .N = w->cfg.C, .K = I, .x = act->data, .w = &l->down_proj, .y = y});
    assert_memory_equal(mlp->data, y, mlp->size);
    ts_trace_free(t);
    free(y);
    for (int i = 0; i < 3; i++) {
        free((void *)(uintptr_t)made[i]->data);
        free((void *)(uintptr_t)made[i]->scales);
    }
    *l = before;
    w->cfg.layers = some;
    w->cfg.I = width;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_follow_the_rows),        cmocka_unit_test(other_weights_have_one_class),
        cmocka_unit_test(the_house_has_one_class),     cmocka_unit_test(eras_part_at_sixteen_rows),
        cmocka_unit_test(the_delta_rule_has_eras_too), cmocka_unit_test(what_cannot_be_staged_is_exact),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
