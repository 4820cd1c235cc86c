/* JSON from strangers: a strict scan of the text first (so that cJSON, which
 * is lenient and recurses, only ever sees well-formed and shallow input), then
 * cJSON, then a search for duplicate keys. */
#include "format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "format/file.h"

enum {
    MAX_DEPTH = 64,
    MAX_BYTES = 100000000,
    MAX_VALUES = 4000000, /* bounds memory: about 100 bytes each */
};

typedef struct {
    const unsigned char *text;
    size_t size, at, values;
    int depth;
    const char *file;
    ts_error *err;
} scanner;

static ts_status bad_byte(const scanner *s, const char *what)
{
    return ts_fail(s->err, TS_BAD, s->file, NULL, "%s at byte %zu", what, s->at);
}

/* Length of the UTF-8 sequence at text[0], or 0 if it is not one (overlong forms, surrogates and
 * anything above U+10FFFF included). */
static size_t utf8_length(const unsigned char *text, size_t size)
{
    if (text[0] < 0x80)
        return 1;
    size_t n = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
    if (text[0] < 0xC2 || text[0] > 0xF4 || size < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    if ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] >= 0xA0) ||
        (text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] >= 0x90))
        return 0;
    return n;
}

/* s->at is on the opening quote; leaves it after the closing one. */
static ts_status scan_string(scanner *s)
{
    size_t start = s->at++;
    while (s->at < s->size) {
        const unsigned char *p = s->text + s->at;
        size_t left = s->size - s->at;
        if (*p == '"') {
            s->at++;
            return TS_OK;
        }
        if (*p < 0x20)
            return bad_byte(s, *p == 0 ? "NUL" : "control character in a string");
        if (*p == '\\' && left >= 6 && memcmp(p, "\\u0000", 6) == 0)
            return bad_byte(s, "escaped NUL");
        if (*p == '\\' && left < 2)
            break;
        if (*p == '\\' && (p[1] == 0 || strchr("\"\\/bfnrtu", p[1]) == NULL))
            return bad_byte(s, "unknown escape");
        size_t n = *p == '\\' ? 2 : utf8_length(p, left);
        if (n == 0)
            return bad_byte(s, "invalid UTF-8");
        s->at += n;
    }
    s->at = start;
    return bad_byte(s, "unterminated string");
}

static size_t digits(const scanner *s)
{
    size_t n = 0;
    while (s->at + n < s->size && s->text[s->at + n] >= '0' && s->text[s->at + n] <= '9')
        n++;
    return n;
}

static bool next_is(const scanner *s, const char *set)
{
    return s->at < s->size && s->text[s->at] != 0 && strchr(set, s->text[s->at]) != NULL;
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?, at most 63 characters (cJSON's buffer). */
static ts_status scan_number(scanner *s)
{
    scanner start = *s;
    if (next_is(s, "-"))
        s->at++;
    size_t whole = digits(s);
    bool ok = whole == 1 || (whole > 1 && s->text[s->at] != '0');
    s->at += whole;
    if (next_is(s, ".")) {
        s->at++;
        ok = ok && digits(s) > 0;
        s->at += digits(s);
    }
    if (next_is(s, "eE")) {
        s->at++;
        s->at += next_is(s, "+-");
        ok = ok && digits(s) > 0;
        s->at += digits(s);
    }
    return ok && s->at - start.at <= 63 ? TS_OK : bad_byte(&start, "malformed number");
}

static ts_status scan_structure(scanner *s)
{
    unsigned char c = s->text[s->at];
    if (c == '{' || c == '[')
        s->depth++;
    if (c == '}' || c == ']')
        s->depth--;
    s->values += c == ',' || c == '{' || c == '[';
    if (s->depth > MAX_DEPTH)
        return bad_byte(s, "nested deeper than 64");
    if (s->values > MAX_VALUES)
        return bad_byte(s, "more than 4,000,000 values");
    if (c == 0 || strchr("{}[]:, \t\r\ntruefalsn", c) == NULL)
        return bad_byte(s, c == 0 ? "NUL" : "unexpected character");
    s->at++;
    return TS_OK;
}

static ts_status scan(scanner *s)
{
    ts_status status = TS_OK;
    while (status == TS_OK && s->at < s->size) {
        if (s->text[s->at] == '"')
            status = scan_string(s);
        else if (next_is(s, "-0123456789"))
            status = scan_number(s);
        else
            status = scan_structure(s);
    }
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ts_status unique_keys(const char *file, const cJSON *object, ts_error *err)
{
    size_t n = 0;
    for (const cJSON *i = object->child; i != NULL; i = i->next)
        n++;
    if (n < 2)
        return TS_OK;
    const char **name = malloc(n * sizeof *name);
    if (name == NULL)
        return ts_no_memory(err, n * sizeof *name);
    n = 0;
    for (const cJSON *i = object->child; i != NULL; i = i->next)
        name[n++] = i->string;
    qsort(name, n, sizeof *name, compare_names);
    ts_status status = TS_OK;
    for (size_t i = 1; i < n && status == TS_OK; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            status = ts_fail(err, TS_BAD, file, name[i], "duplicate key");
    free(name);
    return status;
}

/* Recursion is at most MAX_DEPTH deep. */
static ts_status unique_keys_below(const char *file, const cJSON *json, ts_error *err)
{
    ts_status status = cJSON_IsObject(json) ? unique_keys(file, json, err) : TS_OK;
    for (const cJSON *i = json->child; i != NULL && status == TS_OK; i = i->next)
        if (i->child != NULL)
            status = unique_keys_below(file, i, err);
    return status;
}

/* text is NUL terminated and has passed the scan. */
static ts_status parse_scanned(const char *file, const char *text, size_t size, cJSON **out, ts_error *err)
{
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithLengthOpts(text, size + 1, &end, 1);
    if (json == NULL) {
        size_t at = end == NULL ? 0 : (size_t)(end - text);
        const char *what = at >= size ? "not JSON: ends too early" : "not JSON";
        return ts_fail(err, TS_BAD, file, NULL, "%s (byte %zu of %zu)", what, at, size);
    }
    ts_status status = unique_keys_below(file, json, err);
    if (status == TS_OK)
        *out = json;
    else
        cJSON_Delete(json);
    return status;
}

ts_status ts_json_parse(const char *file, const char *text, size_t size, cJSON **out, ts_error *err)
{
    scanner s = {.text = (const unsigned char *)text, .size = size, .file = file, .err = err};
    if (size > MAX_BYTES)
        return ts_fail(err, TS_BAD, file, NULL, "JSON of %zu bytes, more than 100,000,000", size);
    ts_status status = scan(&s);
    if (status != TS_OK)
        return status;
    /* cJSON 1.7.15 reads one byte past an unterminated buffer. */
    char *copy = malloc(size + 1);
    if (copy == NULL)
        return ts_no_memory(err, size + 1);
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    status = parse_scanned(file, copy, size, out, err);
    free(copy);
    return status;
}

ts_status ts_json_load(const char *file, cJSON **out, ts_error *err)
{
    char *text;
    size_t size;
    ts_status status = ts_file_read(file, MAX_BYTES, &text, &size, err);
    if (status != TS_OK)
        return status;
    status = ts_json_parse(file, text, size, out, err);
    free(text);
    return status;
}

ts_status ts_json_save(const char *file, const cJSON *json, ts_error *err)
{
    char *text = cJSON_Print(json);
    if (text == NULL)
        return ts_fail(err, TS_BAD, file, NULL, "cannot print the JSON: out of memory");
    ts_out out;
    ts_status status = ts_out_open(&out, file, err);
    if (status == TS_OK) {
        status = ts_out_write(&out, text, strlen(text), err);
        if (status == TS_OK)
            status = ts_out_write(&out, "\n", 1, err);
        status = ts_out_close(&out, status, err);
    }
    cJSON_free(text);
    return status;
}

static const char *type_name(const cJSON *i)
{
    if (cJSON_IsNull(i))
        return "null";
    if (cJSON_IsBool(i))
        return "a boolean";
    if (cJSON_IsNumber(i))
        return "a number";
    if (cJSON_IsString(i))
        return "a string";
    return cJSON_IsArray(i) ? "a list" : "an object";
}

static ts_status wrong_type(const char *file, const char *key, const char *want, const cJSON *got, ts_error *err)
{
    return ts_fail(err, TS_BAD, file, key, "must be %s, is %s", want, type_name(got));
}

static ts_status member(const char *file, const cJSON *o, const char *key, const cJSON **out, ts_error *err)
{
    if (!cJSON_IsObject(o))
        return ts_fail(err, TS_BAD, file, key, "missing: what should hold it is not an object");
    *out = cJSON_GetObjectItemCaseSensitive(o, key);
    return *out != NULL ? TS_OK : ts_fail(err, TS_BAD, file, key, "missing");
}

static bool present(const cJSON *o, const char *key)
{
    const cJSON *i = cJSON_GetObjectItemCaseSensitive(o, key);
    return i != NULL && !cJSON_IsNull(i);
}

ts_status ts_json_int(const char *file, const cJSON *o, const char *key, int64_t lo, int64_t hi, int64_t *out,
                      ts_error *err)
{
    const cJSON *i;
    ts_status status = member(file, o, key, &i, err);
    if (status != TS_OK)
        return status;
    if (!cJSON_IsNumber(i))
        return wrong_type(file, key, "an integer", i, err);
    double x = i->valuedouble;
    /* From 2^53 on a double no longer tells neighbouring integers apart. */
    if (!(fabs(x) < 9007199254740992.0) || floor(x) != x)
        return ts_fail(err, TS_BAD, file, key, "%.17g is not an exact integer", x);
    if ((int64_t)x < lo || (int64_t)x > hi)
        return ts_fail(err, TS_BAD, file, key, "%.17g is outside %lld..%lld", x, (long long)lo, (long long)hi);
    *out = (int64_t)x;
    return TS_OK;
}

ts_status ts_json_double(const char *file, const cJSON *o, const char *key, double *out, ts_error *err)
{
    const cJSON *i;
    ts_status status = member(file, o, key, &i, err);
    if (status != TS_OK)
        return status;
    if (!cJSON_IsNumber(i))
        return wrong_type(file, key, "a number", i, err);
    if (!isfinite(i->valuedouble))
        return ts_fail(err, TS_BAD, file, key, "the number overflows a double");
    *out = i->valuedouble;
    return TS_OK;
}

ts_status ts_json_string(const char *file, const cJSON *o, const char *key, const char **out, ts_error *err)
{
    const cJSON *i;
    ts_status status = member(file, o, key, &i, err);
    if (status != TS_OK)
        return status;
    if (!cJSON_IsString(i))
        return wrong_type(file, key, "a string", i, err);
    *out = i->valuestring;
    return TS_OK;
}

ts_status ts_json_opt_int(const char *file, const cJSON *o, const char *key, int64_t lo, int64_t hi, int64_t *out,
                          ts_error *err)
{
    return present(o, key) ? ts_json_int(file, o, key, lo, hi, out, err) : TS_OK;
}

ts_status ts_json_opt_double(const char *file, const cJSON *o, const char *key, double *out, ts_error *err)
{
    return present(o, key) ? ts_json_double(file, o, key, out, err) : TS_OK;
}

ts_status ts_json_opt_bool(const char *file, const cJSON *o, const char *key, bool *out, ts_error *err)
{
    if (!present(o, key))
        return TS_OK;
    const cJSON *i = cJSON_GetObjectItemCaseSensitive(o, key);
    if (!cJSON_IsBool(i))
        return wrong_type(file, key, "a boolean", i, err);
    *out = cJSON_IsTrue(i);
    return TS_OK;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

ts_status ts_json_u64_string(const char *file, const cJSON *o, const char *key, uint64_t *out, ts_error *err)
{
    const char *text;
    ts_status status = ts_json_string(file, o, key, &text, err);
    if (status != TS_OK)
        return status;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *p = hex ? text + 2 : text;
    uint64_t base = hex ? 16 : 10, x = 0;
    bool ok = *p != '\0';
    for (; *p != '\0' && ok; p++) {
        uint64_t d = (uint64_t)digit_value(*p);
        ok = d < base && x <= (UINT64_MAX - d) / base;
        x = ok ? x * base + d : 0;
    }
    if (!ok)
        return ts_fail(err, TS_BAD, file, key, "\"%.40s\" is not an integer of 0..2^64-1", text);
    *out = x;
    return TS_OK;
}
