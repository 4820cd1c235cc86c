/* Merges: the heap against the definition (scan all pairs, merge the lowest rank, leftmost first). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "format/tokenizer_parts.h"

enum { LETTERS = 3, MAX_TOKENS = 40, MAX_TEXT = 64 };

typedef struct {
    char text[MAX_TOKENS][MAX_TEXT * 2];
    int left[MAX_TOKENS], right[MAX_TOKENS]; /* token i >= LETTERS is merge i - LETTERS, shuffled by rank */
    uint32_t rank[MAX_TOKENS];
    int count;
} vocabulary;

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static int find(const vocabulary *v, const char *text)
{
    for (int i = 0; i < v->count; i++)
        if (strcmp(v->text[i], text) == 0)
            return i;
    return -1;
}

/* Letters, then random concatenations of what is there; ranks in random order, so that a merge may
 * rank before those that make its parts. */
static void make_vocabulary(vocabulary *v, uint32_t *seed)
{
    v->count = LETTERS;
    for (int i = 0; i < LETTERS; i++)
        memcpy(v->text[i], (char[]){(char)('a' + i), '\0'}, 2);
    for (int tries = 0; tries < 200 && v->count < MAX_TOKENS; tries++) {
        int l = (int)(next_random(seed) % (uint32_t)v->count), r = (int)(next_random(seed) % (uint32_t)v->count);
        char text[MAX_TEXT * 4];
        strcpy(text, v->text[l]);
        strcat(text, v->text[r]);
        if (strlen(text) > 8 || find(v, text) >= 0)
            continue;
        strcpy(v->text[v->count], text);
        v->left[v->count] = l;
        v->right[v->count++] = r;
    }
    for (int i = LETTERS; i < v->count; i++)
        v->rank[i] = (uint32_t)(i - LETTERS);
    for (int i = v->count - 1; i > LETTERS; i--) {
        int j = LETTERS + (int)(next_random(seed) % (uint32_t)(i - LETTERS + 1));
        uint32_t swap = v->rank[i];
        v->rank[i] = v->rank[j];
        v->rank[j] = swap;
    }
}

static int merge_of(const vocabulary *v, int left, int right)
{
    for (int i = LETTERS; i < v->count; i++)
        if (v->left[i] == left && v->right[i] == right)
            return i;
    return -1;
}

static size_t merge_by_definition(const vocabulary *v, int32_t *id, size_t n)
{
    for (;;) {
        int best = -1;
        size_t where = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            int m = merge_of(v, id[i], id[i + 1]);
            if (m >= 0 && (best < 0 || v->rank[m] < v->rank[best])) {
                best = m;
                where = i;
            }
        }
        if (best < 0)
            return n;
        id[where] = best;
        memmove(id + where + 1, id + where + 2, (n - where - 2) * sizeof *id);
        n--;
    }
}

static void heap_is_the_definition(void **state)
{
    (void)state;
    uint32_t seed = 20260101;
    ts_bpe_work w = {0};
    for (int round = 0; round < 200; round++) {
        vocabulary v;
        ts_merge_table table;
        make_vocabulary(&v, &seed);
        assert_int_equal(ts_merge_table_init(&table, (size_t)v.count, NULL), TS_OK);
        for (int i = LETTERS; i < v.count; i++)
            assert_int_equal(ts_merge_table_add(&table, v.left[i], v.right[i], v.rank[i], i, "x", NULL), TS_OK);
        for (int k = 0; k < 30; k++) {
            int32_t want[MAX_TEXT];
            size_t n = 1 + next_random(&seed) % MAX_TEXT;
            assert_int_equal(ts_bpe_reserve(&w, n, NULL), TS_OK);
            for (size_t i = 0; i < n; i++)
                w.id[i] = want[i] = (int32_t)(next_random(&seed) % (k % 2 == 0 ? LETTERS : 1));
            size_t n_want = merge_by_definition(&v, want, n);
            assert_int_equal(ts_bpe_merge(&table, &w, n), n_want);
            assert_memory_equal(w.id, want, n_want * sizeof *want);
        }
        ts_merge_table_free(&table);
    }
    ts_bpe_free(&w);
}

static void equal_ranks_merge_leftmost_first(void **state)
{
    (void)state;
    ts_merge_table table;
    ts_bpe_work w = {0};
    assert_int_equal(ts_merge_table_init(&table, 1, NULL), TS_OK);
    assert_int_equal(ts_merge_table_add(&table, 0, 0, 0, 1, "x", NULL), TS_OK);
    assert_int_equal(ts_bpe_reserve(&w, 5, NULL), TS_OK);
    memset(w.id, 0, 5 * sizeof *w.id);
    assert_int_equal(ts_bpe_merge(&table, &w, 5), 3);
    const int32_t want[] = {1, 1, 0};
    assert_memory_equal(w.id, want, sizeof want);
    ts_bpe_free(&w);
    ts_merge_table_free(&table);
}

static void a_repeated_merge_is_refused(void **state)
{
    (void)state;
    ts_merge_table table;
    ts_error err = {0};
    assert_int_equal(ts_merge_table_init(&table, 2, NULL), TS_OK);
    assert_int_equal(ts_merge_table_add(&table, 4, 5, 0, 6, "x.json", &err), TS_OK);
    assert_int_equal(ts_merge_table_add(&table, 4, 5, 1, 7, "x.json", &err), TS_BAD);
    assert_string_equal(err.reason, "merge 1 repeats merge 0");
    ts_merge_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap_is_the_definition),
        cmocka_unit_test(equal_ranks_merge_leftmost_first),
        cmocka_unit_test(a_repeated_merge_is_refused),
    };
    return cmocka_run_group_tests_name("bpe", tests, NULL, NULL);
}
