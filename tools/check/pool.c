#define _DEFAULT_SOURCE /* strsignal */
#include "check/pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

/* One running child; what it sends is gathered in `bytes`. */
typedef struct {
    pid_t pid;
    size_t job, n, room;
    char *bytes;
} slot;

typedef struct {
    const ts_pool *p;
    slot slot[MOST];
    struct pollfd fd[MOST]; /* -1: the slot is free */
    size_t width, next, running;
} pool;

static void fail(const ts_pool *p, size_t job, const char *text)
{
    ts_report *r = p->part[job];
    char detail[512];
    const ts_finding *last = r->n ? &r->v[r->n - 1] : NULL;
    snprintf(detail, sizeof detail, "%s%s%s %s%s\n", text, last ? ", after the finding '" : "",
             last ? last->what : "", last ? last->output : "", last ? "'" : "");
    ts_report_add(r, "process", "", TS_FAIL, 0, detail);
}

static void child(const ts_pool *p, size_t job, int fd)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* what a schedule prints must not get into the report */
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], SIG_DFL); /* a handler of our caller's would go on with our caller's work */
    ts_report r = {.quiet = true, .stream = fd};
    p->work(p->context, job, &r);
    _exit(ts_report_stream_end(&r) ? 0 : 1);
}

static void start(pool *w, size_t i)
{
    int fd[2] = {-1, -1};
    size_t job = w->next++;
    fflush(NULL); /* or what is buffered could come out twice */
    pid_t pid = pipe(fd) == 0 ? fork() : -1;
    int error = errno;
    if (pid == 0) {
        close(fd[0]);
        child(w->p, job, fd[1]);
    }
    if (fd[1] >= 0)
        close(fd[1]);
    if (pid > 0) {
        w->slot[i] = (slot){.pid = pid, .job = job};
        w->fd[i] = (struct pollfd){.fd = fd[0], .events = POLLIN};
        w->running++;
        return;
    }
    char text[160];
    snprintf(text, sizeof text, "could not start a process: %s", strerror(error));
    if (fd[0] >= 0)
        close(fd[0]);
    fail(w->p, job, text);
    w->p->done(w->p->context, job);
}

/* False at the end of what the child sends, or if it cannot be kept. */
static bool receive(slot *s, int fd)
{
    if (s->room - s->n < 4096) {
        size_t room = s->room ? 2 * s->room : 65536;
        char *bytes = realloc(s->bytes, room);
        if (!bytes)
            return false;
        s->bytes = bytes;
        s->room = room;
    }
    ssize_t got = read(fd, s->bytes + s->n, s->room - s->n);
    if (got > 0)
        s->n += (size_t)got;
    return got > 0 || (got < 0 && errno == EINTR);
}

static void finish(pool *w, size_t i)
{
    slot *s = &w->slot[i];
    int status = 0;
    char text[160];
    close(w->fd[i].fd);
    w->fd[i].fd = -1;
    w->running--;
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!ts_report_stream_read(w->p->part[s->job], s->bytes, s->n)) {
        if (WIFSIGNALED(status))
            snprintf(text, sizeof text, "the process of this case died: %s", strsignal(WTERMSIG(status)));
        else
            snprintf(text, sizeof text, "the process of this case ended early, exit code %d", WEXITSTATUS(status));
        fail(w->p, s->job, text);
    }
    free(s->bytes);
    w->p->done(w->p->context, s->job);
}

void ts_pool_run(const ts_pool *p)
{
    pool w = {.p = p, .width = p->width < 1 ? 1 : p->width > MOST ? MOST : p->width};
    for (size_t i = 0; i < w.width; i++)
        w.fd[i].fd = -1;
    while (w.next < p->n || w.running > 0) {
        for (size_t i = 0; i < w.width; i++)
            while (w.fd[i].fd < 0 && w.next < p->n)
                start(&w, i);
        if (w.running == 0 || poll(w.fd, (nfds_t)w.width, -1) < 0)
            continue;
        for (size_t i = 0; i < w.width; i++)
            if (w.fd[i].fd >= 0 && w.fd[i].revents && !receive(&w.slot[i], w.fd[i].fd))
                finish(&w, i);
    }
}
