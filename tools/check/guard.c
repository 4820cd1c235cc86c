#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "check/guard.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CANARY = 0xc5, GUARD_PAGES = 16 }; /* a stride past the end should not jump over the guard */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t guard_size(void)
{
    return GUARD_PAGES * page_size();
}

bool ts_guard_new(ts_guard *g, size_t size)
{
    size_t page = page_size(), guard = guard_size(), inner = (size / page + (size % page != 0)) * page;
    *g = (ts_guard){.mapped = inner + 2 * guard, .size = size};
    void *map = mmap(NULL, g->mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return false;
    g->map = map;
    g->data = g->map + guard + inner - size;
    memset(g->map + guard, CANARY, inner - size);
    return mprotect(g->map, guard, PROT_NONE) == 0 && mprotect(g->map + guard + inner, guard, PROT_NONE) == 0;
}

void ts_guard_free(ts_guard *g)
{
    if (g->map)
        munmap(g->map, g->mapped);
    *g = (ts_guard){0};
}

static bool protect(const ts_guard *g, int how)
{
    size_t guard = guard_size(), inner = g->mapped - 2 * guard;
    return inner == 0 || mprotect(g->map + guard, inner, how) == 0;
}

bool ts_guard_read_only(const ts_guard *g)
{
    return protect(g, PROT_READ);
}

bool ts_guard_writable(const ts_guard *g)
{
    return protect(g, PROT_READ | PROT_WRITE);
}

size_t ts_guard_underrun(const ts_guard *g)
{
    char *first = g->map + guard_size();
    while (first < g->data && (unsigned char)*first == CANARY)
        first++;
    size_t changed = (size_t)(g->data - first);
    if (changed > 0)
        memset(first, CANARY, changed);
    return changed;
}

bool ts_guard_holds(const ts_guard *g, const void *address, long long *offset)
{
    uintptr_t at = (uintptr_t)address, from = (uintptr_t)g->map;
    if (!g->map || at < from || at >= from + g->mapped)
        return false;
    *offset = (long long)(at - from) - (long long)(g->data - g->map);
    return true;
}
