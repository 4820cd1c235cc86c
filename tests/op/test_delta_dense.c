/* The delta rule coded a second time with no recurrence at all: for every head the whole sequence is one lower
 * triangular system in long double. Step and chunk forms of both precisions must be within what their own roundings
 * allow, for gates that change inside chunks, beta up to 2, several heads, K != V and a start inside a chunk. Then
 * what speculation needs: a state kept after each token is a state to go on from, and rows committed late are the
 * rows that ran. */
enum { T = 100, HK = 2, HV = 4 };

#include "delta.h"

static float none(int t, int h, int c)
{
    (void)t, (void)h, (void)c;
    return 0;
}

static float alternating(int t, int h, int c)
{
    return (t + h + c) % 2 ? -20.0F : 0;
}

static float cliff(int t, int h, int c)
{
    return t == 50 + h + c ? -120.0F : -1e-3F;
}

/* Strong ones where blocks of 16 rows meet, whichever position they are counted from */
static float seams(int t, int h, int c)
{
    return t % 16 == (15 + h) % 16 ? -88.0F : -1e-4F * (float)(1 + c);
}

static float falling(int t, int h, int c)
{
    return -0.01F * (float)(t % 40) * (float)(1 + h + c % 3);
}

static float split(int t, int h, int c)
{
    (void)t;
    return (h + c) % 2 ? -120.0F : -1e-2F;
}

static gate *const gates[] = {none, alternating, cliff, seams, falling, split};
enum { GATES = sizeof gates / sizeof *gates };

static const form forms[] = {
    {TS_OP_GDN_STEP, false, 1},       {TS_OP_GDN_CHUNK, false, 2},    {TS_OP_GDN_CHUNK, false, 16},
    {TS_OP_GDN_CHUNK, false, 32},     {TS_OP_GDN_CHUNK64, false, 64}, {TS_OP_GDN_CHUNK, false, 256},
    {TS_OP_KDA_STEP, true, 1},        {TS_OP_KDA_CHUNK, true, 4},     {TS_OP_KDA_CHUNK, true, 16},
    {TS_OP_KDA_CHUNK, true, 64},      {TS_OP_KDA_CHUNK, true, 128},   {TS_OP_KDA_CHUNK, true, 256},
    {TS_OP_KDA_CHUNK_EXP2, true, 64},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* One head of the second coding: what the equations over solve() name. */
typedef struct {
    const scene *s;
    bool per_channel;
    int h;
    long double A[T][T], P[T][T], X[T][DV], o[T][DV], state[DK][DV];
} dense;

static long double gate_at(const dense *d, int t, int c)
{
    const int at = t * HV + d->h;
    return (long double)(d->per_channel ? d->s->g[at * DK + c] : d->s->flat[at]);
}

static long double key(const dense *d, const float *x, int t, int c)
{
    return (long double)x[(t * HK + d->h / (HV / HK)) * DK + c];
}

static long double beta(const dense *d, int t)
{
    return (long double)d->s->beta[t * HV + d->h];
}

static long double start(const dense *d, int c, int j)
{
    return (long double)d->s->state[(d->h * DK + c) * DV + j];
}

/* Row i of what keys and queries see: A and P from earlier rows, X and o from the state of before the first. */
static void row(dense *d, int i)
{
    for (int c = 0; c < DK; c++) {
        const long double k = key(d, d->s->k, i, c) * beta(d, i), q = key(d, d->s->q, i, c);
        long double G = 0;
        for (int j = i; j >= 0; G += gate_at(d, j--, c)) {
            const long double kj = key(d, d->s->k, j, c) * expl(G);
            d->P[i][j] += q * kj;
            d->A[i][j] += j < i ? k * kj : 0;
        }
        for (int j = 0; j < DV; j++) {
            d->X[i][j] -= k * expl(G) * start(d, c, j);
            d->o[i][j] += q * expl(G) * start(d, c, j);
        }
    }
}

/* (I + A) X = beta (V - (K exp G) S0),  O = (Q exp G) S0 + P X,  S = exp(G_T) S0 + (K exp(G_T - G))^T X */
static void solve(dense *d, const scene *s, bool per_channel, int h)
{
    memset(d, 0, sizeof *d);
    d->s = s;
    d->per_channel = per_channel;
    d->h = h;
    for (int i = 0; i < T; i++) {
        row(d, i);
        for (int j = 0; j < DV; j++) {
            d->X[i][j] += beta(d, i) * (long double)s->v[(i * HV + h) * DV + j];
            for (int r = 0; r < i; r++)
                d->X[i][j] -= d->A[i][r] * d->X[r][j];
            for (int r = 0; r <= i; r++)
                d->o[i][j] += d->P[i][r] * d->X[r][j];
        }
    }
    for (int c = 0; c < DK; c++) {
        long double G = 0;
        for (int t = T - 1; t >= 0; G += gate_at(d, t--, c))
            for (int j = 0; j < DV; j++)
                d->state[c][j] += key(d, s->k, t, c) * expl(G) * d->X[t][j];
        for (int j = 0; j < DV; j++)
            d->state[c][j] += expl(G) * start(d, c, j);
    }
}

/* All heads, laid out as the operations lay them out. */
typedef struct {
    long double o[OUT], state[STATE];
} truth;

static void solve_all(const scene *s, bool per_channel, truth *y)
{
    dense *d = room(1, sizeof *d);
    for (int h = 0; h < HV; h++) {
        solve(d, s, per_channel, h);
        for (int t = 0; t < T; t++)
            memcpy(y->o + (t * HV + h) * DV, d->o[t], sizeof d->o[t]);
        memcpy(y->state + h * DK * DV, d->state, sizeof d->state);
    }
    free(d);
}

static void within(double x, long double want, double allowed, double *worst)
{
    const double off = (double)fabsl((long double)x - want);
    if (!(off <= allowed))
        fail_msg("%.17g, second coding %.20Lg, off by %g, allowed %g", x, want, off, allowed);
    *worst = off > 0 ? fmax(*worst, off / allowed) : *worst;
}

/* An element of the state may be off as much as its column. */
static void both_near(const scene *s, const double *o64, const double *state64, const truth *y, const room_left *b,
                      double *worst)
{
    double *o32 = widened(s->o, OUT), *state32 = widened(s->state, STATE);
    for (int64_t i = 0; i < OUT; i++) {
        within(o32[i], y->o[i], b->o[i], worst);
        within(o64[i], y->o[i], b->o[i] * wide, worst + 1);
    }
    for (int64_t i = 0; i < STATE; i++) {
        const double column = b->state[i / DV / DK * DV + i % DV];
        within(state32[i], y->state[i], column, worst);
        within(state64[i], y->state[i], column * wide, worst + 1);
    }
    free(o32);
    free(state32);
}

/* A bound that allows ref64 more than 2^-20 of the largest output would say nothing. */
static void tells(const truth *y, const room_left *b)
{
    double most = 0, loosest = 0;
    for (int64_t i = 0; i < OUT; i++) {
        most = fmax(most, (double)fabsl(y->o[i]));
        loosest = fmax(loosest, b->o[i] * wide);
    }
    assert_true(most > 0.1 && loosest <= most * 0x1p-20);
}

static void forms_are_the_dense_system(void **state)
{
    (void)state;
    static scene begin, pieces, whole;
    static truth of[2];
    static room_left b;
    static double o64[OUT], state64[STATE];
    double worst[2] = {0, 0};
    for (int g = 0; g < GATES; g++) {
        make(&begin, gates[g], 37);
        solve_all(&begin, false, &of[0]);
        solve_all(&begin, true, &of[1]);
        for (int i = 0; i < FORMS; i++) {
            pieces = whole = begin;
            run_bounded(&pieces, forms[i], T, &b);
            run(&whole, forms[i], 0, T);
            same_bits(whole.o, pieces.o, OUT);
            same_bits(whole.state, pieces.state, STATE);
            run64(&begin, forms[i], T, o64, state64);
            tells(&of[forms[i].per_channel], &b);
            both_near(&whole, o64, state64, &of[forms[i].per_channel], &b, worst);
        }
    }
    print_message("largest distance: ref32 %.3f, ref64 %.3f of what is allowed\n", worst[0], worst[1]);
    assert_true(worst[0] > 0 && worst[1] > 0);
}

/* One recurrence: a gate that all channels of a head share makes Kimi Delta Attention Gated DeltaNet, bit for bit
 * and in both precisions, whatever heads share a key and whatever the gate does from token to token. */
static void one_gate_for_all_channels_is_gdn(void **state)
{
    (void)state;
    const form gdn = {TS_OP_GDN_STEP, false, 1}, kda = {TS_OP_KDA_STEP, true, 1};
    static scene a, b;
    static double o[2][OUT], end[2][STATE];
    for (int g = 0; g < GATES; g++) {
        make(&a, gates[g], 0);
        for (int i = 0; i < T * HV * DK; i++)
            a.g[i] = a.flat[i / DK];
        b = a;
        run64(&a, gdn, T, o[0], end[0]);
        run64(&b, kda, T, o[1], end[1]);
        assert_memory_equal(o[0], o[1], sizeof o[0]);
        assert_memory_equal(end[0], end[1], sizeof end[0]);
        run(&a, gdn, 0, T);
        run(&b, kda, 0, T);
        assert_memory_equal(a.o, b.o, sizeof a.o);
        assert_memory_equal(a.state, b.state, sizeof a.state);
    }
}

/* The delta rule without any gate, one column after another. */
static void ungated(scene *s)
{
    for (int t = 0; t < T; t++)
        for (int at = 0; at < HV * DV; at++) {
            const int h = at / DV;
            const float *k = s->k + (t * HK + h / (HV / HK)) * DK, *q = s->q + (k - s->k);
            float *S = s->state + h * DK * DV + at % DV, p = 0, o = 0;
            for (int c = 0; c < DK; c++)
                p = fmaf(k[c], S[c * DV], p);
            const float d = (s->v[t * HV * DV + at] - p) * s->beta[t * HV + h];
            for (int c = 0; c < DK; c++) {
                S[c * DV] = fmaf(k[c], d, S[c * DV]);
                o = fmaf(q[c], S[c * DV], o);
            }
            s->o[t * HV * DV + at] = o;
        }
}

/* A gate of exactly 0, of either sign, decays nothing: not one bit. */
static void a_gate_of_zero_is_no_gate(void **state)
{
    (void)state;
    const form steps[] = {{TS_OP_GDN_STEP, false, 1}, {TS_OP_KDA_STEP, true, 1}};
    static scene plain, gated;
    for (int i = 0; i < 4; i++) {
        make(&plain, none, 0);
        for (int x = 0; x < T * HV * DK; x++)
            plain.g[x] = plain.flat[x / DK] = i % 2 ? -0.0F : 0.0F;
        gated = plain;
        ungated(&plain);
        run(&gated, steps[i / 2], 0, T);
        same_bits(gated.o, plain.o, OUT);
        same_bits(gated.state, plain.state, STATE);
    }
}

static const int cuts[] = {0, 1, 7, 16, 63, 64, 99, 100};

/* A draft runs token by token and keeps the state after each. Whatever number of tokens is accepted, the copy is
 * what a run of as many tokens leaves, and going on from it is the run that never drafted. */
static void kept_states(form f, gate *of)
{
    static scene draft, direct, resumed;
    static float after[T + 1][STATE];
    make(&draft, of, 0);
    direct = resumed = draft;
    for (int t = 0; t < T; t++) {
        memcpy(after[t], draft.state, sizeof draft.state);
        run(&draft, f, t, 1);
    }
    memcpy(after[T], draft.state, sizeof draft.state);
    const scene begin = direct;
    run(&direct, f, 0, T);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        scene part = begin;
        run(&part, f, 0, cuts[i]);
        same_bits(after[cuts[i]], part.state, STATE);
        memcpy(resumed.state, after[cuts[i]], sizeof resumed.state);
        run(&resumed, f, cuts[i], T - cuts[i]);
        same_bits(resumed.o + cuts[i] * HV * DV, direct.o + cuts[i] * HV * DV, (T - cuts[i]) * HV * DV);
        same_bits(resumed.state, direct.state, STATE);
    }
}

static void a_state_after_each_token(void **state)
{
    (void)state;
    for (int g = 0; g < GATES; g++) {
        kept_states((form){TS_OP_GDN_STEP, false, 1}, gates[g]);
        kept_states((form){TS_OP_KDA_STEP, true, 1}, gates[g]);
    }
}

/* The same with nothing kept but rows: committing the first of them is the chunk form over those rows to the bit,
 * and the step over them within the bounds of both. */
static void late_rows(gate *of)
{
    const form chunk = {TS_OP_GDN_CHUNK, false, 256}, step = {TS_OP_GDN_STEP, false, 1};
    static scene begin, s, c, one;
    static room_left of_chunk, of_step;
    static float u[OUT], w[T * HV * DK], G[T * HV];
    make(&begin, of, 0);
    ts_gdn_lazy_rows_args r = {T, HK, HV, DK, DV, begin.k, begin.v, begin.flat, begin.beta, u, w, G};
    ts_ref32.op(TS_OP_GDN_LAZY_ROWS, &r);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        s = c = one = begin;
        ts_gdn_lazy_commit_args a = {T, HK, HV, DK, DV, cuts[i], begin.k, u, w, G, s.state};
        ts_ref32.op(TS_OP_GDN_LAZY_COMMIT, &a);
        run_bounded(&c, chunk, cuts[i], &of_chunk);
        run_bounded(&one, step, cuts[i], &of_step);
        same_bits(s.state, c.state, STATE);
        for (int64_t x = 0; x < STATE; x++) {
            const int64_t column = x / DV / DK * DV + x % DV;
            assert_true(fabs((double)s.state[x] - (double)one.state[x]) <=
                        of_chunk.state[column] + of_step.state[column]);
        }
    }
}

static void rows_committed_late(void **state)
{
    (void)state;
    for (int g = 0; g < GATES; g++)
        late_rows(gates[g]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_the_dense_system), cmocka_unit_test(one_gate_for_all_channels_is_gdn),
        cmocka_unit_test(a_gate_of_zero_is_no_gate),  cmocka_unit_test(a_state_after_each_token),
        cmocka_unit_test(rows_committed_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
