#include "engine_internal.h"

#include <stdlib.h>
#include <string.h>
#include "config/draft.h"
#include "num/philox.h"
#include "num/rope_table.h"

/* Draws of the page order; the purposes in num/philox.h are below this. */
enum { DRAW_PAGES = 64 };

/* Pool page of every logical page: a Fisher-Yates shuffle of the pool, or none for seed 0; logical pages beyond the
 * pool of a ring take the pages of those that slid out. */
static void order_pages(ts_engine *e, int64_t logical)
{
    for (int64_t i = 0; i < e->pages; i++)
        e->table[i] = (int32_t)i;
    for (int64_t i = e->opt.page_seed ? e->pages - 1 : 0; i > 0; i--) {
        int64_t j = (int64_t)(ts_uniform(e->opt.page_seed, (uint64_t)i, DRAW_PAGES) * (double)(i + 1));
        int32_t other = e->table[j];
        e->table[j] = e->table[i];
        e->table[i] = other;
    }
    for (int64_t i = e->pages; i < logical; i++)
        e->table[i] = e->table[i % e->pages];
}

/* A ring, if the model can do with one: a page more, because the span may start within one. */
static int64_t pages_needed(const ts_engine *e)
{
    const int64_t capacity = e->opt.capacity, span = ts_draft_span(&e->w->cfg, capacity);
    return (span + TS_PAGE - 1) / TS_PAGE + (span < capacity);
}

static int64_t pool_elements(const ts_engine *e)
{
    return e->pages * TS_PAGE * e->w->cfg.Hkv * e->w->cfg.D;
}

static size_t element_size(const ts_engine *e)
{
    return e->profile->kv == TS_KV_REAL ? sizeof(float) : sizeof(uint16_t);
}

/* Every page is free now: NaN, so that reading past the tokens stored shows, or zero. */
static void clear_pool(const ts_engine *e, void *pool)
{
    int64_t n = pool_elements(e);
    uint16_t *narrow = pool;
    if (!e->opt.poison)
        memset(pool, 0, (size_t)n * element_size(e));
    else if (e->profile->kv == TS_KV_REAL)
        ts_engine_poison(pool, n);
    else
        for (int64_t i = 0; i < n; i++)
            narrow[i] = 0x7fc1; /* a NaN as bf16 and as f16 */
}

void ts_engine_pages_reset(ts_engine *e)
{
    for (int64_t i = 0; i < e->w->cfg.layers; i++)
        if (e->w->cfg.full[i]) {
            clear_pool(e, e->state[i].k);
            clear_pool(e, e->state[i].v);
        }
}

ts_status ts_engine_pages_new(ts_engine *e, ts_error *err)
{
    const ts_config *c = &e->w->cfg;
    const int64_t logical = (e->opt.capacity + TS_PAGE - 1) / TS_PAGE;
    e->pages = pages_needed(e) + TS_SPARE_PAGES;
    e->table = ts_engine_alloc(e->pages > logical ? e->pages : logical, 1, sizeof *e->table, err);
    e->inv_freq = ts_engine_alloc(c->R / 2, 1, sizeof *e->inv_freq, err);
    e->cos = ts_engine_alloc(e->opt.capacity, c->R / 2, sizeof *e->cos, err);
    e->sin = ts_engine_alloc(e->opt.capacity, c->R / 2, sizeof *e->sin, err);
    if (!e->table || !e->inv_freq || !e->cos || !e->sin)
        return TS_BAD;
    order_pages(e, logical);
    ts_rope_inv_freq(c->theta, c->R, e->inv_freq);
    for (int64_t i = 0; i < c->layers; i++) {
        if (!c->full[i])
            continue;
        int64_t tokens = e->pages * TS_PAGE;
        e->state[i].k = ts_engine_alloc(tokens, c->Hkv * c->D, element_size(e), err);
        e->state[i].v = ts_engine_alloc(tokens, c->Hkv * c->D, element_size(e), err);
        if (!e->state[i].k || !e->state[i].v)
            return TS_BAD;
    }
    return TS_OK;
}

void ts_engine_pages_free(ts_engine *e)
{
    for (int64_t i = 0; e->state && i < e->w->cfg.layers; i++) {
        free(e->state[i].k);
        free(e->state[i].v);
    }
    free(e->table);
    free(e->inv_freq);
    free(e->cos);
    free(e->sin);
}

ts_kv ts_engine_kv(const ts_engine *e, int64_t layer)
{
    return (ts_kv){.dtype = e->profile->kv,
                   .page = TS_PAGE,
                   .pages = e->pages,
                   .table = e->table,
                   .k = e->state[layer].k,
                   .v = e->state[layer].v};
}

void ts_engine_angles(ts_engine *e, int64_t end)
{
    int64_t R = e->w->cfg.R;
    for (; e->angles < end; e->angles++)
        ts_rope_row_f32(e->inv_freq, R, e->angles, e->cos + e->angles * (R / 2), e->sin + e->angles * (R / 2));
}
