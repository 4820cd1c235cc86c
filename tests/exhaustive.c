/* exhaustive: every f32 through every elementary function and conversion (tests/sweep). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/json.h"
#include "sweep/record.h"

typedef struct {
    const char *function, *record, *header;
    uint64_t stride;
} settings;

static int usage(void)
{
    fprintf(stderr, "usage: exhaustive [--function NAME] [--stride N] [--record FILE.json] [--header FILE.h]\n"
                    "Sweeps every N-th f32 (all of them); writes what it found into the files.\nNAME:");
    for (int i = 0; ts_sweep_at(i); i++)
        fprintf(stderr, " %s", ts_sweep_at(i)->name);
    fprintf(stderr, "\n");
    return TS_USAGE;
}

static bool parse(int argc, char **argv, settings *o)
{
    const char *stride = "1";
    for (int i = 1; i + 1 < argc; i += 2) {
        const char **to = strcmp(argv[i], "--function") == 0 ? &o->function
                          : strcmp(argv[i], "--stride") == 0 ? &stride
                          : strcmp(argv[i], "--record") == 0 ? &o->record
                          : strcmp(argv[i], "--header") == 0 ? &o->header
                                                             : NULL;
        if (!to)
            return false;
        *to = argv[i + 1];
    }
    char *end;
    o->stride = strtoull(stride, &end, 10);
    return argc % 2 == 1 && !*end && o->stride >= 1 && o->stride <= 1u << 30 &&
           (!o->function || ts_sweep_find(o->function));
}

static int fail(ts_status status, const ts_error *err)
{
    char text[1024];
    fprintf(stderr, "exhaustive: %s\n", ts_error_text(err, text, sizeof text));
    return (int)status;
}

static void report(const ts_sweep_function *f, const ts_sweep *s, double seconds)
{
    const ts_sweep_range *r = s->range;
    printf("%-12s %s  %10lld inputs  %.6f ulp worst, %lld from correctly rounded (%lld / %lld / %lld / %lld)  "
           "%lld unequal to a schedule  %lld by MPFR  %.1f s\n",
           f->name, ts_sweep_good(f, s) ? "ok  " : "FAIL", (long long)s->inputs, r->worst.n ? r->worst.key[0] : 0.0,
           (long long)r->distance, (long long)r->off[0], (long long)r->off[1], (long long)r->off[2],
           (long long)r->more, (long long)s->unequal, (long long)s->witnessed, seconds);
    if (s->unequal)
        printf("  the first input with other bits than ref32's: 0x%08x\n", s->first_unequal);
    if (r->distance > f->allowed)
        printf("  %lld ulp allowed; the worst input: 0x%08x\n", (long long)f->allowed, r->worst.bits[0]);
    fflush(stdout);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static ts_status sweep(const settings *o, const ts_sweep_function *f, bool *good, ts_error *err)
{
    ts_sweep s;
    double start = now();
    ts_status status = ts_sweep_run(f, o->stride, isatty(STDERR_FILENO), &s, err);
    if (status)
        return status;
    report(f, &s, now() - start);
    *good = *good && ts_sweep_good(f, &s);
    return o->record ? ts_sweep_save(o->record, f->name, ts_sweep_json(f, &s, o->stride), err) : TS_OK;
}

static ts_status write_header(const settings *o, ts_error *err)
{
    char *text;
    ts_status s = ts_sweep_header(o->record, &text, err);
    if (s)
        return s;
    s = ts_write_file(o->header, text, strlen(text), err);
    free(text);
    return s;
}

int main(int argc, char **argv)
{
    settings o = {0};
    ts_error err = {0};
    bool good = true;
    if (!parse(argc, argv, &o) || (o.header && !o.record))
        return usage();
    for (int i = 0; ts_sweep_at(i); i++) {
        const ts_sweep_function *f = ts_sweep_at(i);
        ts_status s = o.function && strcmp(o.function, f->name) != 0 ? TS_OK : sweep(&o, f, &good, &err);
        if (s)
            return fail(s, &err);
    }
    ts_status s = o.header && good ? write_header(&o, &err) : TS_OK;
    if (s)
        return fail(s, &err);
    return good ? TS_OK : TS_DIFFERS;
}
