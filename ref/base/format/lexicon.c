/* Sorted byte strings: exact search, and the longest entry at the start of a text (a walk
 * down a trie that needs no trie). Sorted, not hashed: nothing in a file can slow it. */
#include <stdlib.h>
#include <string.h>
#include "format/tokenizer_parts.h"

static int compare(const void *a, const void *b)
{
    const ts_entry *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->size < y->size ? x->size : y->size);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

ts_status ts_lexicon_sort(ts_lexicon *l, const char *file, const char *key, ts_error *err)
{
    if (l->count > 0)
        qsort(l->at, l->count, sizeof *l->at, compare);
    for (size_t i = 0; i < l->count; i++) {
        l->first[(unsigned char)l->at[i].bytes[0]] = true;
        if (i > 0 && compare(&l->at[i - 1], &l->at[i]) == 0)
            return ts_fail(err, TS_BAD, file, key, "\"%.60s\" is listed twice", l->at[i].bytes);
    }
    return TS_OK;
}

int32_t ts_lexicon_find(const ts_lexicon *l, const char *bytes, size_t size)
{
    const ts_entry wanted = {.bytes = bytes, .size = size};
    if (l->count == 0)
        return -1;
    const ts_entry *found = bsearch(&wanted, l->at, l->count, sizeof *l->at, compare);
    return found != NULL ? found->id : -1;
}

/* First of at[lo..hi) whose byte at `depth` is at least c; all share the bytes before it. */
static size_t lower_bound(const ts_entry *at, size_t lo, size_t hi, size_t depth, int c)
{
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int here = at[mid].size > depth ? (unsigned char)at[mid].bytes[depth] : -1;
        if (here < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const ts_entry *ts_lexicon_prefix(const ts_lexicon *l, const char *text, size_t size)
{
    const ts_entry *best = NULL;
    if (size == 0 || !l->first[(unsigned char)text[0]])
        return NULL;
    size_t lo = 0, hi = l->count;
    for (size_t depth = 0; depth < size; depth++) {
        int c = (unsigned char)text[depth];
        lo = lower_bound(l->at, lo, hi, depth, c);
        hi = lower_bound(l->at, lo, hi, depth, c + 1);
        if (lo == hi)
            break;
        if (l->at[lo].size == depth + 1)
            best = &l->at[lo];
    }
    return best;
}
