#include "check/pool.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/process.h"

enum { MOST = 64, GLANCE = 50 }; /* milliseconds between two looks whether silent children are still there */

/* One running child; what it sends is gathered in `bytes`. */
typedef struct {
    ts_process process; /* pid 0: the slot is free */
    size_t job, n, room;
    char *bytes;
    double until;
} slot;

typedef struct {
    const ts_pool *p;
    slot slot[MOST];
    size_t width, next, running;
} pool;

/* Under the name of what was under way, so that its repro line names it too. */
static void fail(const ts_pool *p, size_t job, const char *text)
{
    ts_report *r = p->part[job];
    char detail[512], now[sizeof r->now];
    const ts_finding *last = r->n ? &r->v[r->n - 1] : NULL;
    snprintf(now, sizeof now, "%s", r->now[0] ? r->now : "process");
    snprintf(detail, sizeof detail, "%s%s%s %s%s\n", text, last ? ", after the finding '" : "",
             last ? last->what : "", last ? last->output : "", last ? "'" : "");
    ts_report_add(r, now, "", TS_FAIL, 0, detail);
}

static void child(const pool *w, size_t job, int fd)
{
    for (size_t i = 0; i < w->width; i++)
        if (w->slot[i].process.pid > 0 && w->slot[i].process.fd != fd)
            close(w->slot[i].process.fd);
    ts_report r = {.quiet = true, .stream = fd};
    w->p->work(w->p->context, job, &r);
    _exit(ts_report_stream_end(&r) ? 0 : 1);
}

static void start(pool *w, slot *s)
{
    size_t job = w->next++;
    ts_process p;
    if (ts_process_start(&p) < 0) {
        char text[160];
        snprintf(text, sizeof text, "could not start a process: %s", strerror(errno));
        fail(w->p, job, text);
        w->p->done(w->p->context, job);
        return;
    }
    if (p.pid == 0)
        child(w, job, p.fd);
    *s = (slot){.process = p, .job = job, .until = ts_process_clock() + w->p->seconds};
    w->running++;
}

/* False at the end of what the child sends, or if it cannot be kept. */
static bool receive(slot *s, int seconds)
{
    if (s->room - s->n < 4096) {
        size_t room = s->room ? 2 * s->room : 65536;
        char *bytes = realloc(s->bytes, room);
        if (!bytes)
            return false;
        s->bytes = bytes;
        s->room = room;
    }
    ssize_t got = read(s->process.fd, s->bytes + s->n, s->room - s->n);
    if (got > 0) {
        s->n += (size_t)got;
        s->until = ts_process_clock() + seconds;
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

static void finish(pool *w, slot *s, bool hangs)
{
    char text[160], how[100];
    ts_process_end(&s->process);
    w->running--;
    if (!ts_report_stream_read(w->p->part[s->job], s->bytes, s->n)) {
        ts_process_describe(&s->process, how, sizeof how);
        if (hangs)
            snprintf(text, sizeof text, "the process of this case hangs: no result after %d seconds",
                     w->p->seconds);
        else
            snprintf(text, sizeof text, "the process of this case %s", how);
        fail(w->p, s->job, text);
    }
    free(s->bytes);
    w->p->done(w->p->context, s->job);
}

/* Ended is asked before poll, so that nothing a child wrote before its end is missed. */
static void attend(pool *w)
{
    struct pollfd fd[MOST];
    bool ended[MOST], any = false;
    for (size_t i = 0; i < w->width; i++) {
        const ts_process *p = &w->slot[i].process;
        fd[i] = (struct pollfd){.fd = p->pid > 0 ? p->fd : -1, .events = POLLIN};
        ended[i] = p->pid > 0 && ts_process_ended(p);
        any |= ended[i];
    }
    bool seen = poll(fd, (nfds_t)w->width, any ? 0 : GLANCE) >= 0;
    for (size_t i = 0; i < w->width; i++) {
        slot *s = &w->slot[i];
        bool late = ts_process_clock() > s->until;
        if (fd[i].fd < 0 || !seen)
            continue;
        if (fd[i].revents ? !receive(s, w->p->seconds) : ended[i] || late)
            finish(w, s, !fd[i].revents && !ended[i]);
    }
}

void ts_pool_run(const ts_pool *p)
{
    pool w = {.p = p, .width = p->width < 1 ? 1 : p->width > MOST ? MOST : p->width};
    while (w.next < p->n || w.running > 0) {
        for (size_t i = 0; i < w.width; i++)
            while (w.slot[i].process.pid == 0 && w.next < p->n)
                start(&w, &w.slot[i]);
        if (w.running > 0)
            attend(&w);
    }
}
