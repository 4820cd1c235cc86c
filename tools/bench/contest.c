#include "bench/contest.h"

#include <stdlib.h>
#include <string.h>

#include "bench/footprint.h"
#include "rehearse.h"

/* Less than SMALL bytes stay in the innermost cache, whose bandwidth limits nothing. */
enum { MOST_SCHEDULES = 32, PART = 8, SMALL = 1 << 16 };

/* One schedule on the copies of its own layout. */
typedef struct {
    const ts_schedule *s;
    int threads;
    ts_copies copies;
} entrant;

typedef struct {
    const ts_contest_options *o;
    const ts_bench_problem *p;
    const ts_bench_shape *shape;
    bool dram;
    ts_call call;
    ts_match match;
    entrant entry[MOST_SCHEDULES];
    size_t n;
    ts_region scratch; /* for the bandwidth of an operation without a stream */
    ts_bandwidth bandwidth;
    ts_ggml_problem *ggml;
    ts_blas_problem *blas;
    ts_result *out;
} contest;

static const char *footprint(const contest *c)
{
    return c->dram ? "dram" : "cache";
}

static const ts_schedule *schedule_at(const ts_contest_options *o, int i)
{
    const ts_schedule *s = ts_schedule_at(i);
    if (s)
        return s;
    int own = 0;
    while (ts_schedule_at(own))
        own++;
    for (int j = 0; o->extra && o->extra[j]; j++)
        if (own + j == i)
            return o->extra[j];
    return NULL;
}

static bool selects(const ts_contest_options *o, const ts_schedule *s)
{
    return (!o->op || strcmp(ts_op_table[s->op].name, o->op) == 0) &&
           (!o->schedule || strcmp(s->name, o->schedule) == 0);
}

static const char *isa_missing(const char *name)
{
    const ts_schedule *s;
    for (int i = 0; (s = ts_schedule_absent(i)) != NULL; i++)
        if (strcmp(s->name, name) == 0)
            return s->isa;
    return NULL;
}

static bool has_problem(const ts_schedule *s)
{
    const ts_bench_problem *p;
    for (int i = 0; (p = ts_bench_problem_at(i)) != NULL; i++)
        if (p->op == s->op)
            return true;
    return false;
}

ts_status ts_contests_check(const ts_contest_options *o, ts_error *err)
{
    bool found = false;
    const ts_schedule *s;
    if (o->op && ts_op_find(o->op) == TS_OP_COUNT)
        return ts_fail(err, TS_USAGE, NULL, "--op", "no operation '%s'", o->op);
    for (int i = 0; (s = schedule_at(o, i)) != NULL; i++)
        found |= selects(o, s) && has_problem(s);
    if (!found && o->schedule && isa_missing(o->schedule))
        return ts_fail(err, TS_USAGE, NULL, "--schedule", "%s needs %s, which this CPU lacks or TS_CPU forbids",
                       o->schedule, isa_missing(o->schedule));
    if (!found && o->schedule)
        return ts_fail(err, TS_USAGE, NULL, "--schedule", "no schedule '%s'%s%s", o->schedule, o->op ? " of " : "",
                       o->op ? o->op : "");
    if (o->shape && !o->op)
        return ts_fail(err, TS_USAGE, NULL, "--shape", "needs --op");
    ts_bench_shape shape[TS_MAX_SHAPES];
    size_t n;
    const ts_bench_problem *p;
    for (int i = 0; o->shape && (p = ts_bench_problem_at(i)) != NULL; i++)
        if (p->op == ts_op_find(o->op) && ts_bench_shapes(p, o->shape, shape, &n, err))
            return TS_USAGE;
    return TS_OK;
}

static void run_schedule(void *context, int64_t copy)
{
    const entrant *e = context;
    ts_schedule_run(e->s, e->copies.args[copy], e->threads);
}

/* From a part of the units: shapes that take a slow schedule minutes are not worth a whole call. */
static double guess_schedule(void *context)
{
    const entrant *e = context;
    int64_t units = ts_op_units(&ts_op_table[e->s->op], e->copies.args[0]), part = units / PART ? units / PART : 1;
    double start = ts_now_on_core();
    e->s->run(e->copies.args[0], 0, part);
    return (ts_now_on_core() - start) * (double)units / (double)part / e->threads;
}

static void rehearse_schedule(void *context)
{
    const entrant *e = context;
    int64_t units = ts_op_units(&ts_op_table[e->s->op], e->copies.args[0]);
    e->s->run(e->copies.args[0], 0, units / PART ? units / PART : 1);
}

/* Foreign code that crashes costs a row, not the run. */
static bool plugin_survives(entrant *e, char *why, size_t size)
{
    return ts_schedule_find(e->s->name) == e->s || ts_rehearse(rehearse_schedule, e, 60, why, size) == TS_OK;
}

static bool accepts(const ts_schedule *s, const void *args)
{
    return !s->accepts || s->accepts(args);
}

/* Packs, asks, copies, enters. A shape that the schedule does not take is no finding. */
static ts_status enter(contest *c, const ts_schedule *s, ts_error *err)
{
    entrant *e = &c->entry[c->n];
    char why[160];
    double start = ts_now(), packed = 0;
    const ts_matrix *m = &c->call.matrix[0];
    const ts_packing *packing = m->N > 0 && ts_packing_bytes(s->packing, m) > 0 ? s->packing : NULL;
    ts_status status = ts_call_pack(&c->call, packing, err);
    packed = packing ? ts_now() - start : 0;
    if (status || !accepts(s, c->call.args))
        return status;
    *e = (entrant){.s = s, .threads = c->o->threads};
    ts_error memory = {0};
    if (ts_copies_new(&c->call, c->p->stream, c->dram, &e->copies, &memory)) {
        ts_result_skip(c->out, c->call.op->name, c->shape->text, footprint(c), s->name, memory.reason);
        return TS_OK;
    }
    c->n++;
    if (!plugin_survives(e, why, sizeof why)) {
        ts_result_skip(c->out, c->call.op->name, c->shape->text, footprint(c), s->name, why);
        return TS_OK;
    }
    bool portable = !s->isa && !s->packing && ts_schedule_find(s->name) == s;
    ts_contender *x = ts_match_add(&c->match, s->name, portable ? TS_PORTABLE : TS_SCHEDULE);
    x->run = run_schedule;
    x->guess = guess_schedule;
    x->context = e;
    x->copies = e->copies.copies;
    x->bytes = ts_bench_bytes(&c->call, e->copies.payload);
    x->macs = ts_bench_macs(&c->call);
    x->prepared = packed;
    return TS_OK;
}

static ts_status enter_all(contest *c, ts_error *err)
{
    const ts_schedule *s;
    ts_status status = TS_OK;
    for (int i = 0; !status && (s = schedule_at(c->o, i)) != NULL && c->n < MOST_SCHEDULES; i++)
        if (s->op == c->p->op && selects(c->o, s))
            status = enter(c, s, err);
    if (c->call.matrix[0].N > 0)
        ts_call_pack(&c->call, NULL, NULL);
    return status;
}

/* Over the first schedule's copies, or as many bytes as a call moves. */
static ts_status enter_bandwidth(contest *c, ts_error *err)
{
    const ts_copies *k = &c->entry[0].copies;
    int field = c->p->stream ? ts_call_field(&c->call, c->p->stream) : -1;
    bool update = field >= 0 && c->call.op->field[field].role == TS_INOUT;
    ts_bandwidth *b = &c->bandwidth;
    *b = (ts_bandwidth){ts_probe_best(), k->region.base, k->stride, k->stride, c->o->threads};
    if (k->stride == 0 && ts_bench_bytes(&c->call, k->payload) < SMALL)
        return TS_OK;
    if (k->stride == 0) {
        size_t bytes = ((size_t)ts_bench_bytes(&c->call, k->payload) + 511) / 512 * 512;
        ts_status s = ts_region_new(bytes, &c->scratch, err);
        if (s)
            return s;
        memset(c->scratch.base, 1, bytes);
        *b = (ts_bandwidth){ts_probe_best(), c->scratch.base, 0, bytes, c->o->threads};
    }
    ts_add_bandwidth(&c->match, b, k->copies, update);
    return TS_OK;
}

/* What a peer cannot do is a row that says so. */
static void enter_peers(contest *c)
{
    ts_error err = {0};
    const ts_matmul_a64s8_args *a = c->call.args;
    if (c->call.op == &ts_op_table[TS_OP_MATMUL_A64S8] && c->call.matrix[0].bits == 4 && c->o->ggml &&
        ts_ggml_enter(c->o->ggml, a->T, a->N, a->K, c->dram, c->o->threads, &c->match, &c->ggml, &err))
        ts_result_skip(c->out, c->call.op->name, c->shape->text, footprint(c), "ggml", err.reason);
    err = (ts_error){0};
    if (ts_bench_macs(&c->call) > 0 && a->T >= TS_BLAS_LEAST_ROWS && !c->dram && c->o->blas &&
        ts_blas_enter(c->o->blas, a->T, a->N, a->K, &c->match, &c->blas, &err))
        ts_result_skip(c->out, c->call.op->name, c->shape->text, footprint(c), "openblas.sgemm", err.reason);
}

static void leave(contest *c)
{
    for (size_t i = 0; i < c->n; i++)
        ts_copies_free(&c->entry[i].copies);
    ts_match_free(&c->match);
    ts_region_free(&c->scratch);
    ts_ggml_leave(c->ggml);
    ts_blas_leave(c->blas);
    ts_call_free(&c->call);
    free(c);
}

/* What the operation multiplies. */
static const char *unit(const contest *c)
{
    if (c->call.op == &ts_op_table[TS_OP_MATMUL_A64S8])
        return "int8";
    return c->call.op == &ts_op_table[TS_OP_MATMUL_DOT32] ? "f32" : "";
}

static ts_status hold(contest *c, ts_error *err)
{
    size_t begin = c->out->n;
    ts_status s = ts_bench_call(c->p, c->shape, &c->call, err);
    if (s)
        return s;
    s = enter_all(c, err);
    if (!s && c->n > 0)
        s = enter_bandwidth(c, err);
    if (s || c->n == 0)
        return s;
    ts_add_peak(&c->match, &c->out->quiet, unit(c));
    enter_peers(c);
    s = ts_match_run(&c->match, c->o->seconds, err);
    if (!s)
        s = ts_result_match(c->out, c->call.op->name, c->shape->text, footprint(c), &c->match, err);
    if (!s && !c->o->quiet)
        ts_result_print(c->out, begin, stdout);
    return s;
}

static ts_status one(const ts_contest_options *o, const ts_bench_problem *p, const ts_bench_shape *shape, bool dram,
                     ts_result *out, ts_error *err)
{
    contest *c = calloc(1, sizeof *c);
    if (!c)
        return ts_no_memory(err, sizeof *c);
    c->o = o;
    c->p = p;
    c->shape = shape;
    c->dram = dram;
    c->out = out;
    c->match.threads = o->threads;
    ts_status s = hold(c, err);
    leave(c);
    return s;
}

static ts_status problem(const ts_contest_options *o, const ts_bench_problem *p, ts_result *out, ts_error *err)
{
    ts_bench_shape shape[TS_MAX_SHAPES];
    size_t n;
    ts_status s = ts_bench_shapes(p, o->shape, shape, &n, err);
    for (size_t i = 0; !s && i < n; i++) {
        if (o->cache || !p->stream)
            s = one(o, p, &shape[i], false, out, err);
        if (!s && o->dram && p->stream)
            s = one(o, p, &shape[i], true, out, err);
    }
    return s;
}

ts_status ts_contests_run(const ts_contest_options *o, ts_result *out, ts_error *err)
{
    const ts_bench_problem *p;
    ts_status s = TS_OK;
    for (int i = 0; !s && (p = ts_bench_problem_at(i)) != NULL; i++)
        if (!o->op || ts_op_find(o->op) == p->op)
            s = problem(o, p, out, err);
    return s;
}
