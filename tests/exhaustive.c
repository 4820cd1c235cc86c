/* Every f32 through the elementary functions: are ref32 and every schedule the
 * same bits, and how far is the result from the true value? The true value is
 * libm's double; where that is within 2^-20 ulp of a rounding tie, MPFR decides.
 * Writes its findings over those of the same functions in the output file. */
#include <math.h>
#include <mpfr.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "num/convert.h"
#include "options.h"
#include "ref.h"
#include "schedule.h"

enum { CHUNK = 65536, HARDEST = 10, BITS = 400 };

typedef struct {
    const char *name;
    ts_op_id op;
    double (*truth)(double x);
    void (*exact)(mpfr_t y, const mpfr_t x); /* y may not be x */
} function;

typedef struct {
    uint32_t input;
    double distance; /* of the true value from a rounding tie, in ulps */
} hard;

typedef struct {
    uint64_t inputs, off[3]; /* 0, 1, 2 or more ulps from correctly rounded */
    double worst;
    uint32_t worst_input;
    hard hardest[HARDEST];
    uint64_t different; /* inputs on which a schedule is not ref32 */
    uint32_t different_input;
    const char *schedule;
} result;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

/* The threshold is part of the function. */
static double softplus(double x)
{
    return x > 20 ? x : log1p(exp(x));
}

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

static void exact_exp(mpfr_t y, const mpfr_t x)
{
    mpfr_exp(y, x, MPFR_RNDN);
}

static void exact_one_plus_exp(mpfr_t y, const mpfr_t x)
{
    mpfr_neg(y, x, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_add_ui(y, y, 1, MPFR_RNDN);
}

static void exact_sigmoid(mpfr_t y, const mpfr_t x)
{
    exact_one_plus_exp(y, x);
    mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

static void exact_silu(mpfr_t y, const mpfr_t x)
{
    exact_one_plus_exp(y, x);
    mpfr_div(y, x, y, MPFR_RNDN);
}

static void exact_softplus(mpfr_t y, const mpfr_t x)
{
    if (mpfr_cmp_ui(x, 20) > 0) {
        mpfr_set(y, x, MPFR_RNDN);
        return;
    }
    mpfr_exp(y, x, MPFR_RNDN);
    mpfr_log1p(y, y, MPFR_RNDN);
}

static void exact_rsqrt(mpfr_t y, const mpfr_t x)
{
    mpfr_rec_sqrt(y, x, MPFR_RNDN);
}

static const function functions[] = {
    {"exp", TS_OP_EXP, exp, exact_exp},         {"sigmoid", TS_OP_SIGMOID, sigmoid, exact_sigmoid},
    {"silu", TS_OP_SILU, silu, exact_silu},     {"softplus", TS_OP_SOFTPLUS, softplus, exact_softplus},
    {"rsqrt", TS_OP_RSQRT, rsqrt, exact_rsqrt},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Spacing of the f32 in the binade of d; a power of two, put together from its exponent. */
static double ulp_of(double d)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    int64_t e = (int64_t)(u >> 52 & 0x7ff) - 1023;
    u = (uint64_t)((e < -126 ? -126 : e) - 23 + 1023) << 52;
    memcpy(&d, &u, sizeof d);
    return d;
}

/* With inf as 2^128, what rounds to it differs from it by as much as from any other f32. */
static double value(float y)
{
    return isinf(y) ? copysign(0x1p128, (double)y) : (double)y;
}

static int64_t ordinal(float x)
{
    int64_t magnitude = (int64_t)(ts_bits(x) & 0x7fffffffu);
    return signbit(x) ? -magnitude : magnitude;
}

/* |f(x)| - from, to more bits than any f32 needs. */
static double exact_minus(const function *f, float x, double from, mpfr_t m[2])
{
    mpfr_set_flt(m[0], x, MPFR_RNDN);
    f->exact(m[1], m[0]);
    mpfr_abs(m[1], m[1], MPFR_RNDN);
    mpfr_sub_d(m[1], m[1], from, MPFR_RNDN);
    return mpfr_get_d(m[1], MPFR_RNDN);
}

/* By distance, then by input: the same list in whatever order threads bring them. */
static void add_hard(result *r, hard h)
{
    int i = HARDEST;
    while (i > 0 && (h.distance < r->hardest[i - 1].distance ||
                     (h.distance == r->hardest[i - 1].distance && h.input < r->hardest[i - 1].input)))
        i--;
    if (i == HARDEST)
        return;
    memmove(&r->hardest[i + 1], &r->hardest[i], (size_t)(HARDEST - 1 - i) * sizeof h);
    r->hardest[i] = h;
}

static void add_worst(result *r, double error, uint32_t input)
{
    if (error > r->worst || (error == r->worst && input < r->worst_input)) {
        r->worst = error;
        r->worst_input = input;
    }
}

/* f(x) correctly rounded; d is its double, within 2^-20 ulp of the truth. */
static float correctly_rounded(const function *f, float x, double d, result *r, mpfr_t m[2])
{
    double ulp = ulp_of(d), t = fabs(d) / ulp, k = floor(t), from_tie = t - k - 0.5;
    if (fabs(from_tie) < 0x1p-20)
        from_tie = exact_minus(f, x, (k + 0.5) * ulp, m) / ulp;
    add_hard(r, (hard){ts_bits(x), fabs(from_tie)});
    bool up = from_tie > 0 || (from_tie == 0 && fmod(k, 2) != 0);
    return (float)copysign((k + (up ? 1 : 0)) * ulp, d);
}

static void look(const function *f, float x, float y, result *r, mpfr_t m[2])
{
    double d = f->truth((double)x);
    if (isnan(d) || fabs(d) >= 0x1p128) { /* nothing to round */
        bool right = isnan(d) ? isnan(y) : y == (float)d;
        r->off[right ? 0 : 2]++;
        add_worst(r, right ? 0 : (double)INFINITY, ts_bits(x));
        return;
    }
    int64_t off = llabs(ordinal(y) - ordinal(correctly_rounded(f, x, d, r, m)));
    r->off[off > 2 ? 2 : off]++;
    add_worst(r, isnan(y) ? (double)INFINITY : fabs(value(y) - d) / ulp_of(d), ts_bits(x));
}

/* Payloads of NaNs are not part of the contract (section 1). */
static bool same(float a, float b)
{
    return ts_bits(a) == ts_bits(b) || (isnan(a) && isnan(b));
}

static void compare_schedules(const function *f, ts_map_args args, const float *ref, result *r)
{
    const ts_schedule *s;
    for (int i = 0; (s = ts_schedule_at(i)) != NULL; i++) {
        if (s->op != f->op)
            continue;
        s->run(&args, 0, args.n);
        for (int64_t j = 0; j < args.n; j++)
            if (!same(args.y[j], ref[j]) && r->different++ == 0) {
                r->different_input = ts_bits(args.x[j]);
                r->schedule = s->name;
            }
    }
}

/* Inputs first, first + stride, ... below 2^32, a chunk of them. */
static void sweep_chunk(const function *f, uint64_t first, uint64_t stride, float *buffer, result *r, mpfr_t m[2])
{
    float *x = buffer, *y = buffer + CHUNK, *fast = buffer + 2 * (ptrdiff_t)CHUNK;
    int64_t n = 0;
    for (uint64_t u = first; u < UINT64_C(1) << 32 && n < CHUNK; u += stride)
        x[n++] = ts_float((uint32_t)u);
    ts_map_args args = {.n = n, .x = x, .y = y};
    ts_ref32.op(f->op, &args);
    for (int64_t i = 0; i < n; i++)
        look(f, x[i], y[i], r, m);
    r->inputs += (uint64_t)n;
    args.y = fast;
    compare_schedules(f, args, y, r);
}

static void result_clear(result *r)
{
    memset(r, 0, sizeof *r);
    for (int i = 0; i < HARDEST; i++)
        r->hardest[i] = (hard){UINT32_MAX, 1};
    r->worst_input = UINT32_MAX;
}

static void merge(result *to, const result *r)
{
    to->inputs += r->inputs;
    for (int i = 0; i < 3; i++)
        to->off[i] += r->off[i];
    add_worst(to, r->worst, r->worst_input);
    for (int i = 0; i < HARDEST; i++)
        add_hard(to, r->hardest[i]);
    to->different += r->different;
    if (r->schedule && (!to->schedule || r->different_input < to->different_input)) {
        to->schedule = r->schedule;
        to->different_input = r->different_input;
    }
}

/* What one thread does; false without memory. */
static bool sweep_part(const function *f, int64_t stride, result *total)
{
    float *buffer = malloc(3 * CHUNK * sizeof *buffer);
    int64_t chunks = (((INT64_C(1) << 32) + stride - 1) / stride + CHUNK - 1) / CHUNK;
    result own;
    mpfr_t m[2];
    result_clear(&own);
    mpfr_inits2(BITS, m[0], m[1], (mpfr_ptr)0);
#pragma omp for schedule(dynamic)
    for (int64_t c = 0; c < chunks; c++)
        if (buffer)
            sweep_chunk(f, (uint64_t)(c * CHUNK * stride), (uint64_t)stride, buffer, &own, m);
#pragma omp critical
    merge(total, &own);
    mpfr_clears(m[0], m[1], (mpfr_ptr)0);
    mpfr_free_cache();
    free(buffer);
    return buffer != NULL;
}

/* The double's error is far below what six digits show; MPFR's is what is written. */
static void measure_worst(const function *f, result *r)
{
    if (isinf(r->worst))
        return;
    mpfr_t m[2];
    float x = ts_float(r->worst_input), y;
    ts_map_args args = {.n = 1, .x = &x, .y = &y};
    ts_ref32.op(f->op, &args);
    mpfr_inits2(BITS, m[0], m[1], (mpfr_ptr)0);
    r->worst = fabs(exact_minus(f, x, fabs(value(y)), m)) / ulp_of(f->truth((double)x));
    mpfr_clears(m[0], m[1], (mpfr_ptr)0);
}

static bool sweep(const function *f, int64_t stride, result *r)
{
    bool ok = true;
    result_clear(r);
#pragma omp parallel reduction(&& : ok)
    ok = sweep_part(f, stride, r);
    if (ok)
        measure_worst(f, r);
    return ok;
}

static void add_bits(cJSON *o, const char *key, uint32_t bits)
{
    char text[16];
    snprintf(text, sizeof text, "0x%08x", bits);
    cJSON_AddStringToObject(o, key, text);
}

static cJSON *as_json(const result *r, int64_t stride)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "stride", (double)stride);
    cJSON_AddNumberToObject(o, "inputs", (double)r->inputs);
    cJSON_AddNumberToObject(o, "worst_ulp", r->worst);
    add_bits(o, "worst_input", r->worst_input);
    cJSON_AddNumberToObject(o, "correctly_rounded", (double)r->off[0]);
    cJSON_AddNumberToObject(o, "one_ulp_off", (double)r->off[1]);
    cJSON_AddNumberToObject(o, "more_ulps_off", (double)r->off[2]);
    cJSON *list = cJSON_AddArrayToObject(o, "hardest");
    for (int i = 0; i < HARDEST && r->hardest[i].distance < 1; i++) {
        cJSON *h = cJSON_CreateObject();
        add_bits(h, "input", r->hardest[i].input);
        cJSON_AddNumberToObject(h, "ulps_from_tie", r->hardest[i].distance);
        cJSON_AddItemToArray(list, h);
    }
    return o;
}

static ts_status record(const char *path, const function *f, const result *r, int64_t stride, ts_error *err)
{
    cJSON *json = NULL;
    FILE *there = fopen(path, "r");
    ts_status s = there ? ts_json_load(path, &json, err) : TS_OK;
    if (there)
        fclose(there);
    if (!json)
        json = cJSON_CreateObject();
    cJSON *all = cJSON_GetObjectItemCaseSensitive(json, "functions");
    if (!all) {
        cJSON_AddNumberToObject(json, "schema", 1);
        all = cJSON_AddObjectToObject(json, "functions");
    }
    cJSON *now = as_json(r, stride);
    if (!cJSON_ReplaceItemInObjectCaseSensitive(all, f->name, now))
        cJSON_AddItemToObject(all, f->name, now);
    if (!s)
        s = ts_json_save(path, json, err);
    cJSON_Delete(json);
    return s;
}

static ts_status run(const function *f, int64_t stride, const char *path)
{
    result r;
    ts_error err;
    char text[800];
    if (!sweep(f, stride, &r)) {
        fprintf(stderr, "exhaustive: out of memory\n");
        return TS_BAD;
    }
    printf("exhaustive %s: %llu inputs, worst %.6f ulp at 0x%08x; %llu right, %llu one ulp off, %llu more\n",
           f->name, (unsigned long long)r.inputs, r.worst, r.worst_input, (unsigned long long)r.off[0],
           (unsigned long long)r.off[1], (unsigned long long)r.off[2]);
    if (r.different) {
        printf("exhaustive %s: FAIL %s is not ref32 on %llu inputs, first 0x%08x\n", f->name, r.schedule,
               (unsigned long long)r.different, r.different_input);
        return TS_DIFFERS;
    }
    if (isinf(r.worst)) {
        printf("exhaustive %s: FAIL no number where there is one, or another inf, at 0x%08x\n", f->name,
               r.worst_input);
        return TS_DIFFERS;
    }
    ts_status s = record(path, f, &r, stride, &err);
    if (s)
        fprintf(stderr, "exhaustive: %s\n", ts_error_text(&err, text, sizeof text));
    return s;
}

int main(int argc, char **argv)
{
    int64_t stride = 1;
    const char *only = NULL, *path = "golden/own/exhaustive.json";
    const ts_option options[] = {
        {"stride", 's', TS_OPT_INT, &stride, 1, 1 << 24, "N", "every Nth input (1)"},
        {"function", 'f', TS_OPT_TEXT, &only, 0, 0, "NAME", "only exp, sigmoid, silu, softplus or rsqrt"},
        {"out", 'o', TS_OPT_TEXT, &path, 0, 0, "FILE", "the findings (golden/own/exhaustive.json)"},
    };
    ts_command_line c = {.usage = "exhaustive", .option = options, .n = sizeof options / sizeof *options};
    int code = ts_options_parse(argc, argv, &c), passed = 0, failed = 0;
    if (code != TS_GO_ON)
        return code;
    for (int i = 0; i < FUNCTIONS; i++)
        if (!only || strcmp(only, functions[i].name) == 0) {
            if (run(&functions[i], stride, path) == TS_OK)
                passed++;
            else
                failed++;
        }
    if (passed + failed == 0) {
        fprintf(stderr, "exhaustive: no function '%s'\n", only);
        return TS_USAGE;
    }
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed ? TS_DIFFERS : TS_OK;
}
