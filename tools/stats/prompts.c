#include "stats/prompts.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a, 64 bits. */
static uint64_t hash(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

/* The slot of the name, or the empty one where it would go. */
static size_t *seek(const ts_stat_prompts *p, const char *name)
{
    size_t at = (size_t)hash(name) & (p->slots - 1);
    while (p->slot[at] != 0 && strcmp(p->name[p->slot[at] - 1], name) != 0)
        at = (at + 1) & (p->slots - 1);
    return &p->slot[at];
}

static ts_status grow(ts_stat_prompts *p, ts_error *err)
{
    size_t room = p->room ? 2 * p->room : 64;
    void *name = realloc(p->name, room * sizeof *p->name);
    if (!name)
        return ts_no_memory(err, room * sizeof *p->name);
    p->name = name;
    size_t *slot = calloc(2 * room, sizeof *slot);
    if (!slot)
        return ts_no_memory(err, 2 * room * sizeof *slot);
    free(p->slot);
    p->room = room;
    p->slot = slot;
    p->slots = 2 * room;
    for (size_t i = 0; i < p->n; i++)
        *seek(p, p->name[i]) = i + 1;
    return TS_OK;
}

bool ts_prompts_find(const ts_stat_prompts *p, const char *name, size_t *at)
{
    size_t slot = p->slots ? *seek(p, name) : 0;
    *at = slot ? slot - 1 : p->n;
    return slot != 0;
}

ts_status ts_prompts_add(ts_stat_prompts *p, const char *name, size_t *at, ts_error *err)
{
    if (ts_prompts_find(p, name, at))
        return TS_OK;
    ts_status status = p->n == p->room ? grow(p, err) : TS_OK;
    if (status != TS_OK)
        return status;
    snprintf(p->name[p->n], sizeof *p->name, "%s", name);
    *seek(p, p->name[p->n]) = p->n + 1;
    *at = p->n++;
    return TS_OK;
}

void ts_prompts_free(ts_stat_prompts *p)
{
    free(p->name);
    free(p->slot);
    *p = (ts_stat_prompts){0};
}
