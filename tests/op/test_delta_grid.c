/* Chunk forms against the step over every gate and length where one has failed: in ref32 nothing may be NaN or
 * infinite, and in ref64 the two are within the sum of their bounds, which are of the roundings of double and so
 * notice what a bound of f32 has to let pass. */
enum { T = 300, HK = 1, HV = 2 };

#include "delta.h"

static const int64_t lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 130, 300};

static float never(int t, int h, int c)
{
    (void)t, (void)h, (void)c;
    return 0;
}

/* A gate of the grid; channels differ from it by up to a quarter, channel 0 not at all. */
static void strengthen(scene *s, float by)
{
    for (int i = 0; i < T * HV; i++) {
        s->flat[i] = by;
        for (int c = 0; c < DK; c++)
            s->g[i * DK + c] = by * (1 - 0.25F * (float)c / DK);
    }
}

typedef struct {
    double o[OUT], state[STATE];
    room_left allowed;
} result;

/* Both precisions of one form. The bounds come from ref32's states, where all must be finite, and hold between the
 * two: what ref64 itself is off is the small part `wide` of them. */
static void reach(const scene *begin, form f, int64_t length, result *r)
{
    static scene s, t;
    s = t = *begin;
    run_bounded(&s, f, length, &r->allowed);
    run64(&t, f, length, r->o, r->state);
    for (int64_t i = 0; i < length * HV * DV; i++) {
        assert_true(isfinite(s.o[i]) && isfinite(r->allowed.o[i]));
        assert_true(fabs((double)s.o[i] - r->o[i]) <= r->allowed.o[i] * (1 + wide));
    }
    for (int64_t i = 0; i < STATE; i++) {
        const double column = r->allowed.state[i / DV / DK * DV + i % DV];
        assert_true(isfinite(s.state[i]) && fabs((double)s.state[i] - r->state[i]) <= column * (1 + wide));
    }
}

static void near(const result *a, const result *b, int64_t length, double *worst)
{
    for (int64_t i = 0; i < length * HV * DV; i++) {
        const double off = fabs(a->o[i] - b->o[i]), allowed = (a->allowed.o[i] + b->allowed.o[i]) * wide;
        if (!(off <= allowed))
            fail_msg("row %lld of %lld: %.17g against %.17g, allowed %g", (long long)(i / DV / HV),
                     (long long)length, a->o[i], b->o[i], allowed);
        *worst = off > 0 ? fmax(*worst, off / allowed) : *worst;
    }
    for (int64_t i = 0; i < STATE; i++) {
        const int64_t column = i / DV / DK * DV + i % DV;
        const double allowed = (a->allowed.state[column] + b->allowed.state[column]) * wide;
        assert_true(fabs(a->state[i] - b->state[i]) <= allowed);
    }
}

/* None of the sums of bounds is looser than 2^-24 of outputs of size 1: a double that holds an f32's accuracy at
 * the worst of them. */
static void sharp(const result *r, int64_t length)
{
    for (int64_t i = 0; i < length * HV * DV; i++)
        assert_true(r->allowed.o[i] * wide <= 0x1p-24);
}

static void grid(form step, const form *chunks, int n)
{
    const float strengths[] = {0, -1e-4F, -1e-2F, -1, -5, -20, -88, -120};
    static scene s;
    static result a, b;
    double worst = 0;
    make(&s, never, 0);
    for (size_t g = 0; g < sizeof strengths / sizeof *strengths; g++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            strengthen(&s, strengths[g]);
            reach(&s, step, lengths[l], &a);
            for (int i = 0; i < n; i++) {
                reach(&s, chunks[i], lengths[l], &b);
                sharp(&b, lengths[l]);
                near(&a, &b, lengths[l], &worst);
            }
        }
    print_message("largest distance %.3f of what is allowed\n", worst);
    assert_true(worst > 0);
}

static void gdn(void **state)
{
    (void)state;
    const form chunk = {TS_OP_GDN_CHUNK, false, 64};
    grid((form){TS_OP_GDN_STEP, false, 1}, &chunk, 1);
}

static void kda(void **state)
{
    (void)state;
    const form chunks[] = {{TS_OP_KDA_CHUNK, true, 64}, {TS_OP_KDA_CHUNK_EXP2, true, 32}};
    grid((form){TS_OP_KDA_STEP, true, 1}, chunks, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gdn),
        cmocka_unit_test(kda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
