/* Sequences for the tests of the delta rule, and what its forms may be off over whole sequences. K != V, beta up to
 * 2. The test that includes it has defined T, HK and HV: the tokens, and the heads of keys and of values. */
#ifndef TS_TESTS_OP_DELTA_H
#define TS_TESTS_OP_DELTA_H

#include "call.h"

#include "check/bound.h"

enum { DK = 20, DV = 12, STATE = HV * DK * DV, OUT = T * HV * DV };

/* ref64 rounds 2^-29 of what ref32 rounds. Twice that leaves libm's exp its 2 ulp, and room for long double. */
static const double wide = 0x1p-28;

/* g [T,HV,DK]; flat [T,HV], the gate of channel 0 */
typedef struct {
    int64_t pos;
    float q[T * HK * DK], k[T * HK * DK], v[OUT], g[T * HV * DK], flat[T * HV], beta[T * HV], state[STATE], o[OUT];
} scene;

typedef struct {
    ts_op_id op;
    bool per_channel;
    int64_t chunk;
} form;

/* The gate of a token, head and channel */
typedef float gate(int t, int h, int c);

static inline void fill(float *x, const char *spec, uint32_t stream, int64_t n)
{
    assert_int_equal(ts_generate(spec, 20261201, stream, x, n, NULL), TS_OK);
}

static inline void make(scene *s, gate *of, int64_t pos)
{
    s->pos = pos;
    fill(s->q, "normal", 1, T * HK * DK);
    fill(s->k, "normal", 2, T * HK * DK);
    fill(s->v, "normal", 3, OUT);
    fill(s->beta, "uniform:0:2", 4, T * HV);
    fill(s->state, "normal", 5, STATE);
    for (int i = 0; i < T * HV * DK; i++)
        s->g[i] = of(i / DK / HV, i / DK % HV, i % DK);
    for (int i = 0; i < T * HV; i++)
        s->flat[i] = s->g[i * DK];
    ts_l2norm_args n = {T, HK, DK, 1e-6, 0.22, s->q, s->q};
    ts_ref32.op(TS_OP_L2NORM, &n);
    n = (ts_l2norm_args){T, HK, DK, 1e-6, 1, s->k, s->k};
    ts_ref32.op(TS_OP_L2NORM, &n);
}

static inline ts_gdn_args rows(scene *s, form f, int64_t first, int64_t n)
{
    return (ts_gdn_args){.T = n,
                         .Hk = HK,
                         .Hv = HV,
                         .Dk = DK,
                         .Dv = DV,
                         .pos = s->pos + first,
                         .chunk = f.chunk,
                         .q = s->q + first * HK * DK,
                         .k = s->k + first * HK * DK,
                         .v = s->v + first * HV * DV,
                         .g = f.per_channel ? s->g + first * HV * DK : s->flat + first * HV,
                         .beta = s->beta + first * HV,
                         .state = s->state,
                         .o = s->o + first * HV * DV};
}

static inline void run(scene *s, form f, int64_t first, int64_t n)
{
    ts_gdn_args a = rows(s, f, first, n);
    ts_ref32.op(f.op, &a);
}

/* What ref32 may be off: every element of o, and the 2-norm of every column of the state. */
typedef struct {
    double o[OUT], state[HV * DV];
} room_left;

static inline double norm(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* docs/contract.md, 6, chunk against step: a piece hands on the error of its columns no longer than it was, and an
 * output sees the error of before its piece through q. 1.0001 is for the roundings of these sums. */
static inline void add_piece(const scene *s, form f, const ts_gdn_args *a, int64_t first, room_left *b)
{
    double state[STATE];
    assert_int_equal(ts_bound(f.op, a, s->state, "o", b->o + first * HV * DV, NULL), TS_OK);
    assert_int_equal(ts_bound(f.op, a, s->state, "state", state, NULL), TS_OK);
    for (int64_t i = first * HV * DV; i < (first + a->T) * HV * DV; i++) {
        const int64_t t = i / DV / HV, h = i / DV % HV;
        b->o[i] += norm(s->q + (t * HK + h / (HV / HK)) * DK, DK) * b->state[h * DV + i % DV];
        b->o[i] *= 1.0001;
    }
    for (int64_t i = 0; i < HV * DV; i++) {
        double added = 0;
        for (int64_t c = 0; c < DK; c++) {
            const double e = state[(i / DV * DK + c) * DV + i % DV];
            added += e * e;
        }
        b->state[i] += sqrt(added) * 1.0001;
    }
}

/* Piece by piece, so that the bounds are of ref32's own states. */
static inline void run_bounded(scene *s, form f, int64_t length, room_left *b)
{
    memset(b, 0, sizeof *b);
    for (int64_t t = 0, n; t < length; t += n) {
        const int64_t left = f.chunk - (s->pos + t) % f.chunk;
        n = left < length - t ? left : length - t;
        ts_gdn_args a = rows(s, f, t, n);
        add_piece(s, f, &a, t, b);
        ts_ref32.op(f.op, &a);
    }
}

/* The first rows through ref64 in one call; o and the new state. */
static inline void run64(scene *s, form f, int64_t length, double *o, double *state)
{
    double *in[] = {widened(s->q, T * HK * DK), widened(s->k, T * HK * DK), widened(s->v, OUT),
                    f.per_channel ? widened(s->g, T * HV * DK) : widened(s->flat, T * HV),
                    widened(s->beta, T * HV)};
    ts_gdn_args a = rows(s, f, 0, length);
    for (int64_t i = 0; i < STATE; i++)
        state[i] = (double)s->state[i];
    a.q = ts_f64(in[0]);
    a.k = ts_f64(in[1]);
    a.v = ts_f64(in[2]);
    a.g = ts_f64(in[3]);
    a.beta = ts_f64(in[4]);
    a.state = ts_f64(state);
    a.o = ts_f64(o);
    ts_ref64.op(f.op, &a);
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        free(in[i]);
}

#endif
