/* The gated delta rule: step and chunk form against float64 goldens that other
 * software made, against each other, and against plain codings. */
#include "call.h"

typedef struct {
    ts_gdn_args a; /* without arrays */
    double *q, *k, *v, *g, *beta, *state0, *state, *o;
    double *golden_o, *golden_state;
} problem;

static int64_t count_q(const problem *p)
{
    return p->a.T * p->a.Hk * p->a.Dk;
}

static int64_t count_v(const problem *p)
{
    return p->a.T * p->a.Hv * p->a.Dv;
}

static int64_t count_state(const problem *p)
{
    return p->a.Hv * p->a.Dk * p->a.Dv;
}

static void release(problem *p)
{
    double *all[] = {p->q, p->k, p->v, p->g, p->beta, p->state0, p->state, p->o, p->golden_o, p->golden_state};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* x <- l2norm(x) * scale by ref64 */
static void normalise(double *x, int64_t T, int64_t H, int64_t D, double scale)
{
    ts_l2norm_args a = {T, H, D, 1e-6, scale, ts_f64(x), ts_f64(x)};
    ts_ref64.op(TS_OP_L2NORM, &a);
}

/* Rows first .. first+T-1 of p in ref64. */
static void run64(ts_op_id id, problem *p, int64_t first, int64_t T)
{
    ts_gdn_args a = p->a;
    a.T = T;
    a.pos = p->a.pos + first;
    a.q = ts_f64(p->q + first * a.Hk * a.Dk);
    a.k = ts_f64(p->k + first * a.Hk * a.Dk);
    a.v = ts_f64(p->v + first * a.Hv * a.Dv);
    a.g = ts_f64(p->g + first * a.Hv);
    a.beta = ts_f64(p->beta + first * a.Hv);
    a.state = ts_f64(p->state);
    a.o = ts_f64(p->o + first * a.Hv * a.Dv);
    ts_ref64.op(id, &a);
}

static void whole64(ts_op_id id, problem *p)
{
    memcpy(p->state, p->state0, (size_t)count_state(p) * sizeof(double));
    run64(id, p, 0, p->a.T);
}

static problem from_golden(const ts_safetensors *f, const char *name)
{
    problem p = {0};
    const ts_tensor *k = golden_tensor(f, name, "k"), *v = golden_tensor(f, name, "v");
    p.a = (ts_gdn_args){.T = k->dim[0], .Hk = k->dim[1], .Dk = k->dim[2], .Hv = v->dim[1], .Dv = v->dim[2]};
    p.q = golden_f64(f, name, "q");
    p.k = golden_f64(f, name, "k");
    p.v = golden_f64(f, name, "v");
    p.g = golden_f64(f, name, "g");
    p.beta = golden_f64(f, name, "beta");
    p.state0 = golden_tensor(f, name, "state0") ? golden_f64(f, name, "state0") : doubles(count_state(&p));
    p.state = doubles(count_state(&p));
    p.o = doubles(count_v(&p));
    p.golden_o = golden_f64(f, name, "o");
    p.golden_state = golden_f64(f, name, "state");
    normalise(p.q, p.a.T, p.a.Hk, p.a.Dk, 1 / sqrt((double)p.a.Dk));
    normalise(p.k, p.a.T, p.a.Hk, p.a.Dk, 1);
    return p;
}

static void outside_goldens(void **state)
{
    (void)state;
    ts_safetensors *f = golden_open("golden/external/ops-delta-rule.safetensors");
    double worst[2] = {0};
    int cases = 0;
    for (char name[16]; cases < 10; cases++) {
        snprintf(name, sizeof name, "gdn.%02d", cases);
        problem p = from_golden(f, name);
        for (int form = 0; form < 2; form++) {
            whole64(form ? TS_OP_GDN_CHUNK64 : TS_OP_GDN_STEP, &p);
            double d = fmax(distance(p.o, p.golden_o, count_v(&p)),
                            distance(p.state, p.golden_state, count_state(&p)));
            worst[form] = fmax(worst[form], d);
        }
        release(&p);
    }
    print_message("%d goldens: step within %.2g, chunk within %.2g of the largest value\n", cases, worst[0],
                  worst[1]);
    assert_true(worst[0] <= 2e-13 && worst[1] <= 2e-13);
    ts_safetensors_close(f);
}

static double *scaled(const char *spec, uint32_t stream, int64_t n, double scale, double shift)
{
    float *x = generated(spec, stream, n);
    double *y = widened(x, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = y[i] * scale + shift;
    free(x);
    return y;
}

/* Normal q, k (normalised) and v, g in -0.5..0, beta in 0..1, a state that is not zero. */
static problem made(int64_t T, int64_t Hk, int64_t Hv, int64_t Dk, int64_t Dv, int64_t pos)
{
    problem p = {.a = {.T = T, .Hk = Hk, .Hv = Hv, .Dk = Dk, .Dv = Dv, .pos = pos}};
    p.q = scaled("normal", 1, count_q(&p), 1, 0);
    p.k = scaled("normal", 2, count_q(&p), 1, 0);
    p.v = scaled("normal", 3, count_v(&p), 1, 0);
    p.g = scaled("uniform:0:1", 4, T * Hv, -0.5, 0);
    p.beta = scaled("uniform:0:1", 5, T * Hv, 1, 0);
    p.state0 = scaled("normal", 6, count_state(&p), 0.25, 0);
    p.state = doubles(count_state(&p));
    p.o = doubles(count_v(&p));
    normalise(p.q, T, Hk, Dk, 1 / sqrt((double)Dk));
    normalise(p.k, T, Hk, Dk, 1);
    return p;
}

/* The chunk form equals the step wherever chunks fall; heads share keys; Dk, Dv beyond one block. */
static void chunk_equals_step(void **state)
{
    (void)state;
    const int64_t shape[][6] = {
        {1, 1, 1, 16, 16, 0},   {63, 1, 2, 16, 16, 0}, {64, 2, 2, 16, 16, 0},   {65, 1, 1, 16, 16, 0},
        {130, 2, 4, 32, 16, 0}, {1, 1, 3, 16, 16, 63}, {65, 1, 1, 16, 8, 1},    {130, 1, 2, 16, 16, 37},
        {70, 1, 2, 70, 130, 5}, {64, 1, 1, 1, 1, 32},  {200, 1, 1, 8, 8, 4095},
    };
    double worst = 0;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        const int64_t *s = shape[i];
        problem p = made(s[0], s[1], s[2], s[3], s[4], s[5]);
        whole64(TS_OP_GDN_STEP, &p);
        double *o = doubles(count_v(&p)), *S = doubles(count_state(&p));
        memcpy(o, p.o, (size_t)count_v(&p) * sizeof *o);
        memcpy(S, p.state, (size_t)count_state(&p) * sizeof *S);
        whole64(TS_OP_GDN_CHUNK64, &p);
        worst = fmax(worst, fmax(distance(p.o, o, count_v(&p)), distance(p.state, S, count_state(&p))));
        free(o);
        free(S);
        release(&p);
    }
    print_message("chunk against step: within %.2g\n", worst);
    assert_true(worst <= 1e-13);
}

/* A prompt cut into pieces gives the bits of the whole: anywhere for the step, at absolute multiples of 64
 * for the chunk form. */
static void pieces(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        ts_op_id id = form ? TS_OP_GDN_CHUNK64 : TS_OP_GDN_STEP;
        const int64_t cut[2][3] = {{1, 5, 100}, {27, 91, 155}}; /* pos 37: 37+27 = 64 */
        problem p = made(170, 1, 2, 16, 24, 37);
        whole64(id, &p);
        double *o = doubles(count_v(&p)), *S = doubles(count_state(&p));
        memcpy(o, p.o, (size_t)count_v(&p) * sizeof *o);
        memcpy(S, p.state, (size_t)count_state(&p) * sizeof *S);
        memcpy(p.state, p.state0, (size_t)count_state(&p) * sizeof *S);
        for (int i = 0; i <= 3; i++) {
            int64_t from = i ? cut[form][i - 1] : 0, to = i < 3 ? cut[form][i] : p.a.T;
            run64(id, &p, from, to - from);
        }
        assert_memory_equal(p.o, o, (size_t)count_v(&p) * sizeof *o);
        assert_memory_equal(p.state, S, (size_t)count_state(&p) * sizeof *S);
        free(o);
        free(S);
        release(&p);
    }
}

/* g = 0 is the ungated rule S = S + k (v - S^T k)^T beta, here in the order of the step but without a decay.
 */
static void delta_rule(double *S, const problem *p, double *o)
{
    const int64_t Dk = p->a.Dk, Dv = p->a.Dv;
    for (int64_t t = 0; t < p->a.T; t++)
        for (int64_t j = 0; j < Dv; j++) {
            double recalled = 0, sum = 0;
            for (int64_t i = 0; i < Dk; i++)
                recalled = fma(p->k[t * Dk + i], S[i * Dv + j], recalled);
            double d = (p->v[t * Dv + j] - recalled) * p->beta[t];
            for (int64_t i = 0; i < Dk; i++) {
                S[i * Dv + j] = fma(p->k[t * Dk + i], d, S[i * Dv + j]);
                sum = fma(p->q[t * Dk + i], S[i * Dv + j], sum);
            }
            o[t * Dv + j] = sum;
        }
}

static void no_decay(void **state)
{
    (void)state;
    problem p = made(70, 1, 1, 24, 80, 0);
    memset(p.g, 0, (size_t)p.a.T * sizeof *p.g);
    double *o = doubles(count_v(&p)), *S = doubles(count_state(&p));
    memcpy(S, p.state0, (size_t)count_state(&p) * sizeof *S);
    delta_rule(S, &p, o);
    whole64(TS_OP_GDN_STEP, &p);
    assert_memory_equal(p.o, o, (size_t)count_v(&p) * sizeof *o);
    assert_memory_equal(p.state, S, (size_t)count_state(&p) * sizeof *S);
    whole64(TS_OP_GDN_CHUNK64, &p);
    assert_true(distance(p.o, o, count_v(&p)) <= 1e-13);
    free(o);
    free(S);
    release(&p);
}

/* ref32 with every rounding, one head pair at a time, written once more without blocks. */
static void plain32(const ts_gdn_args *a, float *S, float *o)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hv; h++) {
            const float *q = a->q + (t * a->Hk + h * a->Hk / a->Hv) * a->Dk;
            const float *k = a->k + (t * a->Hk + h * a->Hk / a->Hv) * a->Dk;
            float decay;
            ts_map_args e = {1, &a->g[t * a->Hv + h], &decay};
            ts_ref32.op(TS_OP_EXP, &e);
            for (int64_t j = 0; j < a->Dv; j++) {
                float p = 0, y = 0, *s = S + h * a->Dk * a->Dv + j;
                for (int64_t i = 0; i < a->Dk; i++)
                    s[i * a->Dv] *= decay;
                for (int64_t i = 0; i < a->Dk; i++)
                    p = fmaf(k[i], s[i * a->Dv], p);
                float d = (a->v[(t * a->Hv + h) * a->Dv + j] - p) * a->beta[t * a->Hv + h];
                for (int64_t i = 0; i < a->Dk; i++)
                    s[i * a->Dv] = fmaf(k[i], d, s[i * a->Dv]);
                for (int64_t i = 0; i < a->Dk; i++)
                    y = fmaf(q[i], s[i * a->Dv], y);
                o[(t * a->Hv + h) * a->Dv + j] = y;
            }
        }
}

static ts_gdn_args made32(int64_t T, int64_t Hk, int64_t Hv, int64_t Dk, int64_t Dv)
{
    ts_gdn_args a = {.T = T, .Hk = Hk, .Hv = Hv, .Dk = Dk, .Dv = Dv};
    a.q = generated("normal:0.125", 1, T * Hk * Dk);
    a.k = generated("normal:0.125", 2, T * Hk * Dk);
    a.v = generated("normal", 3, T * Hv * Dv);
    a.g = generated("uniform:-0.5:0", 4, T * Hv);
    a.beta = generated("uniform:0:1", 5, T * Hv);
    a.state = generated("normal:0.25", 6, Hv * Dk * Dv);
    a.o = floats(T * Hv * Dv);
    return a;
}

static void release32(ts_gdn_args *a)
{
    const float *all[] = {a->q, a->k, a->v, a->g, a->beta, a->state, a->o};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free((void *)all[i]);
}

static void step32_to_the_bit(void **state)
{
    (void)state;
    ts_gdn_args a = made32(9, 2, 6, 20, 70);
    float *S = copied(a.state, a.Hv * a.Dk * a.Dv), *o = floats(a.T * a.Hv * a.Dv);
    plain32(&a, S, o);
    ts_ref32.op(TS_OP_GDN_STEP, &a);
    same_bits(a.o, o, a.T * a.Hv * a.Dv);
    same_bits(a.state, S, a.Hv * a.Dk * a.Dv);
    free(S);
    free(o);
    release32(&a);
}

/* A NaN in column j of v stays in column j, in both forms; g > 0 grows the state. */
static void hostile_values(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        ts_gdn_args a = made32(3, 1, 1, 16, 16);
        ((float *)a.v)[5] = NAN;
        ts_ref32.op(form ? TS_OP_GDN_CHUNK64 : TS_OP_GDN_STEP, &a);
        for (int64_t i = 0; i < a.T * a.Dv; i++)
            assert_int_equal(isnan(a.o[i]) != 0, i % a.Dv == 5);
        release32(&a);
        problem p = made(1, 1, 1, 16, 16, 0);
        p.g[0] = 3;
        p.beta[0] = 0;
        whole64(form ? TS_OP_GDN_CHUNK64 : TS_OP_GDN_STEP, &p);
        for (int64_t i = 0; i < count_state(&p); i++)
            assert_true(p.state[i] == p.state0[i] * exp(3));
        release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_goldens), cmocka_unit_test(chunk_equals_step), cmocka_unit_test(pieces),
        cmocka_unit_test(no_decay),        cmocka_unit_test(step32_to_the_bit), cmocka_unit_test(hostile_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
