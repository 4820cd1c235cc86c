/* UTF-8: validation, and streaming of bytes that come in arbitrary pieces. */
#include <string.h>
#include "format/tokenizer.h"
#include "format/tokenizer_parts.h"

int ts_utf8_sequence(const char *p, size_t n)
{
    unsigned char first = (unsigned char)p[0];
    if (first < 0x80)
        return 1;
    if (first < 0xC2 || first > 0xF4)
        return -1;
    int want = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    /* The second byte is where overlong forms, surrogates and values above U+10FFFF show. */
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    for (int i = 1; i < want; i++, low = 0x80, high = 0xBF) {
        if ((size_t)i == n)
            return 0;
        unsigned char c = (unsigned char)p[i];
        if (c < low || c > high)
            return -i;
    }
    return want;
}

ts_status ts_utf8_check(const char *text, size_t size, const char *file, const char *key, ts_error *err)
{
    for (size_t i = 0; i < size;) {
        int n = ts_utf8_sequence(text + i, size - i);
        if (n <= 0)
            return ts_fail(err, TS_BAD, file, key, "not UTF-8: byte %zu (0x%02x) %s", i,
                           (unsigned)(unsigned char)text[i],
                           n == 0 ? "starts a sequence cut off at the end" : "starts no valid sequence");
        i += (size_t)n;
    }
    return TS_OK;
}

static size_t put_replacement(char *out)
{
    memcpy(out, "\xEF\xBF\xBD", 3);
    return 3;
}

/* Emits what s->held has made complete or impossible; keeps the rest. */
static size_t drain(ts_utf8_stream *s, char *out)
{
    size_t written = 0;
    while (s->n > 0) {
        int n = ts_utf8_sequence(s->held, (size_t)s->n);
        if (n == 0)
            break;
        int taken = n > 0 ? n : -n;
        if (n > 0) {
            memcpy(out + written, s->held, (size_t)n);
            written += (size_t)n;
        } else {
            written += put_replacement(out + written);
        }
        s->n -= taken;
        memmove(s->held, s->held + taken, (size_t)s->n);
    }
    return written;
}

size_t ts_utf8_push(ts_utf8_stream *s, const char *bytes, size_t size, char *out)
{
    size_t written = 0;
    for (size_t i = 0; i < size; i++) {
        s->held[s->n++] = bytes[i];
        written += drain(s, out + written);
    }
    return written;
}

size_t ts_utf8_flush(ts_utf8_stream *s, char *out)
{
    size_t written = s->n > 0 ? put_replacement(out) : 0;
    s->n = 0;
    return written;
}
