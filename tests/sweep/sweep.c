#include "sweep/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "num/convert.h"
#include "ref.h"
#include "schedule.h"

enum { BLOCK = 4096, PIECES = 64, WITNESS_BITS = 200, SAMPLE = 1 << 16 };

static const double NEAR_TIE = 0x1p-20;      /* libm's double is not asked on which side of a tie it is */
static const double WITNESS_ERROR = 0x1p-24; /* nor trusted if it errs by more than a sixteenth of that */

typedef struct {
    float x[BLOCK], y[BLOCK], other[BLOCK];
    int64_t n;
} block;

/* A true value on the grid of a format. */
typedef struct {
    double right;   /* correctly rounded, ties to even */
    double inverse; /* 1 / ulp of the true value's binade */
    double tie;     /* distance from the nearest tie, in ulp */
} place;

static double pow2(int n)
{
    uint64_t u = (uint64_t)(n + 1023) << 52;
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static int clamp(int e, const ts_sweep_format *f)
{
    return e < f->emin ? f->emin : e > f->emax ? f->emax : e;
}

static int exponent(double t)
{
    uint64_t u;
    memcpy(&u, &t, sizeof u);
    return (int)(u >> 52 & 0x7ff) - 1023;
}

static double on_grid(double q, int e, const ts_sweep_format *f)
{
    bool overflow = e == f->emax && fabs(q) >= pow2(f->precision);
    return overflow ? copysign((double)INFINITY, q) : q * pow2(e - f->precision + 1);
}

static place locate(double t, const ts_sweep_format *f)
{
    int e = clamp(exponent(t), f);
    double inverse = pow2(f->precision - 1 - e), q = t * inverse, size = fabs(q);
    return (place){on_grid(rint(q), e, f), inverse, fabs(size - floor(size) - 0.5)};
}

/* The same with MPFR as the witness; *t gets the true value, rounded to double. */
static place witness(const ts_sweep_function *f, float x, double *t)
{
    mpfr_t in, v, r;
    mpfr_inits2(WITNESS_BITS, in, v, r, (mpfr_ptr)0);
    mpfr_set_flt(in, x, MPFR_RNDN);
    f->witness(v, in);
    *t = mpfr_get_d(v, MPFR_RNDN);
    place p = {*t, 1, 0.5};
    if (mpfr_regular_p(v)) {
        int e = clamp((int)fmax(-2000, fmin(2000, (double)mpfr_get_exp(v))) - 1, &f->format);
        mpfr_mul_2si(v, v, f->format.precision - 1 - e, MPFR_RNDN); /* v is in ulp now */
        /* Past the largest number of full precision nothing lies between two of the format's: no tie there. */
        bool past_the_grid = mpfr_cmpabs_ui(v, 1ul << f->format.precision) >= 0;
        mpfr_roundeven(r, v);
        p.right = on_grid(mpfr_get_d(r, MPFR_RNDN), e, &f->format);
        p.inverse = pow2(f->format.precision - 1 - e);
        mpfr_frac(v, v, MPFR_RNDN);
        mpfr_abs(v, v, MPFR_RNDN);
        mpfr_sub_d(v, v, 0.5, MPFR_RNDN);
        p.tie = past_the_grid ? 0.5 : fabs(mpfr_get_d(v, MPFR_RNDN));
    }
    mpfr_clears(in, v, r, (mpfr_ptr)0);
    return p;
}

static void top_insert(ts_sweep_top *t, double key, uint32_t bits)
{
    int at = t->n;
    while (at > 0 && (key > t->key[at - 1] || (key >= t->key[at - 1] && bits < t->bits[at - 1])))
        at--;
    if (at == TS_SWEEP_TOP)
        return;
    if (t->n < TS_SWEEP_TOP)
        t->n++;
    for (int i = t->n - 1; i > at; i--) {
        t->key[i] = t->key[i - 1];
        t->bits[i] = t->bits[i - 1];
    }
    t->key[at] = key;
    t->bits[at] = bits;
}

static void top_merge(ts_sweep_top *to, const ts_sweep_top *from)
{
    for (int i = 0; i < from->n; i++)
        top_insert(to, from->key[i], from->bits[i]);
}

/* Position of a value of the format among all of them: neighbours differ by 1. */
static int64_t ordinal(double v, const ts_sweep_format *f)
{
    int64_t per_binade = (int64_t)1 << (f->precision - 1);
    if (isinf(v))
        return (int64_t)copysign((double)((f->emax + 1 - f->emin) * per_binade + per_binade), v);
    int e = clamp(exponent(v), f);
    int64_t magnitude = (e - f->emin) * per_binade + (int64_t)(fabs(v) * pow2(f->precision - 1 - e));
    return v < 0 ? -magnitude : magnitude;
}

static double error_in_ulp(double y, double t, const place *p, const ts_sweep_format *f)
{
    if (isinf(p->right) && isinf(y))
        return 0;
    return fabs((isinf(y) ? copysign(pow2(f->emax + 1), y) : y) - t) * p->inverse;
}

/* x maps to y; the true value is t, and lies at p. */
static void judge(const ts_sweep_function *f, ts_sweep_range *r, float x, double y, double t, const place *p)
{
    if (isnan(t) || isnan(y)) {
        *(isnan(t) && isnan(y) ? &r->nan : &r->wrong) += 1;
        return;
    }
    int64_t d = 0;
    if (y != p->right)
        d = llabs(ordinal(y, &f->format) - ordinal(p->right, &f->format));
    else if (signbit(y) != signbit(p->right))
        r->wrong++;
    *(d < 3 ? &r->off[d] : &r->more) += 1;
    if (d > r->distance)
        r->distance = d;
    double error = error_in_ulp(y, t, p, &f->format);
    if (error > 0 && (r->worst.n < TS_SWEEP_TOP || error >= r->worst.key[TS_SWEEP_TOP - 1]))
        top_insert(&r->worst, error, ts_bits(x));
}

/* Where the double cannot decide, and at zeros, infinities and NaNs, MPFR does; and it looks after the
 * double at every SAMPLE-th input. */
static void look(const ts_sweep_function *f, ts_sweep *s, float x, float y, bool sample)
{
    double t = f->truth((double)x);
    place p = locate(t, &f->format);
    bool special = !isfinite(x) || x == 0;
    if (special || sample || p.tie < NEAR_TIE) {
        double exact;
        place by_double = p;
        p = witness(f, x, &exact);
        s->witnessed++;
        if (isfinite(by_double.right) && isfinite(exact))
            s->witness = fmax(s->witness, fabs(t - exact) * by_double.inverse);
        t = exact;
        s->ties += p.tie == 0;
        if (p.tie > 0 && p.tie < NEAR_TIE)
            top_insert(&s->hardest, -p.tie, ts_bits(x));
    }
    judge(f, &s->range[x < f->split], x, (double)y, t, &p);
}

static void apply(const ts_sweep_function *f, block *b)
{
    ts_map_args a = {b->n, b->x, b->y};
    if (f->op == TS_OP_COUNT)
        f->apply(b->x, b->y, b->n);
    else
        ts_ref32.op(f->op, &a);
}

static void compare_schedule(const ts_schedule *schedule, block *b, ts_sweep *s)
{
    ts_map_args a = {b->n, b->x, b->other};
    schedule->run(&a, 0, b->n);
    for (int64_t i = 0; i < b->n; i++) {
        uint32_t u = ts_bits(b->x[i]);
        if (ts_bits(b->y[i]) == ts_bits(b->other[i]) || (isnan(b->y[i]) && isnan(b->other[i])))
            continue;
        s->first_unequal = s->unequal && s->first_unequal < u ? s->first_unequal : u;
        s->unequal++;
    }
}

/* `first` numbers the block's first input. */
static void run_block(const ts_sweep_function *f, block *b, int64_t first, ts_sweep *s)
{
    apply(f, b);
    for (int i = 0; ts_schedule_at(i); i++)
        if (ts_schedule_at(i)->op == f->op)
            compare_schedule(ts_schedule_at(i), b, s);
    for (int64_t i = 0; i < b->n; i++)
        look(f, s, b->x[i], b->y[i], (first + i) % SAMPLE == 0);
    s->inputs += b->n;
}

static void merge(ts_sweep *to, const ts_sweep *from)
{
    if (from->unequal && (!to->unequal || from->first_unequal < to->first_unequal))
        to->first_unequal = from->first_unequal;
    to->inputs += from->inputs;
    to->ties += from->ties;
    to->unequal += from->unequal;
    to->witnessed += from->witnessed;
    to->witness = fmax(to->witness, from->witness);
    top_merge(&to->hardest, &from->hardest);
    for (int i = 0; i < 2; i++) {
        ts_sweep_range *r = &to->range[i];
        const ts_sweep_range *q = &from->range[i];
        for (int d = 0; d < 3; d++)
            r->off[d] += q->off[d];
        r->more += q->more;
        r->nan += q->nan;
        r->wrong += q->wrong;
        r->distance = r->distance > q->distance ? r->distance : q->distance;
        top_merge(&r->worst, &q->worst);
    }
}

/* Inputs number from .. to-1, of every stride-th. */
static void run_piece(const ts_sweep_function *f, uint64_t stride, int64_t from, int64_t to, ts_sweep *out)
{
#pragma omp parallel
    {
        ts_sweep mine = {0};
        block b;
#pragma omp for schedule(dynamic)
        for (int64_t first = from; first < to; first += BLOCK) {
            b.n = to - first < BLOCK ? to - first : BLOCK;
            for (int64_t i = 0; i < b.n; i++)
                b.x[i] = ts_float((uint32_t)((uint64_t)(first + i) * stride));
            run_block(f, &b, first, &mine);
        }
#pragma omp critical
        merge(out, &mine);
        mpfr_free_cache();
    }
}

/* The lists were ranked by the double; their values are MPFR's. */
static void exact_worst(const ts_sweep_function *f, ts_sweep_range *r)
{
    ts_sweep_top by_double = r->worst;
    r->worst.n = 0;
    for (int i = 0; i < by_double.n; i++) {
        double t;
        float x = ts_float(by_double.bits[i]);
        place p = witness(f, x, &t);
        top_insert(&r->worst, error_in_ulp((double)ts_sweep_apply(f, x), t, &p, &f->format), by_double.bits[i]);
    }
}

ts_status ts_sweep_run(const ts_sweep_function *f, uint64_t stride, bool progress, ts_sweep *out, ts_error *err)
{
    int64_t n = (int64_t)((((uint64_t)1 << 32) + stride - 1) / stride);
    *out = (ts_sweep){0};
    for (int64_t i = 0; i < PIECES; i++) {
        run_piece(f, stride, n * i / PIECES, n * (i + 1) / PIECES, out);
        if (progress)
            fprintf(stderr, "\r%-12s %3d %%%s", f->name, (int)((i + 1) * 100 / PIECES), i + 1 < PIECES ? "" : "\n");
    }
    for (int i = 0; i < 2; i++)
        exact_worst(f, &out->range[i]);
    if (out->witness > WITNESS_ERROR)
        return ts_fail(err, TS_BAD, NULL, f->name, "libm's double is %.3g ulp off: too much for a filter",
                       out->witness);
    return TS_OK;
}

bool ts_sweep_good(const ts_sweep_function *f, const ts_sweep *s)
{
    const ts_sweep_range *r = s->range;
    return s->unequal == 0 && r[0].wrong == 0 && r[1].wrong == 0 && r[0].distance <= f->allowed;
}

float ts_sweep_apply(const ts_sweep_function *f, float x)
{
    float y;
    ts_map_args a = {1, &x, &y};
    if (f->op == TS_OP_COUNT)
        f->apply(&x, &y, 1);
    else
        ts_ref32.op(f->op, &a);
    return y;
}

void ts_sweep_schedules(const ts_sweep_function *f, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    for (int i = 0; ts_schedule_at(i) && used < size; i++)
        if (ts_schedule_at(i)->op == f->op && f->op != TS_OP_COUNT)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "," : "", ts_schedule_at(i)->name);
}
