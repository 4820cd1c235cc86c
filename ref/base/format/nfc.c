/* NFC: utf8proc's tables for single characters and for composition; the canonical
 * ordering between them is ours, because utf8proc's is quadratic in a run of marks. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>
#include "format/tokenizer.h"
#include "format/tokenizer_parts.h"

enum { MAX_DECOMPOSITION = 4, CLASSES = 256 };

/* No canonical decomposition has more than four characters, and UTF-8 bytes outnumber characters. */
static ts_status decompose(const char *text, size_t size, int32_t *out, size_t *count, ts_error *err)
{
    size_t n = 0;
    for (size_t at = 0; at < size;) {
        utf8proc_int32_t c;
        int boundary;
        at += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(size - at), &c);
        utf8proc_ssize_t k = utf8proc_decompose_char(c, out + n, MAX_DECOMPOSITION, UTF8PROC_DECOMPOSE, &boundary);
        if (k < 1 || k > MAX_DECOMPOSITION)
            return ts_fail(err, TS_BAD, NULL, "text", "U+%04X: %s", (unsigned)c,
                           k < 1 ? utf8proc_errmsg(k) : "decomposition too long");
        n += (size_t)k;
    }
    *count = n;
    return TS_OK;
}

static int combining_class(int32_t c)
{
    return utf8proc_get_property(c)->combining_class;
}

/* Stable counting sort of a run of marks by combining class. */
static void sort_run(int32_t *run, size_t n, int32_t *spare)
{
    size_t start[CLASSES + 1] = {0};
    for (size_t i = 0; i < n; i++)
        start[combining_class(run[i]) + 1]++;
    for (int i = 0; i < CLASSES; i++)
        start[i + 1] += start[i];
    for (size_t i = 0; i < n; i++)
        spare[start[combining_class(run[i])]++] = run[i];
    memcpy(run, spare, n * sizeof *run);
}

static void canonical_order(int32_t *c, size_t n, int32_t *spare)
{
    for (size_t i = 0; i < n;) {
        size_t from = i;
        bool ordered = true;
        for (int last = 0; i < n && combining_class(c[i]) != 0; i++) {
            int here = combining_class(c[i]);
            ordered = ordered && here >= last;
            last = here;
        }
        if (!ordered)
            sort_run(c + from, i - from, spare);
        i += i == from;
    }
}

/* In parts that start at each U+11A7: it composes with nothing, but utf8proc 2.8 drops it after a
 * Hangul LV syllable (it takes T index 0 for a trailing consonant). */
static ts_status compose(int32_t *c, size_t *n, ts_error *err)
{
    const utf8proc_option_t options = UTF8PROC_COMPOSE | UTF8PROC_STABLE;
    size_t kept = 0;
    for (size_t from = 0, to; from < *n; from = to) {
        for (to = from + 1; to < *n && c[to] != 0x11A7; to++)
            continue;
        utf8proc_ssize_t left = utf8proc_normalize_utf32(c + from, (utf8proc_ssize_t)(to - from), options);
        if (left < 0)
            return ts_fail(err, TS_BAD, NULL, "text", "%s", utf8proc_errmsg(left));
        memmove(c + kept, c + from, (size_t)left * sizeof *c);
        kept += (size_t)left;
    }
    *n = kept;
    return TS_OK;
}

static ts_status write_utf8(const int32_t *c, size_t n, char **out, size_t *out_size, ts_error *err)
{
    char *text = malloc(4 * n + 1);
    if (text == NULL)
        return ts_no_memory(err, 4 * n + 1);
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += (size_t)utf8proc_encode_char(c[i], (utf8proc_uint8_t *)text + size);
    text[size] = '\0';
    *out = text;
    *out_size = size;
    return TS_OK;
}

/* Below U+0300 (first byte below 0xCC) nothing decomposes, reorders or composes. */
static bool is_plain(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] >= 0xCC)
            return false;
    return true;
}

static ts_status copy_text(const char *text, size_t size, char **out, size_t *out_size, ts_error *err)
{
    char *copy = malloc(size + 1);
    if (copy == NULL)
        return ts_no_memory(err, size + 1);
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    *out = copy;
    *out_size = size;
    return TS_OK;
}

ts_status ts_nfc(const char *text, size_t size, char **out, size_t *out_size, ts_error *err)
{
    ts_status status = ts_utf8_check(text, size, NULL, "text", err);
    if (status != TS_OK)
        return status;
    if (is_plain(text, size))
        return copy_text(text, size, out, out_size, err);
    if (size > SIZE_MAX / (2 * MAX_DECOMPOSITION * sizeof(int32_t)) - 1)
        return ts_fail(err, TS_BAD, NULL, "text", "%zu bytes are too many", size);
    size_t room = MAX_DECOMPOSITION * (size + 1), n = 0;
    int32_t *c = malloc(2 * room * sizeof *c);
    if (c == NULL)
        return ts_no_memory(err, 2 * room * sizeof *c);
    status = decompose(text, size, c, &n, err);
    if (status == TS_OK) {
        canonical_order(c, n, c + room);
        status = compose(c, &n, err);
    }
    if (status == TS_OK)
        status = write_utf8(c, n, out, out_size, err);
    free(c);
    return status;
}
