#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "check/contain.h"

#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the child leaves for its parent. */
typedef struct {
    volatile sig_atomic_t done, signal;
    const void *volatile address;
} outcome;

static outcome *shared; /* of the one child at a time: a handler takes no argument */

static void died(int number, siginfo_t *info, void *context)
{
    (void)context;
    shared->signal = number;
    shared->address = info->si_addr;
    _exit(1);
}

/* On a stack of its own: the schedule's may be what overflowed. */
static void catch_signals(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    stack_t stack = {.ss_size = 64 * 1024};
    stack.ss_sp = malloc(stack.ss_size);
    if (stack.ss_sp)
        sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = died, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

static void run_way(const ts_schedule *s, const ts_call *c, ts_way way)
{
    int64_t n = ts_op_units(c->op, c->args), a = n / 3, b = n - n / 4;
    if (way == TS_WAY_THREADS) {
        /* Not ts_schedule_run, which spares small shapes the threads. */
#pragma omp parallel num_threads(2)
        {
            int64_t i = omp_get_thread_num(), threads = omp_get_num_threads();
            s->run(c->args, n * i / threads, n * (i + 1) / threads);
        }
    } else if (way == TS_WAY_RANGES) {
        s->run(c->args, b, n);
        s->run(c->args, a, b);
        s->run(c->args, 0, a);
    } else {
        s->run(c->args, 0, n);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits for the child, at most `seconds`. SIGCHLD is blocked here but may be in none of the process's other threads
 * (the caller's, OpenBLAS's), and one of them may swallow it: hence the slices. */
static int wait_for(pid_t child, int seconds, bool *late)
{
    int status = 0;
    sigset_t set;
    const struct timespec slice = {.tv_nsec = 20 * 1000 * 1000};
    const double limit = now() + seconds;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    *late = false;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (now() > limit) {
            *late = true;
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            break;
        }
        sigtimedwait(&set, NULL, &slice);
    }
    return status;
}

/* "12 bytes past the end of y", if the address lies by one of the call's arrays. */
static void name_place(const ts_call *c, const void *address, char *text, size_t size)
{
    static const char *const matrix[] = {"the matrix", "its scales", "its biases"};
    for (int i = 0; i < TS_MAX_FIELDS + 3; i++) {
        long long at;
        if (!ts_guard_holds(&c->guard[i], address, &at))
            continue;
        const char *name = i < TS_MAX_FIELDS ? c->op->field[i].name : matrix[i - TS_MAX_FIELDS];
        long long n = (long long)c->guard[i].size;
        if (at >= n)
            snprintf(text, size, "%lld bytes past the end of %s", at - n + 1, name);
        else if (at < 0)
            snprintf(text, size, "%lld bytes before %s", -at, name);
        else
            snprintf(text, size, "writing to the input %s, byte %lld", name, at);
        return;
    }
    snprintf(text, size, "at address %p", address);
}

static ts_status describe(const ts_call *c, int status, bool late, int seconds, char *text, size_t size)
{
    char place[96];
    if (late) {
        snprintf(text, size, "hangs: no result after %d seconds\n", seconds);
    } else if (shared->signal) {
        name_place(c, shared->address, place, sizeof place);
        bool memory = shared->signal == SIGSEGV || shared->signal == SIGBUS;
        snprintf(text, size, "crashed: %s%s%s\n", strsignal(shared->signal), memory ? ", " : "",
                 memory ? place : "");
    } else if (WIFSIGNALED(status)) {
        snprintf(text, size, "crashed: %s\n", strsignal(WTERMSIG(status)));
    } else if (!shared->done) {
        snprintf(text, size, "ended the process with exit code %d\n", WEXITSTATUS(status));
    } else {
        for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name; i++)
            if (c->guard[i].map && ts_guard_underrun(&c->guard[i])) {
                snprintf(text, size, "wrote before the start of %s: %zu bytes before it\n", c->op->field[i].name,
                         ts_guard_underrun(&c->guard[i]));
                return TS_DIFFERS;
            }
        return TS_OK;
    }
    return TS_DIFFERS;
}

/* Called from a process that has not used OpenMP, so that the child may start threads of its own. */
ts_status ts_contain(const ts_schedule *s, const ts_call *c, ts_way way, int seconds, char *text, size_t size)
{
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &old);
    void *map = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = map == MAP_FAILED ? NULL : map;
    fflush(NULL); /* or a schedule that calls exit would print it again */
    pid_t child = shared ? fork() : -1;
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &old, NULL);
        catch_signals();
        run_way(s, c, way);
        shared->done = 1;
        _exit(0);
    }
    ts_status result = TS_DIFFERS;
    snprintf(text, size, "could not start a process for it: %s\n", strerror(errno));
    if (child > 0) {
        bool late;
        int status = wait_for(child, seconds, &late);
        result = describe(c, status, late, seconds, text, size);
    }
    if (shared)
        munmap(map, sizeof *shared);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return result;
}
