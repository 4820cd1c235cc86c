#include "chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* White space of Unicode, as str.strip() of the template's language takes it, in UTF-8. */
static const char *const spaces[] = {
    "\t",           "\n",           "\v",           "\f",           "\r",           " ",
    "\x1c",         "\x1d",         "\x1e",         "\x1f",         "\xc2\x85",     "\xc2\xa0",
    "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84",
    "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a",
    "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
};
enum { SPACES = sizeof spaces / sizeof *spaces };

typedef struct {
    const char *at;
    size_t n;
} span;

/* Bytes of white space at the start of s (at_end: at its end), or 0. */
static size_t space(span s, bool at_end)
{
    for (int i = 0; i < SPACES; i++) {
        size_t n = strlen(spaces[i]);
        if (n <= s.n && memcmp(at_end ? s.at + s.n - n : s.at, spaces[i], n) == 0)
            return n;
    }
    return 0;
}

static span trimmed(const char *text)
{
    span s = {text, strlen(text)};
    for (size_t n; (n = space(s, false)) > 0;)
        s = (span){s.at + n, s.n - n};
    for (size_t n; (n = space(s, true)) > 0;)
        s.n -= n;
    return s;
}

static bool is_tool_response(span s)
{
    static const char open[] = "<tool_response>", close[] = "</tool_response>";
    const size_t a = sizeof open - 1, b = sizeof close - 1;
    return s.n >= b && memcmp(s.at, open, a) == 0 && memcmp(s.at + s.n - b, close, b) == 0;
}

static size_t put(char *to, const char *role, span s)
{
    size_t head = (size_t)sprintf(to, "<|im_start|>%s\n", role);
    memcpy(to + head, s.at, s.n);
    return head + s.n + (size_t)sprintf(to + head + s.n, "<|im_end|>\n");
}

ts_status ts_chat_render(const char *system, const char *user, bool think, char **out, ts_error *err)
{
    enum { FRAMES = 160 }; /* more than all that is not content */
    span s = trimmed(system ? system : ""), u = trimmed(user);
    if (is_tool_response(u))
        return ts_fail(err, TS_BAD, NULL, "--chat", "the message is a tool's response; there is no question");
    size_t room = s.n + u.n + FRAMES, n = 0;
    char *y = malloc(room);
    if (!y)
        return ts_no_memory(err, room);
    if (system)
        n = put(y, "system", s);
    n += put(y + n, "user", u);
    sprintf(y + n, "<|im_start|>assistant\n<think>\n%s", think ? "" : "\n</think>\n\n");
    *out = y;
    return TS_OK;
}
