#include "bench/result.h"

#include <stdlib.h>
#include <string.h>

const char *const ts_kind_name[] = {"schedule", "peer", "portable", "bandwidth", "peak"};

ts_row *ts_result_add(ts_result *r)
{
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 64;
        ts_row *more = realloc(r->v, room * sizeof *more);
        if (!more)
            return NULL;
        r->v = more;
        r->room = room;
    }
    memset(&r->v[r->n], 0, sizeof *r->v);
    return &r->v[r->n++];
}

static ts_row *begin_row(ts_result *r, const char *op, const char *shape, const char *footprint, const char *name)
{
    ts_row *row = ts_result_add(r);
    if (row) {
        snprintf(row->op, sizeof row->op, "%s", op);
        snprintf(row->shape, sizeof row->shape, "%s", shape);
        snprintf(row->footprint, sizeof row->footprint, "%s", footprint);
        snprintf(row->name, sizeof row->name, "%s", name);
    }
    return row;
}

void ts_result_skip(ts_result *r, const char *op, const char *shape, const char *footprint, const char *name,
                    const char *why)
{
    ts_row *row = begin_row(r, op, shape, footprint, name);
    if (row)
        snprintf(row->skip, sizeof row->skip, "%s", why);
}

static void add_ratios(ts_row *row, const ts_match *m, const ts_contender *c)
{
    for (size_t i = 0; i < m->n && row->ratios < TS_MAX_RATIOS; i++) {
        ts_ratio *x = &row->ratio[row->ratios];
        if (!ts_match_ratio(m, c, &m->v[i], &x->v))
            continue;
        memcpy(x->to, m->v[i].name, sizeof x->to);
        row->ratios++;
    }
}

ts_status ts_result_match(ts_result *r, const char *op, const char *shape, const char *footprint, const ts_match *m,
                          ts_error *err)
{
    bool disturbed = ts_match_disturbed(m, &r->quiet);
    for (size_t i = 0; i < m->n; i++) {
        const ts_contender *c = &m->v[i];
        ts_row *row = begin_row(r, op, shape, footprint, c->name);
        if (!row)
            return ts_no_memory(err, sizeof *row);
        row->kind = c->kind;
        row->prepared = c->prepared;
        memcpy(row->skip, c->skip, sizeof c->skip);
        if (c->skip[0])
            continue;
        row->disturbed = disturbed;
        row->bytes = c->bytes;
        row->macs = c->macs;
        row->tokens = c->tokens;
        row->runs = m->rounds;
        row->ns = ts_match_time(m, c);
        add_ratios(row, m, c);
    }
    return TS_OK;
}

void ts_result_free(ts_result *r)
{
    free(r->v);
    *r = (ts_result){0};
}
