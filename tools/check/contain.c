#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, strsignal */
#include "check/contain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check/contain_child.h"
#include "check/process.h"

/* A trial under way. */
typedef struct {
    const ts_schedule *s;
    ts_trial *t;
    ts_outcome *o;
    ts_process child;
    int seconds, stream;
    double until;
    bool hangs;
} trial;

static const char *array_name(const ts_call *c, int guard)
{
    static const char *const parts[] = {"the matrix", "the matrix's scales", "the matrix's biases"};
    static const char *const others[] = {"the matrix struct", "the page table", "the v pool", "the args struct"};
    if (guard < TS_MAX_FIELDS)
        return c->op->field[guard].name;
    return guard < TS_GUARD_STRUCTS ? parts[(guard - TS_GUARD_MATRIX) % TS_MATRIX_PARTS]
                                    : others[guard - TS_GUARD_STRUCTS];
}

static const char *array_role(const ts_call *c, int guard)
{
    return guard < TS_MAX_FIELDS && c->op->field[guard].role != TS_IN ? "output" : "input";
}

/* ", 12 bytes past the end of output y", if the address lies by this array. */
static bool name_place(const ts_guard *g, const char *role, const char *name, const void *address, char *text,
                       size_t size)
{
    long long at, n = (long long)g->size;
    if (!ts_guard_holds(g, address, &at))
        return false;
    if (at >= n)
        snprintf(text, size, ", %lld bytes past the end of %s %s", at - n + 1, role, name);
    else if (at < 0)
        snprintf(text, size, ", %lld bytes before the start of %s %s", -at, role, name);
    else
        snprintf(text, size, ", writing to %s %s, byte %lld", role, name, at);
    return true;
}

static void name_address(const trial *r, char *text, size_t size)
{
    const ts_call *c = &r->t->call;
    const void *address = r->o->address;
    bool found = false;
    for (int i = 0; !found && i < TS_GUARDS; i++)
        found = name_place(&c->guard[i], array_role(c, i), array_name(c, i), address, text, size);
    for (int i = 0; !found && i < TS_MATRICES; i++)
        found = name_place(&r->o->packed[i], "the packed", "weights", address, text, size);
}

static void describe_signal(const trial *r, char *text, size_t size)
{
    static const char *const name[] = {
        [SIGSEGV] = "SIGSEGV", [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE", [SIGILL] = "SIGILL",
        [SIGABRT] = "SIGABRT", [SIGTRAP] = "SIGTRAP", [SIGSYS] = "SIGSYS",
    };
    int number = r->o->signal;
    char place[128] = "";
    if ((number != SIGSEGV && number != SIGBUS) || r->o->code <= 0) { /* raised, not caused, or of no address */
        snprintf(text, size, "crashed: %s", name[number]);
    } else if (r->o->code == SI_KERNEL) {
        snprintf(text, size,
                 "crashed: %s: a misaligned access (arrays are aligned to their elements only), or a "
                 "non-canonical address",
                 name[number]);
    } else {
        name_address(r, place, sizeof place);
        snprintf(text, size, "crashed: %s at 0x%" PRIxPTR "%s", name[number], (uintptr_t)r->o->address, place);
    }
}

/* How the child came to its end, behind what it was doing if that was not a run. */
static void describe_end(trial *r, char *text, size_t size)
{
    char how[200];
    ts_process_end(&r->child);
    r->t->died = true;
    if (r->hangs)
        snprintf(how, sizeof how, "hangs: no result after %d seconds", r->seconds);
    else if (r->o->signal)
        describe_signal(r, how, sizeof how);
    else
        ts_process_describe(&r->child, how, sizeof how);
    snprintf(text, size, "%s%s\n", r->o->doing ? r->o->doing : "", how);
}

/* The child's answer to it; false if none comes. */
static bool step(trial *r, int number)
{
    unsigned char byte = (unsigned char)number;
    if (send(r->child.fd, &byte, 1, MSG_NOSIGNAL) != 1)
        return false;
    ssize_t got = ts_process_read(&r->child, &byte, 1, r->until);
    r->hangs = got < 0;
    return got == 1 && byte == (unsigned char)number;
}

/* What a run that returned left in the outputs, and in the room before them. */
static void collect(ts_trial *t, const ts_trial_run_plan *p)
{
    const ts_call *c = &t->call;
    char *text = t->text[p->way];
    const size_t size = sizeof t->text[0];
    ts_call *to = &t->result[p->way][p->fill];
    int64_t element = 0;
    int field = -1;
    if (p->part < 0)
        ts_call_take(to, c);
    else
        field = ts_call_merge(to, c, &t->before[p->fill], &element);
    if (field >= 0 && !text[0])
        snprintf(text, size, "writes outside its range: element %lld of output %s is of two ranges\n",
                 (long long)element, c->op->field[field].name);
    for (int i = 0; i < TS_MAX_FIELDS; i++) {
        size_t bytes = c->guard[i].map ? ts_guard_underrun(&c->guard[i]) : 0;
        if (bytes && !text[0])
            snprintf(text, size, "wrote before the start of %s %s: %zu bytes before it\n", array_role(c, i),
                     array_name(c, i), bytes);
    }
}

/* What the ways from this run on did not do, which have not begun. */
static void skip_from(ts_trial *t, int run, const char *why)
{
    for (; run < TS_TRIAL_RUNS; run++) {
        int way = ts_trial_plan[run].way;
        t->skipped[way] = true;
        snprintf(t->text[way], sizeof t->text[way], "not run: %s\n", why);
    }
}

/* The runs from `first` on; the one to go on with in another child. */
static int run_all(trial *r, int first)
{
    ts_trial *t = r->t;
    for (int run = first; run < TS_TRIAL_RUNS; run++) {
        const ts_trial_run_plan *p = &ts_trial_plan[run];
        ts_call_take(&t->call, &t->before[p->fill]);
        if (step(r, TS_STEP_RUN + run)) {
            collect(t, p);
            continue;
        }
        describe_end(r, t->text[p->way], sizeof t->text[0]);
        while (run < TS_TRIAL_RUNS && ts_trial_plan[run].way == p->way)
            run++;
        if (!r->hangs)
            return run;
        skip_from(t, run, p->way ? "it hangs on 2 threads" : "it hangs");
        return TS_TRIAL_RUNS;
    }
    if (!step(r, TS_STEP_LEAVE))
        describe_end(r, t->problem, sizeof t->problem);
    return TS_TRIAL_RUNS;
}

/* One child; the run to go on with in another. */
static ts_status run_child(trial *r, int *run, ts_error *err)
{
    ts_trial *t = r->t;
    *r->o = (ts_outcome){0};
    if (ts_process_start(&r->child) < 0)
        return ts_fail(err, TS_BAD, NULL, NULL, "could not start a process for it: %s", strerror(errno));
    if (r->child.pid == 0) {
        if (r->stream > 0)
            close(r->stream);
        ts_contained(r->s, &t->call, r->o, r->child.fd);
    }
    bool alive = step(r, TS_STEP_ACCEPT), go = alive && !r->o->problem[0] && r->o->accepted;
    if (!alive)
        describe_end(r, t->problem, sizeof t->problem);
    if (!go)
        skip_from(t, *run, "it does not accept any more");
    t->accepted |= go;
    *run = go ? run_all(r, *run) : TS_TRIAL_RUNS;
    if (!t->problem[0])
        snprintf(t->problem, sizeof t->problem, "%s", r->o->problem);
    ts_process_end(&r->child);
    return TS_OK;
}

static ts_status make_calls(const ts_schedule *s, const ts_call *inputs, ts_trial *t, ts_error *err)
{
    ts_status status = ts_call_guarded(inputs, s->exposes, &t->call, err);
    for (int fill = 0; fill < TS_FILLS; fill++) {
        if (!status)
            status = ts_call_outputs(inputs, s->exposes, fill, &t->before[fill], err);
        for (int way = 0; !status && way < TS_WAYS; way++)
            status = ts_call_outputs(inputs, s->exposes, fill, &t->result[way][fill], err);
    }
    return status;
}

ts_status ts_trial_run(const ts_schedule *s, const ts_call *inputs, int seconds, int stream, ts_trial *out,
                       ts_error *err)
{
    memset(out, 0, sizeof *out);
    ts_status status = make_calls(s, inputs, out, err);
    void *map = mmap(NULL, sizeof(ts_outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!status && map == MAP_FAILED)
        status = ts_no_memory(err, sizeof(ts_outcome));
    trial r = {.s = s, .t = out, .o = map, .seconds = seconds, .stream = stream};
    r.until = ts_process_clock() + seconds;
    for (int run = 0; !status && run < TS_TRIAL_RUNS;)
        status = run_child(&r, &run, err);
    if (map != MAP_FAILED)
        munmap(map, sizeof(ts_outcome));
    if (status)
        ts_trial_free(out);
    return status;
}

void ts_trial_free(ts_trial *t)
{
    ts_call_free(&t->call);
    for (int fill = 0; fill < TS_FILLS; fill++) {
        ts_call_free(&t->before[fill]);
        for (int way = 0; way < TS_WAYS; way++)
            ts_call_free(&t->result[way][fill]);
    }
}
