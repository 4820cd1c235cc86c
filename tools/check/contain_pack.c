/* Packing in a child: what is packed must not depend on how. */
#include <stdio.h>
#include <string.h>

#include "check/contain_child.h"

typedef struct {
    const ts_packing *p;
    const ts_matrix *m;
    char *to;
    size_t panel; /* bytes */
    int64_t panels;
} packer;

static void pack(const void *context, int64_t begin, int64_t end)
{
    const packer *w = context;
    w->p->pack(w->m, begin, end, w->to);
}

/* The first byte from `at` on that is not `fill`, or `end`. */
static size_t past_fill(const char *p, size_t at, size_t end, int fill)
{
    while (at < end && (unsigned char)p[at] == fill)
        at++;
    return at;
}

/* Panels begin .. end alone: their bytes are those of the whole, and all others are left alone. */
static bool range_is(const packer *w, const char *whole, int64_t begin, int64_t end, int fill)
{
    size_t from = (size_t)begin * w->panel, to = (size_t)end * w->panel, all = (size_t)w->panels * w->panel;
    memset(w->to, fill, all);
    pack(w, begin, end);
    return memcmp(w->to + from, whole + from, to - from) == 0 && past_fill(w->to, 0, from, fill) == from &&
           past_fill(w->to, to, all, fill) == all;
}

/* What is wrong with the packing, or NULL; `whole` gets the packed copy. */
static const char *fault(const packer *w, char *whole)
{
    const int64_t n = w->panels, cut[] = {0, n / 3, n - n / 4, n};
    size_t all = (size_t)n * w->panel;
    memset(w->to, 0x55, all);
    pack(w, 0, n);
    memcpy(whole, w->to, all);
    if (!range_is(w, whole, 0, n, 0xaa))
        return "leaves bytes of the packed copy unwritten, or does not write the same twice";
    for (int i = 0; i < 3; i++)
        if (!range_is(w, whole, cut[i], cut[i + 1], i % 2 ? 0xaa : 0x55))
            return "of a range of panels gives other bytes than of all, or writes outside the range";
    memset(w->to, 0x55, all);
    ts_on_two_threads(pack, w, n);
    return memcmp(w->to, whole, all) == 0 ? NULL : "on two threads gives other bytes than on one";
}

/* The packed copy of matrix i in o->packed[i], if p is for it. */
static bool pack_matrix(const ts_packing *p, const ts_matrix *m, int i, ts_outcome *o)
{
    const size_t most = (size_t)1 << 32;
    ts_guard room;
    packer w = {.p = p, .m = m, .panels = (m->N + p->rows - 1) / p->rows};
    o->doing = "size of its packing ";
    w.panel = p->size(m);
    if (w.panel == 0)
        return true;
    if (w.panel % 64 != 0 || w.panel > most / (size_t)w.panels) {
        snprintf(o->problem, sizeof o->problem, "has a packing of %zu bytes a panel: %s\n", w.panel,
                 w.panel % 64 ? "no multiple of 64" : "too many");
        return false;
    }
    if (!ts_guard_new(&room, w.panel * (size_t)w.panels) || !ts_guard_new(&o->packed[i], room.size)) {
        snprintf(o->problem, sizeof o->problem, "out of memory for its packed weights\n");
        return false;
    }
    char *whole = o->packed[i].data;
    ts_guard kept = o->packed[i];
    o->packed[i] = room; /* the one that a crash is at */
    o->doing = "pack ";
    w.to = room.data;
    const char *bad = fault(&w, whole);
    if (!bad && ts_guard_underrun(&room) > 0)
        bad = "wrote before the start of the packed copy";
    o->packed[i] = kept;
    ts_guard_free(&room);
    if (bad)
        snprintf(o->problem, sizeof o->problem, "pack %s\n", bad);
    return !bad && ts_guard_read_only(&kept);
}

bool ts_contained_pack(const ts_packing *p, ts_call *call, ts_outcome *o)
{
    const ts_guard *structs = &call->guard[TS_GUARD_STRUCTS];
    ts_matrix *m = (ts_matrix *)(void *)structs->data;
    if (!p)
        return true;
    for (int i = 0; i < TS_MATRICES && m[i].N > 0; i++)
        if (!pack_matrix(p, &m[i], i, o))
            return false;
    o->doing = "";
    if (!ts_guard_writable(structs))
        return false;
    for (int i = 0; i < TS_MATRICES; i++) {
        m[i].packed = o->packed[i].data;
        m[i].packing = o->packed[i].data ? p : NULL;
    }
    return ts_guard_read_only(structs);
}
