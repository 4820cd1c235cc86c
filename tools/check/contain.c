#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "check/contain.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child leaves for its parent. */
typedef struct {
    volatile int run; /* the one under way: way * TS_FILLS + fill; all of them: done */
    volatile sig_atomic_t signal, code;
    const void *volatile address;
} outcome;

enum { RUNS = TS_WAYS * TS_FILLS };

static outcome *shared; /* of the one child at a time: a handler takes no argument */

static const struct {
    int number;
    const char *name;
    bool memory; /* it comes with an address */
} caught[] = {
    {SIGSEGV, "SIGSEGV", true},  {SIGBUS, "SIGBUS", true},    {SIGFPE, "SIGFPE", false}, {SIGILL, "SIGILL", false},
    {SIGABRT, "SIGABRT", false}, {SIGTRAP, "SIGTRAP", false}, {SIGSYS, "SIGSYS", false},
};
enum { CAUGHT = sizeof caught / sizeof *caught };

static void died(int number, siginfo_t *info, void *context)
{
    (void)context;
    shared->signal = number;
    shared->code = info->si_code;
    shared->address = info->si_addr;
    _exit(1);
}

/* On a stack of its own: the schedule's may be what overflowed. Replaces a sanitizer's handlers too, which allow it
 * (allow_user_segv_handler, their default). */
static void catch_signals(void)
{
    stack_t stack = {.ss_size = 64 * 1024};
    stack.ss_sp = malloc(stack.ss_size);
    if (stack.ss_sp)
        sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = died, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (int i = 0; i < CAUGHT; i++)
        sigaction(caught[i].number, &action, NULL);
}

typedef struct {
    const ts_schedule *s;
    const void *args;
    int64_t begin, end;
} range;

static void *run_range(void *context)
{
    const range *r = context;
    r->s->run(r->args, r->begin, r->end);
    return NULL;
}

/* Not ts_schedule_run, which spares small shapes the threads; and not OpenMP, of which a child process can only be
 * sure if its parents never used it. */
static void run_on_two_threads(const ts_schedule *s, const void *args, int64_t n)
{
    range half[2] = {{s, args, 0, n / 2}, {s, args, n / 2, n}};
    pthread_t thread;
    bool started = pthread_create(&thread, NULL, run_range, &half[0]) == 0;
    if (!started)
        run_range(&half[0]);
    run_range(&half[1]);
    if (started)
        pthread_join(thread, NULL);
}

static void run_way(const ts_schedule *s, const ts_call *c, int way)
{
    int64_t n = ts_op_units(c->op, c->args), a = n / 3, b = n - n / 4;
    if (way == TS_WAY_THREADS) {
        run_on_two_threads(s, c->args, n);
    } else if (way == TS_WAY_RANGES) {
        s->run(c->args, b, n);
        s->run(c->args, a, b);
        s->run(c->args, 0, a);
    } else {
        s->run(c->args, 0, n);
    }
}

/* A byte to `alive` after each run; the end of the process closes it. */
static void child(const ts_schedule *s, const ts_trial *t, int first, int alive)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* what a schedule prints must not get into the report */
    catch_signals();
    for (int run = first; run < RUNS; run++) {
        shared->run = run;
        run_way(s, &t->call[run / TS_FILLS][run % TS_FILLS], run / TS_FILLS);
        if (write(alive, "", 1) != 1)
            _exit(1);
    }
    shared->run = RUNS;
    _exit(0);
}

/* Until the child is gone; false: a run took longer than `seconds`. */
static bool wait_for_end(int alive, int seconds)
{
    struct pollfd p = {.fd = alive, .events = POLLIN};
    char bytes[RUNS];
    for (;;) {
        int n = poll(&p, 1, seconds * 1000);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        if (read(alive, bytes, sizeof bytes) <= 0)
            return true;
    }
}

static const char *array_name(const ts_call *c, int guard)
{
    static const char *const parts[] = {"the matrix", "the matrix's scales", "the matrix's biases",
                                        "the packed copy"};
    static const char *const others[] = {"the page table", "the v pool", "the args struct"};
    if (guard < TS_MAX_FIELDS)
        return c->op->field[guard].name;
    return guard < TS_GUARD_TABLE ? parts[(guard - TS_GUARD_MATRIX) % TS_MATRIX_PARTS]
                                  : others[guard - TS_GUARD_TABLE];
}

static const char *array_role(const ts_call *c, int guard)
{
    return guard < TS_MAX_FIELDS && c->op->field[guard].role != TS_IN ? "output" : "input";
}

/* ", 12 bytes past the end of output y", if the address lies by one of the call's arrays. */
static bool name_place(const ts_call *c, const void *address, char *text, size_t size)
{
    for (int i = 0; i < TS_GUARDS; i++) {
        long long at;
        if (!ts_guard_holds(&c->guard[i], address, &at))
            continue;
        const char *name = array_name(c, i), *role = array_role(c, i);
        long long n = (long long)c->guard[i].size;
        if (at >= n)
            snprintf(text, size, ", %lld bytes past the end of %s %s", at - n + 1, role, name);
        else if (at < 0)
            snprintf(text, size, ", %lld bytes before the start of %s %s", -at, role, name);
        else
            snprintf(text, size, ", writing to %s %s, byte %lld", role, name, at);
        return true;
    }
    return false;
}

static void describe_signal(const ts_trial *t, int way, int fill, char *text, size_t size)
{
    char place[128] = "";
    int i = 0;
    while (i < CAUGHT - 1 && caught[i].number != shared->signal)
        i++;
    if (!caught[i].memory || shared->code <= 0) { /* raised, not caused */
        snprintf(text, size, "crashed: %s\n", caught[i].name);
        return;
    }
    if (!name_place(&t->call[way][fill], shared->address, place, sizeof place))
        name_place(&t->call[0][0], shared->address, place, sizeof place);
    snprintf(text, size, "crashed: %s at 0x%" PRIxPTR "%s\n", caught[i].name, (uintptr_t)shared->address, place);
}

static void describe(const ts_trial *t, int way, int fill, int status, char *text, size_t size)
{
    if (shared->signal)
        describe_signal(t, way, fill, text, size);
    else if (WIFSIGNALED(status))
        snprintf(text, size, "crashed: %s\n", strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "ended the process with exit code %d\n", WEXITSTATUS(status));
}

/* One child, from run `first` on. Fills in the text of the way that ended it; the run to go on with. */
static int run_child(const ts_schedule *s, ts_trial *t, int first, int seconds)
{
    int alive[2] = {-1, -1}, status = 0, failed = first / TS_FILLS;
    *shared = (outcome){.run = first};
    fflush(NULL); /* or a schedule that calls exit would print it again */
    pid_t pid = pipe(alive) == 0 ? fork() : -1;
    if (pid == 0) {
        close(alive[0]);
        child(s, t, first, alive[1]);
    }
    if (pid < 0)
        snprintf(t->text[failed], sizeof t->text[failed], "could not start a process for it: %s\n",
                 strerror(errno));
    if (alive[1] >= 0)
        close(alive[1]);
    bool ended = pid > 0 && wait_for_end(alive[0], seconds);
    if (alive[0] >= 0)
        close(alive[0]);
    if (pid < 0)
        return RUNS;
    kill(pid, SIGKILL); /* changes nothing for one that has ended */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int run = shared->run;
    if (run < first || run >= RUNS)
        return RUNS;
    failed = run / TS_FILLS;
    if (ended) {
        describe(t, failed, run % TS_FILLS, status, t->text[failed], sizeof t->text[failed]);
        return (failed + 1) * TS_FILLS;
    }
    snprintf(t->text[failed], sizeof t->text[failed], "hangs: no result after %d seconds\n", seconds);
    for (int way = failed + 1; way < TS_WAYS; way++) {
        t->skipped[way] = true;
        snprintf(t->text[way], sizeof t->text[way], "not run: it hangs%s\n", failed ? " on 2 threads" : "");
    }
    return RUNS;
}

/* What a way that returned did to the room before its arrays. */
static void check_canaries(ts_trial *t, int way)
{
    for (int fill = 0; fill < TS_FILLS; fill++)
        for (int i = 0; i < TS_GUARDS; i++) {
            const ts_call *c = &t->call[way][fill];
            size_t bytes = c->guard[i].map ? ts_guard_underrun(&c->guard[i]) : 0;
            if (bytes && !t->text[way][0])
                snprintf(t->text[way], sizeof t->text[way],
                         "wrote before the start of %s %s: %zu bytes before it\n", array_role(c, i),
                         array_name(c, i), bytes);
        }
}

static ts_status make_calls(const ts_schedule *s, const ts_call *inputs, ts_trial *t, ts_error *err)
{
    ts_status status = TS_OK;
    for (int run = 0; !status && run < RUNS; run++)
        status = ts_call_guarded(inputs, run ? &t->call[0][0] : NULL, s->exposes, run % TS_FILLS,
                                 &t->call[run / TS_FILLS][run % TS_FILLS], err);
    return status;
}

ts_status ts_trial_run(const ts_schedule *s, const ts_call *inputs, int seconds, ts_trial *out, ts_error *err)
{
    memset(out, 0, sizeof *out);
    ts_status status = make_calls(s, inputs, out, err);
    void *map = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!status && map == MAP_FAILED)
        status = ts_no_memory(err, sizeof *shared);
    if (!status) {
        shared = map;
        for (int run = 0; run < RUNS;)
            run = run_child(s, out, run, seconds);
        for (int way = 0; way < TS_WAYS; way++)
            check_canaries(out, way);
    }
    if (map != MAP_FAILED)
        munmap(map, sizeof *shared);
    if (status)
        ts_trial_free(out);
    return status;
}

void ts_trial_free(ts_trial *t)
{
    for (int way = 0; way < TS_WAYS; way++)
        for (int fill = 0; fill < TS_FILLS; fill++)
            ts_call_free(&t->call[way][fill]);
}
