#include "check/contain_child.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const ts_trial_run_plan ts_trial_plan[TS_TRIAL_RUNS] = {
    {TS_WAY_WHOLE, 0, -1}, {TS_WAY_WHOLE, 1, -1}, {TS_WAY_THREADS, 0, -1}, {TS_WAY_THREADS, 1, -1},
    {TS_WAY_RANGES, 0, 0}, {TS_WAY_RANGES, 0, 1}, {TS_WAY_RANGES, 0, 2},   {TS_WAY_RANGES, 1, 2},
    {TS_WAY_RANGES, 1, 1}, {TS_WAY_RANGES, 1, 0},
};

static ts_outcome *outcome; /* a handler takes no argument */

static void died(int number, siginfo_t *info, void *context)
{
    (void)context;
    outcome->signal = number;
    outcome->code = info->si_code;
    outcome->address = info->si_addr;
    _exit(1);
}

/* On a stack of its own: the schedule's may be what overflowed. Replaces a sanitizer's handlers too, which allow it
 * (allow_user_segv_handler, their default). */
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

typedef struct {
    void (*run)(const void *what, int64_t begin, int64_t end);
    const void *what;
    int64_t begin, end;
} range;

static void *run_range(void *context)
{
    const range *r = context;
    r->run(r->what, r->begin, r->end);
    return NULL;
}

/* Not ts_schedule_run, which spares small shapes the threads; and not OpenMP, of which a child process can only be
 * sure if its parents never used it. */
void ts_on_two_threads(void (*run)(const void *what, int64_t begin, int64_t end), const void *what, int64_t n)
{
    range half[2] = {{run, what, 0, n / 2}, {run, what, n / 2, n}};
    pthread_t thread;
    bool started = pthread_create(&thread, NULL, run_range, &half[0]) == 0;
    if (!started)
        run_range(&half[0]);
    run_range(&half[1]);
    if (started)
        pthread_join(thread, NULL);
}

static void run_once(const ts_schedule *s, const ts_call *c, const ts_trial_run_plan *p)
{
    int64_t n = ts_op_units(c->op, c->args);
    const int64_t cut[] = {0, n / 3, n - n / 4, n};
    if (p->way == TS_WAY_THREADS)
        ts_on_two_threads(s->run, c->args, n);
    else if (p->way == TS_WAY_RANGES)
        s->run(c->args, cut[p->part], cut[p->part + 1]);
    else
        s->run(c->args, 0, n);
}

/* Of this process. */
static long threads(void)
{
    struct stat task;
    return stat("/proc/self/task", &task) == 0 ? (long)task.st_nlink - 2 : 0;
}

/* Those of a pool stay as many as the first run has started; one that has been joined takes a moment to go. */
static long threads_above(long most)
{
    const struct timespec moment = {.tv_nsec = 2000000};
    for (int i = 0; i < 50 && threads() > most; i++)
        nanosleep(&moment, NULL);
    return threads() - most;
}

static void look_behind(long most, char *problem, size_t size)
{
    long more = threads_above(most);
    if (waitpid(-1, NULL, WNOHANG) >= 0) /* those whose parents have ended too: see ts_process_start */
        snprintf(problem, size, "leaves a process behind\n");
    else if (more > 0)
        snprintf(problem, size, "leaves threads behind: after all runs there are %ld more than after the first\n",
                 more);
}

static void accept_call(const ts_schedule *s, ts_call *call)
{
    outcome->accepted = false;
    if (!ts_contained_pack(s->packing, call, outcome))
        return;
    outcome->doing = "accepts ";
    outcome->accepted = !s->accepts || s->accepts(call->args);
    outcome->doing = "";
}

_Noreturn void ts_contained(const ts_schedule *s, ts_call *call, ts_outcome *o, int fd)
{
    const pid_t self = getpid();
    long most = 0;
    unsigned char step;
    outcome = o;
    catch_signals();
    while (read(fd, &step, 1) == 1) {
        if (step == TS_STEP_ACCEPT)
            accept_call(s, call);
        else if (step == TS_STEP_LEAVE)
            look_behind(most, o->problem, sizeof o->problem);
        else
            run_once(s, call, &ts_trial_plan[step - TS_STEP_RUN]);
        most = most == 0 && step >= TS_STEP_RUN ? threads() : most;
        if (getpid() != self || write(fd, &step, 1) != 1) /* what a schedule forked may come back too */
            _exit(1);
    }
    _exit(0);
}
