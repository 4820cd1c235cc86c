/* Splits text into pieces with the pattern from the file. Work is counted in callouts
 * before every item of the pattern, so a hostile pattern ends in an error after
 * a number of steps that depends on the input alone, never on the clock. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include "format/tokenizer_parts.h"

enum {
    STEPS_PER_BYTE = 128, /* the worst text for the Qwen patterns needs 20 */
    STEPS_AT_LEAST = 1000000,
    MATCH_LIMIT = 100000000,
    DEPTH_LIMIT = 10000000,
    HEAP_LIMIT_KIB = 262144,
    NESTING_LIMIT = 100,
};

struct ts_split {
    pcre2_code *code;
    const char *file;
};

static const char REGEX[] = "pre_tokenizer.pattern.Regex";

static ts_status pcre_fail(int code, const char *file, ts_error *err)
{
    PCRE2_UCHAR text[120];
    if (code == PCRE2_ERROR_NOMEMORY)
        return ts_fail(err, TS_BAD, file, REGEX, "out of memory");
    pcre2_get_error_message(code, text, sizeof text);
    return ts_fail(err, TS_BAD, file, REGEX, "%s", (const char *)text);
}

static pcre2_code *compile(const char *pattern, int *error)
{
    const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE |
                             PCRE2_AUTO_CALLOUT | PCRE2_NO_START_OPTIMIZE;
    PCRE2_SIZE at;
    pcre2_code *code = NULL;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    *error = PCRE2_ERROR_NOMEMORY;
    if (context == NULL)
        return NULL;
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, NESTING_LIMIT);
    code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, error, &at, context);
    pcre2_compile_context_free(context);
    return code;
}

ts_status ts_split_compile_native(const char *file, const char *pattern, ts_split **out, ts_error *err)
{
    int error;
    ts_split *s = calloc(1, sizeof *s);
    if (s == NULL)
        return ts_no_memory(err, sizeof *s);
    s->code = compile(pattern, &error);
    if (s->code == NULL) {
        ts_split_free(s);
        return pcre_fail(error, file, err);
    }
    s->file = file;
    *out = s;
    return TS_OK;
}

ts_status ts_split_compile(const char *file, const char *regex, ts_split **out, ts_error *err)
{
    char *pattern;
    ts_status status = ts_split_rewrite(file, regex, &pattern, err);
    if (status != TS_OK)
        return status;
    status = ts_split_compile_native(file, pattern, out, err);
    free(pattern);
    return status;
}

void ts_split_free(ts_split *s)
{
    if (s == NULL)
        return;
    pcre2_code_free(s->code);
    free(s);
}

/* One call's matcher: a ts_split may be used by several threads. */
typedef struct {
    const ts_split *split;
    const char *text;
    size_t size;
    pcre2_match_context *context;
    pcre2_match_data *data;
    size_t steps, last; /* steps left; position at the last callout */
} matcher;

/* A step per item tried, and one per 16 bytes that the item before it ran over. */
static int count_step(pcre2_callout_block *block, void *data)
{
    matcher *m = data;
    size_t at = block->current_position;
    size_t cost = 1 + (at > m->last ? at - m->last : m->last - at) / 16;
    m->last = at;
    if (cost > m->steps)
        return PCRE2_ERROR_MATCHLIMIT;
    m->steps -= cost;
    return 0;
}

static ts_status open_matcher(matcher *m, ts_error *err)
{
    m->context = pcre2_match_context_create(NULL);
    m->data = pcre2_match_data_create(1, NULL);
    if (m->context == NULL || m->data == NULL)
        return ts_fail(err, TS_BAD, NULL, "text", "out of memory");
    pcre2_set_match_limit(m->context, MATCH_LIMIT);
    pcre2_set_depth_limit(m->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(m->context, HEAP_LIMIT_KIB);
    pcre2_set_callout(m->context, count_step, m);
    m->steps = STEPS_PER_BYTE * m->size + STEPS_AT_LEAST;
    return TS_OK;
}

/* The next match at or after `from`; *found false if there is none. */
static ts_status next_match(matcher *m, size_t from, bool *found, size_t *start, size_t *end, ts_error *err)
{
    m->last = from;
    int n = pcre2_match(m->split->code, (PCRE2_SPTR)m->text, m->size, from, PCRE2_NO_UTF_CHECK, m->data,
                        m->context);
    *found = n != PCRE2_ERROR_NOMATCH;
    if (!*found)
        return TS_OK;
    if (n == PCRE2_ERROR_MATCHLIMIT || n == PCRE2_ERROR_DEPTHLIMIT || n == PCRE2_ERROR_HEAPLIMIT)
        return ts_fail(err, TS_BAD, m->split->file, REGEX, "too much backtracking on the text (byte %zu of %zu)",
                       from, m->size);
    if (n < 0)
        return pcre_fail(n, m->split->file, err);
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(m->data);
    *start = span[0];
    *end = span[1];
    return TS_OK;
}

static size_t next_character(const matcher *m, size_t at)
{
    return at < m->size ? at + (size_t)ts_utf8_sequence(m->text + at, m->size - at) : at + 1;
}

static ts_status emit(const matcher *m, size_t from, size_t to, ts_piece_fn *piece, void *context, ts_error *err)
{
    return to > from ? piece(context, m->text + from, to - from, err) : TS_OK;
}

/* An empty match right after the last piece is passed over; any other one ends a gap. */
static ts_status split_all(matcher *m, ts_piece_fn *piece, void *context, ts_error *err)
{
    ts_status status = TS_OK;
    size_t from = 0, done = 0, start = 0, end = 0;
    bool found = true;
    while (status == TS_OK && from <= m->size) {
        status = next_match(m, from, &found, &start, &end, err);
        if (status != TS_OK || !found)
            break;
        if (start == end && end == done) {
            from = next_character(m, from);
            continue;
        }
        status = emit(m, done, start, piece, context, err);
        if (status == TS_OK)
            status = emit(m, start, end, piece, context, err);
        from = done = end;
    }
    return status == TS_OK ? emit(m, done, m->size, piece, context, err) : status;
}

ts_status ts_split_text(const ts_split *s, const char *text, size_t size, ts_piece_fn *piece, void *context,
                        ts_error *err)
{
    matcher m = {.split = s, .text = text, .size = size};
    if (size > INT32_MAX)
        return ts_fail(err, TS_BAD, NULL, "text", "%zu bytes in one part, more than 2^31-1", size);
    ts_status status = open_matcher(&m, err);
    if (status == TS_OK)
        status = split_all(&m, piece, context, err);
    pcre2_match_data_free(m.data);
    pcre2_match_context_free(m.context);
    return status;
}
