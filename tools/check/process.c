#define _DEFAULT_SOURCE /* strsignal */
#include "check/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GLANCE = 50 }; /* milliseconds between two looks whether a silent child is still there */

double ts_process_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A handler of the caller's would go on with the caller's work. */
static void settle_in(void)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGALRM, SIGTERM};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);   /* descendants whose parents have ended come to this process */
    dup2(STDERR_FILENO, STDOUT_FILENO); /* what foreign code prints must not get into the report */
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], SIG_DFL);
}

pid_t ts_process_start(ts_process *p)
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
        return -1;
    fflush(NULL); /* or what is buffered could come out twice */
    pid_t pid = fork();
    close(fd[pid != 0]);
    if (pid < 0)
        close(fd[0]);
    if (pid == 0)
        settle_in();
    else if (pid > 0)
        setpgid(pid, pid); /* whoever comes first */
    *p = (ts_process){.pid = pid, .fd = fd[pid == 0]};
    return pid;
}

/* It stays a zombie, so that no other process or group gets its number. */
bool ts_process_ended(const ts_process *p)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == p->pid;
}

ssize_t ts_process_read(const ts_process *p, void *to, size_t size, double until)
{
    for (;;) {
        double left = until - ts_process_clock();
        bool ended = ts_process_ended(p); /* asked first, so that nothing it wrote before is missed */
        struct pollfd fd = {.fd = p->fd, .events = POLLIN};
        int ready = poll(&fd, 1, ended || left <= 0 ? 0 : GLANCE);
        ssize_t got = ready > 0 ? read(p->fd, to, size) : -1;
        if (got >= 0)
            return got;
        if (ended || (ready > 0 && errno == ECONNRESET))
            return 0;
        if (left <= 0)
            return -1;
    }
}

static bool end_children(void)
{
    char path[64];
    long pid = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%ld", &pid) == 1) {
        kill((pid_t)pid, SIGKILL);
        waitpid((pid_t)pid, NULL, 0);
    }
    if (f)
        fclose(f);
    return pid > 0;
}

/* What left the group of an ended child comes to us if we are such a process: we have one child at a time. */
static void end_strays(void)
{
    int reaper = 0;
    bool more = prctl(PR_GET_CHILD_SUBREAPER, &reaper) == 0 && reaper;
    for (int i = 0; more && i < 100; i++) /* those of a stray come next */
        more = end_children();
}

void ts_process_end(ts_process *p)
{
    if (p->pid <= 0)
        return;
    kill(-p->pid, SIGKILL); /* changes nothing for one that has ended */
    while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR)
        ;
    close(p->fd);
    p->pid = 0;
    end_strays();
}

void ts_process_describe(const ts_process *p, char *text, size_t size)
{
    if (WIFSIGNALED(p->status))
        snprintf(text, size, "crashed: %s", strsignal(WTERMSIG(p->status)));
    else
        snprintf(text, size, "ended the process with exit code %d", WEXITSTATUS(p->status));
}
