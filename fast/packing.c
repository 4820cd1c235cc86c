#define _DEFAULT_SOURCE /* madvise */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20 };

static int64_t panels(const ts_packing *p, const ts_matrix *m)
{
    return (m->N + p->rows - 1) / p->rows;
}

size_t ts_packing_bytes(const ts_packing *p, const ts_matrix *m)
{
    return p ? p->size(m) * (size_t)panels(p, m) : 0;
}

/* Decoding streams through the panels: huge pages save it the page walks. */
static void *allocate(size_t bytes)
{
    void *to = NULL;
    size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : LINE;
    if (posix_memalign(&to, align, bytes) != 0)
        return NULL;
    if (align == HUGE_PAGE)
        madvise(to, bytes, MADV_HUGEPAGE);
    return to;
}

ts_status ts_matrix_pack_as(ts_matrix *m, const ts_packing *p, int threads, ts_error *err)
{
    size_t bytes = ts_packing_bytes(p, m);
    ts_matrix_unpack(m);
    if (bytes == 0)
        return TS_OK;
    void *to = allocate(bytes);
    if (!to)
        return ts_no_memory(err, bytes);
    int64_t n = panels(p, m), cuts = threads > 1 ? threads : 1;
#pragma omp parallel for num_threads((int)cuts) schedule(static) if (cuts > 1)
    for (int64_t i = 0; i < cuts; i++)
        p->pack(m, n * i / cuts, n * (i + 1) / cuts, to);
    m->packed = to;
    m->packing = p;
    return TS_OK;
}

ts_status ts_matrix_pack(ts_matrix *m, ts_op_id op, const char *profile, int threads, ts_error *err)
{
    const ts_schedule *s;
    for (int i = 0; (s = ts_schedule_at(i)) != NULL; i++)
        if (s->op == op && ts_schedule_serves(s, profile) && ts_packing_bytes(s->packing, m) > 0)
            return ts_matrix_pack_as(m, s->packing, threads, err);
    return TS_OK;
}

void ts_matrix_unpack(ts_matrix *m)
{
    free((void *)m->packed);
    m->packed = NULL;
    m->packing = NULL;
}

ts_matrix ts_packed_rows(const ts_matrix *m, int64_t first, int64_t n)
{
    ts_matrix part = ts_matrix_rows(m, first, n);
    if (m->packed) {
        part.packed = (const char *)m->packed + (size_t)(first / m->packing->rows) * m->packing->size(m);
        part.packing = m->packing;
    }
    return part;
}
