#include "num/generate.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "num/convert.h"
#include "num/philox.h"

/* Block b of the generator is philox with key = seed and counter =
 * (b lo, b hi, TS_DRAW_INPUT, stream). Element i takes blocks 3i, 3i+1, 3i+2
 * if it is normal (12 words, one per uniform), and block i otherwise. */

enum { MAX_VALUES = 64 };

/* A parsed spec. */
typedef struct {
    uint64_t seed;
    uint32_t stream;
    int count; /* of v */
    double v[MAX_VALUES];
} recipe;

/* One name of the header: how its values are written, checked, and turned into element i. */
typedef struct {
    const char *name;
    int least, most; /* values */
    char separator;
    const char *(*complaint)(const recipe *r, int64_t n); /* what is wrong with them, or NULL */
    float (*element)(const recipe *r, int64_t i);
} generator;

static const char form[] = "the values are not of the form that this generator takes";

/* Bit patterns, a prime number of them, so that no row length falls into step with
 * the cycle. Field `stream` starts at entry `stream`, so two fields differ. */
const uint32_t ts_generate_special[TS_SPECIALS] = {
    0x00000000, 0x80000000, /* +0, -0 */
    0x00000001, 0x80000001, /* +-2^-149, the smallest subnormals */
    0x007fffff, 0x807fffff, /* the largest subnormals */
    0x00800000, 0x80800000, /* +-FLT_MIN */
    0x3f800000, 0xbf800000, /* 1, -1 */
    0x3f800001, 0x3f7fffff, /* 1 + ulp, the value below 1 */
    0x33800000, 0xb3800000, /* +-2^-24: a tie when added to 1; the smallest f16 */
    0x33000000, 0x33c00000, /* 2^-25, 1.5 * 2^-24: ties of f16 subnormals */
    0x3f808000, 0x3f818000, /* 1 + 2^-8, 1 + 3 * 2^-8: ties of bf16, to even below and above */
    0x3f801000, 0xbf803000, /* 1 + 2^-11, -(1 + 3 * 2^-11): ties of f16 */
    0x3f000000, 0xc0200000, /* 0.5, -2.5: ties of rint */
    0x0da24260, 0x006ce3ee, /* 1e-30, 1e-38: the square is 0; a subnormal */
    0x43e00000, 0x43e80000, /* 448, 464: the largest e4m3, the tie above it */
    0x477fe000, 0x477ff000, /* 65504, 65520: the largest f16, the tie above it */
    0x7149f2ca, 0xf149f2ca, /* +-1e30: the square is infinite */
    0x42b17218,             /* 88.7228: exp of it is just below overflow */
};

static void block(const recipe *r, uint64_t b, uint32_t word[4])
{
    uint32_t counter[4] = {(uint32_t)b, (uint32_t)(b >> 32), TS_DRAW_INPUT, r->stream};
    uint32_t key[2] = {(uint32_t)r->seed, (uint32_t)(r->seed >> 32)};
    ts_philox(counter, key, word);
}

/* lo..hi by the high half of a product: biased by at most (hi-lo+1) / 2^32, and exact arithmetic. */
static int32_t integer(uint32_t word, int32_t lo, int32_t hi)
{
    uint64_t span = (uint64_t)((int64_t)hi - lo) + 1;
    return (int32_t)(lo + (int64_t)((word * span) >> 32));
}

static const char *fine(const recipe *r, int64_t n)
{
    (void)r;
    (void)n;
    return NULL;
}

/* The sum of 12 words is an exact integer below 2^36: the only rounding is the last one. */
static float normal(const recipe *r, int64_t i)
{
    uint64_t sum = 0;
    for (uint64_t j = 0; j < 3; j++) {
        uint32_t word[4];
        block(r, 3 * (uint64_t)i + j, word);
        for (int k = 0; k < 4; k++)
            sum += word[k];
    }
    double x = (double)sum * 0x1p-32 - 6;
    return (float)(r->count ? x * r->v[0] : x);
}

static float bf16(const recipe *r, int64_t i)
{
    return ts_bf16_to_f32(ts_f32_to_bf16(normal(r, i)));
}

static const char *bad_normal(const recipe *r, int64_t n)
{
    (void)n;
    return r->count && !(fabs(r->v[0]) <= 0x1p125) ? "the scale is beyond 2^125, 6 times it overflows" : NULL;
}

static float uniform(const recipe *r, int64_t i)
{
    uint32_t word[4];
    block(r, (uint64_t)i, word);
    double u = (double)(((uint64_t)word[0] << 32 | word[1]) >> 11) * 0x1p-53;
    return (float)(r->v[0] + (r->v[1] - r->v[0]) * u);
}

static const char *bad_uniform(const recipe *r, int64_t n)
{
    (void)n;
    return r->v[0] <= r->v[1] && isfinite(r->v[0]) && isfinite(r->v[1]) ? NULL : "A:B must be finite, A <= B";
}

static float ladder(const recipe *r, int64_t i)
{
    return (float)r->v[i % r->count];
}

static float ints(const recipe *r, int64_t i)
{
    uint32_t word[4];
    block(r, (uint64_t)i, word);
    return (float)integer(word[0], (int32_t)r->v[0], (int32_t)r->v[1]);
}

static int integers_within(const recipe *r, double lo, double hi)
{
    return lo <= r->v[0] && r->v[0] <= r->v[1] && r->v[1] <= hi && rint(r->v[0]) == r->v[0] &&
           rint(r->v[1]) == r->v[1];
}

static const char *bad_ints(const recipe *r, int64_t n)
{
    (void)n;
    return integers_within(r, -0x1p24, 0x1p24) ? NULL : "A:B must be integers, -2^24 <= A <= B <= 2^24";
}

static float pow2(const recipe *r, int64_t i)
{
    uint32_t word[4];
    block(r, (uint64_t)i, word);
    float x = ldexpf(1, integer(word[0], (int32_t)r->v[0], (int32_t)r->v[1]));
    return word[1] >> 31 ? -x : x;
}

static const char *bad_pow2(const recipe *r, int64_t n)
{
    (void)n;
    return integers_within(r, -149, 127) ? NULL : "A:B must be integers, -149 <= A <= B <= 127";
}

static float own_index(const recipe *r, int64_t i)
{
    (void)r;
    return (float)i;
}

static const char *bad_index(const recipe *r, int64_t n)
{
    (void)r;
    return n <= (1 << 24) + 1 ? NULL : "indices above 2^24 are not exact in f32";
}

static float from_special(const recipe *r, int64_t i)
{
    return ts_float(ts_generate_special[((uint64_t)i + r->stream) % TS_SPECIALS]);
}

static float f16_pattern(const recipe *r, int64_t i)
{
    (void)r;
    return ts_f16_to_f32((uint16_t)i);
}

static float bf16_pattern(const recipe *r, int64_t i)
{
    (void)r;
    return ts_bf16_to_f32((uint16_t)i);
}

static float bf16_tie(const recipe *r, int64_t i)
{
    (void)r;
    return ts_float((uint32_t)(uint16_t)i << 16 | 0x8000);
}

static float onehot(const recipe *r, int64_t i)
{
    int64_t n = (int64_t)r->v[0], row = i / n;
    return i % n == (row % n + (int64_t)r->v[1]) % n ? (float)r->v[2] : 0;
}

static const char *bad_onehot(const recipe *r, int64_t n)
{
    (void)n;
    double N = r->v[0], S = r->v[1];
    return 1 <= N && N <= 0x1p24 && 0 <= S && S < N && rint(N) == N && rint(S) == S
               ? NULL
               : "N and S must be integers, 0 <= S < N <= 2^24";
}

static float grid(const recipe *r, int64_t i)
{
    int64_t n = (int64_t)r->v[0];
    return (float)(r->v[1] * (double)(i / n) + r->v[2] * (double)(i % n));
}

static const char *bad_grid(const recipe *r, int64_t n)
{
    const double *v = r->v, rows = v[0] >= 1 ? (double)n / v[0] : 0;
    if (!(1 <= v[0] && v[0] <= 0x1p24) || rint(v[0]) != v[0] || rint(v[1]) != v[1] || rint(v[2]) != v[2])
        return "N, A and B must be integers, 1 <= N <= 2^24";
    return fabs(v[1]) * rows + fabs(v[2]) * v[0] <= 0x1p24 ? NULL : "elements beyond 2^24 are not exact in f32";
}

/* Consecutive integers for consecutive floats; both zeros are 0. */
static int64_t ordered(float x)
{
    uint32_t u = ts_bits(x);
    return u >> 31 ? -(int64_t)(u & 0x7fffffff) : (int64_t)u;
}

static float ulp(const recipe *r, int64_t i)
{
    int64_t reach = (int64_t)r->v[1], at = ordered((float)r->v[0]) + i % (2 * reach + 1) - reach;
    return ts_float(at < 0 ? 0x80000000u | (uint32_t)-at : (uint32_t)at);
}

static const char *bad_ulp(const recipe *r, int64_t n)
{
    (void)n;
    double N = r->v[1];
    if (!(1 <= N && N <= 0x1p20 && rint(N) == N))
        return "N must be an integer, 1 <= N <= 2^20";
    return llabs(ordered((float)r->v[0])) + (int64_t)N <= ordered(FLT_MAX) ? NULL : "V + N ulps is not finite";
}

/* The kind of a run comes from a block that no element takes. */
static float runs(const recipe *r, int64_t i)
{
    enum { RUN = 16, KINDS = 6 };
    const uint64_t apart = (uint64_t)1 << 63;
    uint32_t kind[4], word[4];
    block(r, apart + (uint64_t)(i / RUN), kind);
    block(r, (uint64_t)i, word);
    const double v = r->v[0], sign = word[1] >> 31 ? -1 : 1, u = word[0] * 0x1p-32;
    const double element[KINDS] = {0, v, sign * u * v / 256, sign * (1 - u / 4) * v, i % 2 ? -v : v, sign * u * v};
    return (float)element[integer(kind[0], 0, KINDS - 1)];
}

static const char *bad_runs(const recipe *r, int64_t n)
{
    (void)n;
    return r->v[0] > 0 && isfinite(r->v[0]) ? NULL : "V must be positive and finite";
}

static const generator generators[] = {
    {"normal", 0, 1, ':', bad_normal, normal},    {"bf16", 1, 1, ':', bad_normal, bf16},
    {"uniform", 2, 2, ':', bad_uniform, uniform}, {"const", 1, 1, ':', fine, ladder},
    {"ladder", 1, MAX_VALUES, ',', fine, ladder}, {"ints", 2, 2, ':', bad_ints, ints},
    {"pow2", 2, 2, ':', bad_pow2, pow2},          {"index", 0, 0, ':', bad_index, own_index},
    {"special", 0, 0, ':', fine, from_special},   {"f16all", 0, 0, ':', fine, f16_pattern},
    {"bf16all", 0, 0, ':', fine, bf16_pattern},   {"bf16ties", 0, 0, ':', fine, bf16_tie},
    {"onehot", 3, 3, ':', bad_onehot, onehot},    {"ulp", 2, 2, ':', bad_ulp, ulp},
    {"runs", 1, 1, ':', bad_runs, runs},          {"grid", 3, 3, ':', bad_grid, grid},
};

static const generator *find(const char *spec)
{
    size_t len = strcspn(spec, ":");
    for (size_t k = 0; k < sizeof generators / sizeof generators[0]; k++)
        if (strlen(generators[k].name) == len && memcmp(generators[k].name, spec, len) == 0)
            return &generators[k];
    return NULL;
}

/* One number at *text, up to its separator or the end. Infinities must be
 * written as such: a number that overflows f32 is a mistake. */
static int parse_value(const char **text, char separator, double *value)
{
    char *end;
    if (isspace((unsigned char)**text))
        return 0;
    errno = 0;
    *value = strtod(*text, &end);
    if (end == *text || (*end && *end != separator) || isnan(*value))
        return 0;
    if (isinf(*value) ? errno == ERANGE : fabs(*value) > (double)FLT_MAX)
        return 0;
    *text = end;
    return 1;
}

/* The values after the name: NULL, or what is wrong. */
static const char *parse_values(const generator *g, const char *text, recipe *r)
{
    while (*text) {
        if (r->count == g->most)
            return g->most == MAX_VALUES ? "more than 64 values" : form;
        text++; /* the ':' after the name, or a separator */
        if (!parse_value(&text, g->separator, &r->v[r->count]))
            return "not a number that f32 can hold";
        r->count++;
    }
    return r->count < g->least ? form : NULL;
}

/* A generator with its values: what makes element i. */
typedef struct {
    const generator *g;
    recipe r;
} source;

static ts_status complain(const char *spec, const char *wrong, ts_error *err)
{
    return ts_fail(err, TS_BAD, NULL, NULL, "input generator \"%s\": %s", spec, wrong);
}

static ts_status prepare(const char *spec, uint64_t seed, uint32_t stream, int64_t n, source *s, ts_error *err)
{
    s->g = find(spec);
    if (!s->g)
        return ts_fail(err, TS_BAD, NULL, NULL, "unknown input generator \"%s\"", spec);
    s->r = (recipe){.seed = seed, .stream = stream, .count = 0};
    const char *wrong = parse_values(s->g, spec + strlen(s->g->name), &s->r);
    if (!wrong)
        wrong = s->g->complaint(&s->r, n);
    return wrong ? complain(spec, wrong, err) : TS_OK;
}

static const char interleave_name[] = "interleave:", put_name[] = "put:";

static ts_status interleave(const char *spec, uint64_t seed, uint32_t stream, float *y, int64_t n, ts_error *err)
{
    char first[128];
    source s[2];
    const char *parts = spec + strlen(interleave_name), *second = strchr(parts, ';');
    if (!second || (size_t)(second - parts) >= sizeof first)
        return complain(spec, "it takes two generators, A;B", err);
    memcpy(first, parts, (size_t)(second - parts));
    first[second - parts] = 0;
    if (prepare(first, seed, stream, n, &s[0], NULL) || prepare(second + 1, seed, stream, n, &s[1], NULL))
        return complain(spec, "one of the two is no simple generator", err);
    for (int64_t i = 0; i < n; i++)
        y[i] = s[i % 2].g->element(&s[i % 2].r, i);
    return TS_OK;
}

static ts_status put(const char *spec, uint64_t seed, uint32_t stream, float *y, int64_t n, ts_error *err)
{
    char *end;
    const char *text = spec + strlen(put_name);
    long long at = isdigit((unsigned char)*text) ? strtoll(text, &end, 10) : -1;
    if (at < 0 || *end != ':')
        return complain(spec, "I must be an index", err);
    if (strlen(spec) > 512) /* they nest */
        return complain("put", "longer than 512 characters", err);
    double value = (double)NAN;
    text = end + 1;
    if (strncmp(text, "nan:", 4) == 0)
        text += 3;
    else if (!parse_value(&text, ':', &value) || !*text)
        return complain(spec, "V must be a number that f32 can hold, or nan", err);
    if (ts_generate(text + 1, seed, stream, y, n, NULL))
        return complain(spec, "GEN is no generator", err);
    if (at < n)
        y[at] = (float)value;
    return TS_OK;
}

ts_status ts_generate(const char *spec, uint64_t seed, uint32_t stream, float *y, int64_t n, ts_error *err)
{
    if (strncmp(spec, interleave_name, strlen(interleave_name)) == 0)
        return interleave(spec, seed, stream, y, n, err);
    if (strncmp(spec, put_name, strlen(put_name)) == 0)
        return put(spec, seed, stream, y, n, err);
    source s;
    ts_status status = prepare(spec, seed, stream, n, &s, err);
    for (int64_t i = 0; !status && i < n; i++)
        y[i] = s.g->element(&s.r, i);
    return status;
}

void ts_generate_ints(uint64_t seed, uint32_t stream, int32_t lo, int32_t hi, int32_t *y, int64_t n)
{
    recipe r = {.seed = seed, .stream = stream, .count = 0};
    for (int64_t i = 0; i < n; i++) {
        uint32_t word[4];
        block(&r, (uint64_t)i, word);
        y[i] = integer(word[0], lo, hi);
    }
}
