/* Added tokens: literal strings cut out of the raw text before anything else.
 * Sorted contents make a match a walk down a trie that needs no trie. */
#include <stdlib.h>
#include <string.h>
#include "format/tokenizer_parts.h"

static int compare(const void *a, const void *b)
{
    const ts_added *x = a, *y = b;
    int order = memcmp(x->content, y->content, x->size < y->size ? x->size : y->size);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

ts_status ts_added_sort(ts_added_set *set, const char *file, ts_error *err)
{
    if (set->count > 0)
        qsort(set->at, set->count, sizeof *set->at, compare);
    for (size_t i = 0; i < set->count; i++) {
        set->first[(unsigned char)set->at[i].content[0]] = true;
        if (i > 0 && compare(&set->at[i - 1], &set->at[i]) == 0)
            return ts_fail(err, TS_BAD, file, "added_tokens", "\"%.60s\" is listed twice", set->at[i].content);
    }
    return TS_OK;
}

/* First of at[lo..hi) whose byte at `depth` is at least c; all share the bytes before it. */
static size_t lower_bound(const ts_added *at, size_t lo, size_t hi, size_t depth, int c)
{
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int here = at[mid].size > depth ? (unsigned char)at[mid].content[depth] : -1;
        if (here < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const ts_added *ts_added_match(const ts_added_set *set, const char *text, size_t size)
{
    const ts_added *best = NULL;
    if (size == 0 || !set->first[(unsigned char)text[0]])
        return NULL;
    size_t lo = 0, hi = set->count;
    for (size_t depth = 0; depth < size; depth++) {
        int c = (unsigned char)text[depth];
        lo = lower_bound(set->at, lo, hi, depth, c);
        hi = lower_bound(set->at, lo, hi, depth, c + 1);
        if (lo == hi)
            break;
        if (set->at[lo].size == depth + 1)
            best = &set->at[lo];
    }
    return best;
}
