/* Bodies of residual_add schedules, each right but for one thing that its name says. For test_containment.c. */
#ifndef TS_TESTS_TOOLS_MISBEHAVE_H
#define TS_TESTS_TOOLS_MISBEHAVE_H

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "schedule.h"

static void add(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->y[i] = a->a[i] + a->b[i];
}

static void read_null(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    const float *volatile nowhere = (const float *)(uintptr_t)64; /* a null pointer the sanitizers do not know */
    add(args, begin, end);
    a->y[begin] = *nowhere;
}

static void loop(const void *args, int64_t begin, int64_t end)
{
    volatile int for_ever = 1;
    add(args, begin, end);
    while (for_ever)
        ;
}

static void write_past(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    float *volatile y = a->y;
    add(args, begin, end);
    y[a->n] = 1;
}

static void write_before(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    float *volatile y = a->y;
    add(args, begin, end);
    y[-1] = 1;
}

static void leave_one(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end > 700 && begin <= 700 ? 700 : end);
    if (end > 701)
        add(args, 701 > begin ? 701 : begin, end);
}

static void write_input(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    add(args, begin, end);
    *(float *)(uintptr_t)&a->a[begin] = 0;
}

static void leave(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    exit(0);
}

static void give_up(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    abort();
}

static void trap(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    raise(SIGFPE);
}

static void illegal(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    raise(SIGILL);
}

static void be_killed(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    raise(SIGKILL);
}

static void write_far_past(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    float *volatile y = a->y;
    add(args, begin, end);
    y[a->n + 10000] = 1;
}

static void read_past_input(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    const float *volatile b = a->b;
    add(args, begin, end);
    a->y[begin] += b[a->n] * 0;
}

static void write_args(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    ((ts_zip_args *)(uintptr_t)args)->n = 0;
}

/* Right where y holds anything but one of the fills. */
static void depend_on_output(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    uint32_t before;
    memcpy(&before, &a->y[begin], sizeof before);
    add(args, begin, end);
    if (before == 0x7fedbeefu)
        a->y[begin] = 0;
}

static volatile int depth_limit = 1 << 30;

static int overflow(int depth)
{
    volatile char page[4096];
    page[0] = (char)depth;
    return depth < depth_limit ? overflow(depth + 1) + page[0] : 0;
}

static void overflow_stack(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    add(args, begin, end);
    a->y[begin] = (float)overflow(0);
}

static void chatter(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    puts("noise");
    fflush(stdout);
}

static void all_nan(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->y[i] = NAN;
}

/* Right over the whole, wrong in a range that does not start at 0. */
static void wrong_ranges(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    add(args, begin, end);
    if (begin > 0)
        a->y[begin] = -a->y[begin];
}

/* Whatever the range. */
static void do_all(const void *args, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    add(args, 0, ((const ts_zip_args *)args)->n);
}

static void one_too_many(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    add(args, begin, end < a->n ? end + 1 : end);
}

static void misaligned(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    *(volatile char *)((uintptr_t)1 << 62) =
        1; /* no address at all, which x86-64 reports as it does misalignment */
}

static void leave_child(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    if (fork() == 0) {
        sleep(30);
        _exit(0);
    }
}

static void leave_daemon(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    if (begin == 0 && fork() == 0) {
        setsid();
        if (fork() == 0)
            sleep(3);
        _exit(0);
    }
}

static void come_back_twice(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    fork();
}

static void kill_group(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    kill(0, SIGTERM);
}

static void moment(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

typedef struct {
    const void *args;
    int64_t begin, end;
} work;

static void *later(void *context)
{
    work w = *(work *)context;
    free(context);
    moment(30);
    add(w.args, w.begin, w.end);
    return NULL;
}

static void detach(void *(*run)(void *), void *context)
{
    pthread_t t;
    pthread_create(&t, NULL, run, context);
    pthread_detach(t);
}

static void write_later(const void *args, int64_t begin, int64_t end)
{
    work *w = malloc(sizeof *w);
    *w = (work){args, begin, end};
    detach(later, w);
}

static void *wait_long(void *context)
{
    moment(5000);
    return context;
}

static void leave_thread(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    detach(wait_long, NULL);
}

static void start_pool(void)
{
    detach(wait_long, NULL);
}

static void keep_pool(const void *args, int64_t begin, int64_t end)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_pool);
    add(args, begin, end);
}

/* These arrays it has seen. */
static void cache_by_pointer(const void *args, int64_t begin, int64_t end)
{
    static const float *seen;
    const ts_zip_args *a = args;
    if (seen != a->y)
        add(args, begin, end);
    seen = a->y;
}

#endif
