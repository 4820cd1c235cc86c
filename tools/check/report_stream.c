/* Findings from a process to its parent: structs as they are, for the same binary reads them, each with its texts
 * behind it. Findings whose verdict is none say what is under way, and end the stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/report.h"

enum { END = TS_VERDICTS, NOW };

typedef struct {
    ts_finding f;
    size_t detail, json; /* bytes with the final 0, or 0: none */
} record;

static bool write_all(int fd, const void *data, size_t size)
{
    const char *p = data;
    while (size > 0) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

void ts_report_stream_put(ts_report *r, const ts_finding *f)
{
    record x = {*f, f->detail ? strlen(f->detail) + 1 : 0, f->json ? strlen(f->json) + 1 : 0};
    if (!write_all(r->stream, &x, sizeof x) || !write_all(r->stream, f->detail, x.detail) ||
        !write_all(r->stream, f->json, x.json))
        r->lost = true;
}

void ts_report_stream_now(ts_report *r)
{
    ts_finding f = {.verdict = (ts_verdict)NOW};
    memcpy(f.what, r->now, sizeof f.what);
    ts_report_stream_put(r, &f);
}

bool ts_report_stream_end(ts_report *r)
{
    if (!r->lost)
        ts_report_stream_put(r, &(ts_finding){.verdict = (ts_verdict)END});
    return !r->lost;
}

/* The text of `size` bytes at *at, NULL if there is none. */
static char *take_text(ts_report *r, const char *bytes, size_t *at, size_t size)
{
    char *text = size ? malloc(size) : NULL;
    if (text)
        memcpy(text, bytes + *at, size);
    r->lost |= size && !text;
    *at += size;
    return text;
}

bool ts_report_stream_read(ts_report *r, const char *bytes, size_t size)
{
    record x;
    for (size_t at = 0; size - at >= sizeof x;) {
        memcpy(&x, bytes + at, sizeof x);
        at += sizeof x;
        if ((int)x.f.verdict == END)
            return at == size;
        if ((int)x.f.verdict == NOW) {
            ts_report_now(r, x.f.what);
            continue;
        }
        if ((unsigned)x.f.verdict > NOW)
            return false;
        if (x.detail > size - at || x.json > size - at - x.detail)
            return false;
        x.f.detail = take_text(r, bytes, &at, x.detail);
        x.f.json = take_text(r, bytes, &at, x.json);
        ts_report_keep(r, x.f);
    }
    return false;
}
