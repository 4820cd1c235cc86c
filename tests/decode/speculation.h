/* What the tests of speculation share: the tiny model, its drafters, an engine over them, states to compare. */
#ifndef TESTS_DECODE_SPECULATION_H
#define TESTS_DECODE_SPECULATION_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "config/draft.h"
#include "rounds.h"

#define TINY "golden/models/tiny-qwen35"

static inline void must(ts_status status, const ts_error *err)
{
    if (status)
        fail_msg("%s: %s: %s", err->file, err->tensor, err->reason);
}

typedef struct {
    ts_weights *target, *mtp, *dflash;
} models;

static inline models load_models(const char *dir)
{
    models m;
    ts_error err = {0};
    must(ts_weights_load(dir, &m.target, &err), &err);
    must(ts_weights_load_mtp(m.target, NULL, &m.mtp, &err), &err);
    must(ts_weights_load_dflash(m.target, NULL, &m.dflash, &err), &err);
    return m;
}

static inline void free_models(models *m)
{
    ts_weights_free(m->mtp);
    ts_weights_free(m->dflash);
    ts_weights_free(m->target);
}

static inline ts_rounds *open_as(const models *m, const ts_weights *drafter, const char *engine,
                                 const char *profile, int64_t capacity)
{
    const ts_runner_options o = {.engine = engine,
                                 .profile = ts_profile_find(profile),
                                 .capacity = capacity,
                                 .threads = 1,
                                 .page_seed = 7,
                                 .poison = true};
    ts_rounds *r = NULL;
    ts_error err = {0};
    must(ts_rounds_open(m->target, drafter, &o, &r, &err), &err);
    return r;
}

/* Of passes of at most k + 1 rows any may stay, from the first on. */
static inline ts_rounds *open_rounds(const models *m, const ts_weights *drafter, const char *engine,
                                     int64_t capacity, int k)
{
    ts_rounds *r = open_as(m, drafter, engine, strcmp(engine, "ref64") == 0 ? "exact" : "ts", capacity);
    const ts_round_engine *e = ts_rounds_engine(r);
    ts_error err = {0};
    must(e->keep(e->ctx, k + 1, &err), &err);
    return r;
}

static inline ts_trace *state_of(const ts_rounds *r)
{
    ts_trace *t = ts_trace_new();
    assert_non_null(t);
    ts_rounds_state_trace(r, "", t);
    return t;
}

/* Every tensor whose name begins so, bit for bit. */
static inline void assert_same_state(const ts_trace *a, const ts_trace *b, const char *prefix)
{
    size_t n = 0;
    for (size_t i = 0; i < ts_trace_count(a); i++) {
        const ts_tensor *x = ts_trace_at(a, i), *y = ts_trace_find(b, x->name);
        if (strncmp(x->name, prefix, strlen(prefix)) != 0)
            continue;
        n++;
        assert_non_null(y);
        if (x->size != y->size || memcmp(x->data, y->data, x->size) != 0)
            fail_msg("%s differs (%zu and %zu bytes)", x->name, x->size, y->size);
    }
    assert_true(n > 0);
}

#endif
