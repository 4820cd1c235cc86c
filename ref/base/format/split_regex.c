/* From Oniguruma's Ruby syntax to PCRE2. The two agree on most of what split patterns
 * use; \s is rewritten to the characters with White_Space (PCRE2's has U+180E
 * too), and whatever else they read differently is refused rather than guessed:
 * class intersections and nested classes, \w \b \h \v \R \X, scripts (PCRE2 means script
 * extensions), possessive intervals, flags other than (?i:...), back references.
 * ^ and $ are per line in Ruby: compile with PCRE2_MULTILINE. */
#include <stdlib.h>
#include <string.h>
#include "format/tokenizer_parts.h"

enum { MAX_REPEAT = 1000, MAX_GROWTH = 192 };

#define SPACES "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define NON_SPACES                                                                            \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}" \
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}"

typedef struct {
    const char *in; /* NUL terminated; `at` is the next character */
    size_t at;
    char *out; /* room for MAX_GROWTH times the input */
    size_t len;
    int depth, caseless; /* open groups; the depth of the outermost (?i:, or 0 */
    char literal;        /* the previous item if it was a literal, else 0 */
    const char *file;
    ts_error *err;
} rewriter;

static ts_status refuse(const rewriter *r, const char *what)
{
    return ts_fail(r->err, TS_BAD, r->file, "pre_tokenizer.pattern.Regex", "%s at byte %zu is not supported", what,
                   r->at);
}

static void put(rewriter *r, const char *text, size_t size)
{
    memcpy(r->out + r->len, text, size);
    r->len += size;
}

static void copy(rewriter *r, size_t size)
{
    put(r, r->in + r->at, size);
    r->at += size;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Escapes that stand for a set of characters. */
static bool is_set(const char *p)
{
    return p[0] == '\\' && p[1] != '\0' && strchr("sSdDpP", p[1]) != NULL;
}

/* \p{L}, \P{Lu}, \p{^N}: general categories only. */
static ts_status property(rewriter *r)
{
    const char *p = r->in + r->at + 2;
    size_t n = 0;
    if (p[n] == '{')
        n++;
    if (n == 1 && p[n] == '^')
        n++;
    size_t name = n;
    while (is_letter(p[n]) && n < name + 3)
        n++;
    bool known = name > 0 && n > name && n <= name + 2 && p[n] == '}' && strchr("LMNPSZC", p[name]) != NULL;
    if (!known)
        return refuse(r, "a property other than a general category (\\p{L}, \\p{Lu})");
    copy(r, 2 + n + 1);
    return TS_OK;
}

/* \x41 or \x{10ffff} */
static ts_status hexadecimal(rewriter *r)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *p = r->in + r->at + 2;
    size_t n = p[0] == '{' ? strspn(p + 1, digits) : strspn(p, digits);
    if (r->caseless > 0)
        return refuse(r, "a \\x escape under (?i:");
    if (p[0] == '{' && n > 0 && p[n + 1] == '}')
        copy(r, 2 + 1 + n + 1);
    else if (p[0] != '{' && n >= 2)
        copy(r, 4);
    else
        return refuse(r, "this \\x escape");
    return TS_OK;
}

static ts_status escape(rewriter *r, bool in_class)
{
    char c = r->in[r->at + 1];
    if (c == 's' || c == 'S') {
        const char *set = c == 's' ? SPACES : NON_SPACES;
        put(r, "[", in_class ? 0 : 1);
        put(r, set, strlen(set));
        put(r, "]", in_class ? 0 : 1);
        r->at += 2;
        return TS_OK;
    }
    if (c == 'p' || c == 'P')
        return property(r);
    if (c == 'x')
        return hexadecimal(r);
    bool same = c != '\0' && strchr("dDaefnrt", c) != NULL;
    bool punctuation = c > ' ' && c < 0x7F && !is_letter(c) && !is_digit(c);
    if (!same && !punctuation && c != ' ')
        return refuse(r, "this escape");
    copy(r, 2);
    return TS_OK;
}

/* A '-' in a class makes a range only between two characters. */
static ts_status hyphen(rewriter *r, bool first, bool after_set)
{
    const char *next = r->in + r->at + 1;
    if (!first && *next != ']' && (after_set || is_set(next)))
        return refuse(r, "a range that ends in a set");
    copy(r, 1);
    return TS_OK;
}

static ts_status class_item(rewriter *r, bool first, bool *after_set)
{
    const char *p = r->in + r->at;
    bool set = is_set(p);
    ts_status status = TS_OK;
    if (*p == '[')
        status = refuse(r, "a class inside a class");
    else if (p[0] == '&' && p[1] == '&')
        status = refuse(r, "a class intersection (&&)");
    else if (r->caseless > 0 && (*p & 0x80) != 0)
        status = refuse(r, "a non-ASCII character under (?i:");
    else if (*p == '\\')
        status = escape(r, true);
    else if (*p == '-')
        status = hyphen(r, first, *after_set);
    else
        copy(r, 1);
    *after_set = set;
    return status;
}

static ts_status class(rewriter *r)
{
    bool after_set = false;
    copy(r, 1);
    if (r->in[r->at] == '^')
        copy(r, 1);
    if (r->in[r->at] == ']')
        return refuse(r, "a class that starts with ]");
    ts_status status = TS_OK;
    for (bool first = true; status == TS_OK && r->in[r->at] != ']'; first = false)
        status = r->in[r->at] != '\0' ? class_item(r, first, &after_set) : refuse(r, "a class without end");
    if (status == TS_OK)
        copy(r, 1);
    return status;
}

static ts_status open_group(rewriter *r)
{
    static const char *const known[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:"};
    const char *p = r->in + r->at;
    size_t n = 1;
    if (p[1] == '?') {
        n = 0;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strncmp(p, known[i], strlen(known[i])) == 0)
                n = strlen(known[i]);
    }
    if (n == 0 || p[1] == '*')
        return refuse(r, "this kind of group");
    r->depth++;
    if (n == 4 && p[2] == 'i' && r->caseless == 0)
        r->caseless = r->depth;
    copy(r, n);
    return TS_OK;
}

static void close_group(rewriter *r)
{
    if (r->caseless == r->depth)
        r->caseless = 0;
    r->depth -= r->depth > 0;
    copy(r, 1);
}

/* {n}, {n,} or {n,m}: at most 1000, so that one step of the matcher stays small. */
static ts_status interval(rewriter *r)
{
    const char *p = r->in + r->at + 1;
    size_t n = 0;
    bool comma = false;
    for (int bound = 0; bound < 2 && is_digit(p[n]); bound++) {
        long value = 0;
        for (; is_digit(p[n]); n++)
            value = value <= MAX_REPEAT ? 10 * value + (p[n] - '0') : value;
        if (value > MAX_REPEAT)
            return refuse(r, "a repeat count above 1000");
        if (bound == 0 && p[n] == ',') {
            comma = true;
            n++;
        } else if (bound == 0) {
            break;
        }
    }
    if (n == 0 || p[n] != '}')
        return refuse(r, "a { that is not {n}, {n,} or {n,m}");
    if (p[n + 1] == '+' || (p[n + 1] == '?' && !comma))
        return refuse(r, "an interval followed by + or {n}?");
    copy(r, n + 2);
    return TS_OK;
}

/* Under (?i: Oniguruma also folds one character to several: these pairs, and some outside ASCII. */
static ts_status plain(rewriter *r)
{
    char c = r->in[r->at], lower = is_letter(c) ? (char)(c | 0x20) : c;
    char pair[3] = {r->literal, lower, '\0'};
    if (r->caseless > 0 && (c & 0x80) != 0)
        return refuse(r, "a non-ASCII character under (?i:");
    if (r->caseless > 0 && r->literal != 0 && strstr("ff fi fl ss st", pair) != NULL)
        return refuse(r, "ff, fi, fl, ss or st under (?i:");
    copy(r, 1);
    r->literal = is_letter(c) ? lower : '\0';
    return TS_OK;
}

static ts_status item(rewriter *r)
{
    char c = r->in[r->at];
    if (c != '\\' && c != '[' && c != '(' && c != ')' && c != '{')
        return plain(r);
    r->literal = '\0';
    if (c == '\\')
        return escape(r, false);
    if (c == '[')
        return class(r);
    if (c == '(')
        return open_group(r);
    if (c == '{')
        return interval(r);
    close_group(r);
    return TS_OK;
}

ts_status ts_split_rewrite(const char *file, const char *regex, char **out, ts_error *err)
{
    size_t size = strlen(regex);
    if (size > TS_MAX_REGEX_BYTES)
        return ts_fail(err, TS_BAD, file, "pre_tokenizer.pattern.Regex", "%zu bytes, more than %d", size,
                       (int)TS_MAX_REGEX_BYTES);
    rewriter r = {.in = regex, .file = file, .err = err, .out = malloc(MAX_GROWTH * size + 1)};
    if (r.out == NULL)
        return ts_no_memory(err, MAX_GROWTH * size + 1);
    ts_status status = TS_OK;
    while (status == TS_OK && regex[r.at] != '\0')
        status = item(&r);
    r.out[r.len] = '\0';
    if (status == TS_OK)
        *out = r.out;
    else
        free(r.out);
    return status;
}
