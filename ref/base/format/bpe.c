/* Byte-pair merges of one piece: lowest rank first, leftmost on equal rank. A heap
 * over a linked list, O(n log n), because a piece may be a megabyte. */
#include <stdlib.h>
#include "format/tokenizer_parts.h"

enum { MAX_PROBES = 512 };

static uint64_t pair_key(int32_t left, int32_t right)
{
    return (uint64_t)left << 32 | (uint64_t)right;
}

/* The finaliser of splitmix64: every bit of the key reaches the low bits. */
static size_t pair_hash(uint64_t key)
{
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    return (size_t)(key ^ key >> 31);
}

ts_status ts_merge_table_init(ts_merge_table *m, size_t count, ts_error *err)
{
    size_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    m->slot = malloc(slots * sizeof *m->slot);
    if (m->slot == NULL)
        return ts_no_memory(err, slots * sizeof *m->slot);
    m->mask = slots - 1;
    for (size_t i = 0; i < slots; i++)
        m->slot[i] = (ts_merge){.rank = TS_NO_RANK};
    return TS_OK;
}

void ts_merge_table_free(ts_merge_table *m)
{
    free(m->slot);
}

/* The slot that holds the pair, or the empty one where it belongs. */
static ts_merge *find_slot(const ts_merge_table *m, uint64_t key, size_t *probes)
{
    size_t i = pair_hash(key) & m->mask;
    for (*probes = 1; m->slot[i].rank != TS_NO_RANK && m->slot[i].key != key; ++*probes)
        i = (i + 1) & m->mask;
    return &m->slot[i];
}

ts_status ts_merge_table_add(ts_merge_table *m, int32_t left, int32_t right, uint32_t rank, int32_t id,
                             const char *file, ts_error *err)
{
    size_t probes;
    ts_merge *slot = find_slot(m, pair_key(left, right), &probes);
    if (slot->rank != TS_NO_RANK)
        return ts_fail(err, TS_BAD, file, "model.merges", "merge %u repeats merge %u", (unsigned)rank,
                       (unsigned)slot->rank);
    /* No honest half-full table comes near this; one made to collide would take for ever. */
    if (probes > MAX_PROBES)
        return ts_fail(err, TS_BAD, file, "model.merges", "merge %u: too many pairs collide", (unsigned)rank);
    *slot = (ts_merge){.key = pair_key(left, right), .rank = rank, .id = id};
    return TS_OK;
}

static const ts_merge *find_merge(const ts_merge_table *m, int32_t left, int32_t right)
{
    size_t probes;
    return find_slot(m, pair_key(left, right), &probes);
}

ts_status ts_bpe_reserve(ts_bpe_work *w, size_t size, ts_error *err)
{
    if (size <= w->size)
        return TS_OK;
    if (size > INT32_MAX / 2)
        return ts_fail(err, TS_BAD, NULL, "text", "a piece of %zu bytes is too long", size);
    size_t room = 2 * size < 256 ? 256 : 2 * size;
    ts_bpe_free(w);
    w->id = malloc(room * sizeof *w->id);
    w->next = malloc(room * sizeof *w->next);
    w->prev = malloc(room * sizeof *w->prev);
    w->rank = malloc(room * sizeof *w->rank);
    /* n - 1 first pairs, and at most two new ones for each of at most n - 1 merges. */
    w->heap = malloc(3 * room * sizeof *w->heap);
    if (w->id == NULL || w->next == NULL || w->prev == NULL || w->rank == NULL || w->heap == NULL)
        return ts_no_memory(err, 40 * room);
    w->size = room;
    return TS_OK;
}

void ts_bpe_free(ts_bpe_work *w)
{
    free(w->id);
    free(w->next);
    free(w->prev);
    free(w->rank);
    free(w->heap);
    *w = (ts_bpe_work){0};
}

static void heap_push(ts_bpe_work *w, uint64_t x)
{
    size_t i = w->n_heap++;
    for (; i > 0 && w->heap[(i - 1) / 2] > x; i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = x;
}

static uint64_t heap_pop(ts_bpe_work *w)
{
    uint64_t top = w->heap[0], last = w->heap[--w->n_heap];
    size_t i = 0;
    for (size_t child = 1; child < w->n_heap; child = 2 * i + 1) {
        if (child + 1 < w->n_heap && w->heap[child + 1] < w->heap[child])
            child++;
        if (w->heap[child] >= last)
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

/* Ranks the pair that starts at `at`, and queues it if some merge makes it one. */
static void rank_pair(const ts_merge_table *m, ts_bpe_work *w, int32_t at, int32_t end)
{
    int32_t next = w->next[at];
    w->rank[at] = next < end ? find_merge(m, w->id[at], w->id[next])->rank : TS_NO_RANK;
    if (w->rank[at] != TS_NO_RANK)
        heap_push(w, (uint64_t)w->rank[at] << 32 | (uint64_t)at);
}

static void merge_at(const ts_merge_table *m, ts_bpe_work *w, int32_t at, int32_t end)
{
    int32_t gone = w->next[at], next = w->next[gone];
    w->id[at] = find_merge(m, w->id[at], w->id[gone])->id;
    w->rank[gone] = TS_NO_RANK; /* what is still queued for it is stale */
    w->next[at] = next;
    if (next < end)
        w->prev[next] = at;
    rank_pair(m, w, at, end);
    if (w->prev[at] >= 0)
        rank_pair(m, w, w->prev[at], end);
}

size_t ts_bpe_merge(const ts_merge_table *m, ts_bpe_work *w, size_t n)
{
    int32_t end = (int32_t)n;
    w->n_heap = 0;
    for (int32_t i = 0; i < end; i++) {
        w->next[i] = i + 1;
        w->prev[i] = i - 1;
    }
    for (int32_t i = 0; i < end; i++)
        rank_pair(m, w, i, end);
    while (w->n_heap > 0) {
        uint64_t top = heap_pop(w);
        int32_t at = (int32_t)(top & UINT32_MAX);
        if (w->rank[at] == top >> 32)
            merge_at(m, w, at, end);
    }
    size_t left = 0;
    for (int32_t i = 0; i < end; i = w->next[i])
        w->id[left++] = w->id[i];
    return left;
}
