#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound.h"
#include "check/call.h"
#include "check/check.h"
#include "check/check_cuts.h"
#include "check/contain.h"
#include "check/measure.h"
#include "num/convert.h"
#include "num/sha256.h"
#include "ref.h"

/* NaN payloads and signs are not part of the contract: hash one NaN for all. */
static void hash_tensor(const ts_tensor *t, char hex[TS_SHA256_HEX])
{
    if (t->dtype != TS_F32) {
        ts_sha256(t->data, t->size, hex);
        return;
    }
    ts_sha256_ctx *c = ts_sha256_new();
    for (size_t i = 0; c && i < t->size / 4; i++) {
        float x = ((const float *)t->data)[i];
        uint32_t u = isnan(x) ? 0x7fc00000u : ts_bits(x);
        ts_sha256_add(c, &u, sizeof u);
    }
    ts_sha256_end(c, hex);
}

/* ref32 against the hashes in the case. */
static void check_hashes(ts_check *k, ts_case *c, const ts_call *ref)
{
    for (int i = 0; i < TS_MAX_FIELDS && ref->op->field[i].name; i++) {
        if (!ts_call_is_output(ref, i))
            continue;
        ts_tensor t = ts_call_tensor(ref, i);
        char hex[TS_SHA256_HEX], detail[256];
        hash_tensor(&t, hex);
        if (k->o.rewrite) {
            ts_check_set_expect(c, t.name, hex);
            continue;
        }
        const char *want = ts_case_expect(c, t.name);
        bool same = want && strcmp(hex, want) == 0;
        snprintf(detail, sizeof detail, "sha256 of ref32's bits %s\nthe case expects       %s\n", hex,
                 want ? want : "nothing");
        ts_report_add(k->report, "ref32 = case", t.name, same ? TS_EXACT : TS_FAIL, 0, same ? NULL : detail);
    }
}

typedef struct {
    double worst; /* largest error / bound so far */
    char detail[1024];
    cJSON *measured; /* on the piece that failed */
} bound_result;

static void describe(bound_result *r, const ts_tensor *x, const ts_tensor *ref, int64_t i, double bound,
                     int64_t row0)
{
    int64_t row = x->ndim ? x->dim[x->ndim - 1] : 1;
    double a = ts_tensor_get(x, i), b = ts_tensor_get(ref, i);
    snprintf(r->detail, sizeof r->detail,
             "%s element %lld (row %lld, column %lld; the piece starts at token %lld): ref32 %.9g (%a), ref64p "
             "%.17g (%a)\n"
             "error %.3g, bound %.3g\n",
             x->name, (long long)i, (long long)(i / row), (long long)(i % row), (long long)row0, a, a, b, b,
             fabs(a - b), bound);
    size_t n = strlen(r->detail);
    FILE *f = fmemopen(r->detail + n, sizeof r->detail - n, "w");
    if (f) {
        ts_measure_print_ulps(f, ref, x);
        ts_measure_print_norms(f, ref, x);
        fclose(f);
    }
    r->measured = ts_measure_json(ref, x);
}

/* One output of one piece; keeps the first failure's text and the worst ratio. */
static void compare_bound(bound_result *r, const ts_tensor *x, const ts_tensor *ref, const double *bound,
                          int64_t row0)
{
    for (int64_t i = 0; i < ts_tensor_count(x); i++) {
        double a = ts_tensor_get(x, i), b = ts_tensor_get(ref, i), allowed = bound ? bound[i] : 0;
        bool sign = allowed == 0 && a == 0 && b == 0 && signbit(a) != signbit(b);
        if (!ts_bound_holds(a, b, allowed) || sign) {
            if (!r->detail[0])
                describe(r, x, ref, i, allowed, row0);
            r->worst = HUGE_VAL;
        } else if (a != b && allowed > 0 && fabs(a - b) / allowed > r->worst) {
            r->worst = fabs(a - b) / allowed;
        }
    }
}

static ts_status bound_field(const ts_call *x, const ts_call *ref, int i, const float *state, int64_t row0,
                             bound_result *r, ts_error *err)
{
    ts_tensor a = ts_call_tensor(x, i), b = ts_call_tensor(ref, i);
    double *bound = NULL;
    ts_status s = TS_OK;
    if (x->op->field[i].kind != TS_FIELD_KV) { /* stored values: equal */
        bound = malloc((size_t)ts_tensor_count(&a) * sizeof *bound + 1);
        s = bound ? ts_bound((ts_op_id)(x->op - ts_op_table), x->args, state, a.name, bound, err)
                  : ts_no_memory(err, (unsigned long)ts_tensor_count(&a) * sizeof *bound);
    }
    if (!s)
        compare_bound(r, &a, &b, bound, row0);
    free(bound);
    return s;
}

/* ref32 and ref64p on the same inputs, all outputs. `piece` holds the inputs and gets ref32's outputs. */
static ts_status bound_piece(ts_call *piece, int64_t row0, bound_result r[TS_MAX_FIELDS], ts_error *err)
{
    ts_call wide, before;
    ts_status s = ts_call_copy(piece, true, &wide, err);
    if (s)
        return s;
    s = ts_call_copy(piece, false, &before, err);
    int state = ts_call_field(piece, "state");
    ts_op_id id = (ts_op_id)(piece->op - ts_op_table);
    if (!s) {
        ts_ref32.op(id, piece->args);
        ts_ref64.op(id, wide.args);
    }
    for (int i = 0; !s && i < TS_MAX_FIELDS && piece->op->field[i].name; i++)
        if (ts_call_is_output(piece, i))
            s = bound_field(piece, &wide, i, state < 0 ? NULL : before.data[state], row0, &r[i], err);
    ts_call_free(&wide);
    ts_call_free(&before);
    return s;
}

/* A recurrence is bounded one step (or chunk) at a time, from ref32's own state. */
static int64_t piece_rows(const ts_call *c, int64_t t, int64_t T)
{
    const int64_t *pos = ts_call_dim(c, "pos"), *chunk = ts_call_dim(c, "chunk");
    int64_t n = T;
    if (strncmp(c->op->order, "gdn-step", strlen("gdn-step")) == 0)
        n = 1;
    else if (c->op == &ts_op_table[TS_OP_GDN_CHUNK64])
        n = 64 - (*pos + t) % 64;
    else if (chunk)
        n = *chunk - (*pos + t) % *chunk;
    return n < T - t ? n : T - t;
}

static ts_status bound_all(const ts_call *inputs, bound_result r[TS_MAX_FIELDS], ts_error *err)
{
    ts_call piece;
    int state = ts_call_field(inputs, "state");
    int64_t *dim = ts_call_dim(inputs, "T"), T = dim ? *dim : 1;
    if (piece_rows(inputs, 0, T) == T) {
        ts_status s = ts_call_copy(inputs, false, &piece, err);
        if (!s) {
            s = bound_piece(&piece, 0, r, err);
            ts_call_free(&piece);
        }
        return s;
    }
    ts_call running;
    ts_status s = ts_call_copy(inputs, false, &running, err);
    if (s)
        return s;
    for (int64_t t = 0, n; !s && t < T; t += n) {
        n = piece_rows(inputs, t, T);
        s = ts_call_slice(&running, t, n, &piece, err);
        if (s)
            break;
        s = bound_piece(&piece, t, r, err);
        memcpy(running.data[state], piece.data[state], running.size[state]);
        ts_call_free(&piece);
    }
    ts_call_free(&running);
    return s;
}

static void check_bound(ts_check *k, const ts_call *inputs)
{
    bound_result r[TS_MAX_FIELDS] = {{0}};
    ts_error err = {0};
    ts_status s = bound_all(inputs, r, &err);
    if (s)
        ts_report_error(k->report, "ref32 ~ ref64p", s, &err);
    for (int i = 0; i < TS_MAX_FIELDS && inputs->op->field[i].name; i++) {
        bool bad = r[i].detail[0] != 0;
        if (!s && ts_call_is_output(inputs, i))
            ts_report_add_measured(k->report, "ref32 ~ ref64p", inputs->op->field[i].name, bad ? TS_FAIL : TS_BOUND,
                                   bad ? 0 : r[i].worst, bad ? r[i].detail : NULL, r[i].measured);
        cJSON_Delete(r[i].measured);
    }
}

/* On exact inputs every order gives the same bits, so ref32 must equal ref64p too. */
static void check_exact(ts_check *k, const ts_call *inputs, const ts_call *ref)
{
    ts_call wide;
    ts_error err = {0};
    ts_status s = ts_call_copy(inputs, true, &wide, &err);
    if (s) {
        ts_report_error(k->report, "ref32 = ref64p", s, &err);
        return;
    }
    ts_ref64.op((ts_op_id)(inputs->op - ts_op_table), wide.args);
    for (int i = 0; i < TS_MAX_FIELDS && inputs->op->field[i].name; i++)
        if (ts_call_is_output(inputs, i)) {
            ts_tensor a = ts_call_tensor(ref, i), b = ts_call_tensor(&wide, i);
            bound_result r = {0};
            compare_bound(&r, &a, &b, NULL, 0);
            ts_report_add_measured(k->report, "ref32 = ref64p", a.name, r.detail[0] ? TS_FAIL : TS_EXACT, 0,
                                   r.detail[0] ? r.detail : NULL, r.measured);
            cJSON_Delete(r.measured);
        }
    ts_call_free(&wide);
}

static const char *const way_name[TS_WAYS] = {"", " (2 threads)", " (3 ranges)"};

/* An output of one way against ref32's bits: written at all, equal, and whatever it held before. */
static void check_output(ts_check *k, const ts_schedule *s, const ts_call call[TS_FILLS], const ts_call *ref, int i,
                         const char *what)
{
    int64_t first, n = ts_call_unwritten(&call[0], &call[1], i, &first);
    ts_tensor want = ts_call_tensor(ref, i), x = ts_call_tensor(&call[0], i), y = ts_call_tensor(&call[1], i);
    char text[256];
    snprintf(text, sizeof text, "element %lld left unwritten (%lld of %lld elements of %s are)\n", (long long)first,
             (long long)n, (long long)ts_tensor_count(&x), x.name);
    if (n > 0)
        ts_report_add(k->report, what, x.name, TS_FAIL, 0, text);
    else if (!ts_check_same(&want, &x))
        ts_check_equal(k, what, "ref32", s->name, &want, &x);
    else
        ts_check_equal(k, what, "ref32", "a second run, over other contents of the outputs", &want, &y);
}

static void report_ways(ts_check *k, const ts_schedule *s, const ts_trial *t, const ts_call *ref)
{
    for (int way = 0; way < TS_WAYS; way++) {
        char what[64];
        snprintf(what, sizeof what, "%.40s = ref32%s", s->name, way_name[way]);
        if (t->text[way][0])
            ts_report_add(k->report, what, "", t->skipped[way] ? TS_SKIP : TS_FAIL, 0, t->text[way]);
        for (int i = 0; !t->text[way][0] && i < TS_MAX_FIELDS && ref->op->field[i].name; i++)
            if (ts_call_is_output(&t->result[way][0], i))
                check_output(k, s, t->result[way], ref, i, what);
    }
}

/* Every way, in a child process, and then the cuts in this one. Did it accept, or fail to? */
static bool check_schedule(ts_check *k, const ts_schedule *s, const ts_case *c, ts_call *inputs, const ts_call *ref)
{
    ts_trial t;
    ts_error err = {0};
    ts_report_now(k->report, s->name);
    ts_status status = ts_trial_run(s, inputs, ts_check_seconds(k), k->report->stream, &t, &err);
    if (status) {
        ts_report_now(k->report, "");
        ts_report_error(k->report, s->name, status, &err);
        return true;
    }
    bool found = t.accepted || t.problem[0], sound = t.accepted && !t.died;
    if (t.accepted)
        report_ways(k, s, &t, ref);
    if (t.problem[0])
        ts_report_add(k->report, s->name, "", TS_FAIL, 0, t.problem);
    ts_trial_free(&t);
    if (sound)
        ts_check_cuts(k, c, inputs, ref, s);
    ts_report_now(k->report, "");
    return found;
}

static void check_schedules(ts_check *k, const ts_case *c, ts_call *inputs, const ts_call *ref)
{
    if (ts_call_kv_codes(inputs)) /* the reference's alone, as `accepts` of every schedule says */
        return;
    /* Asked for one schedule, or of what only the reference computes, nobody demands another. */
    bool found = k->o.schedule != NULL || inputs->op->ref_only;
    const ts_schedule *s;
    for (int i = 0; (s = ts_check_schedule_at(k, i)) != NULL; i++) {
        if (s->op != c->op || (k->o.schedule && strcmp(k->o.schedule, s->name) != 0))
            continue;
        if (strcmp(s->order, inputs->op->order) != 0)
            ts_report_add(k->report, s->name, "", TS_FAIL, 0, "its declared order is not the operation's\n");
        else if (!check_schedule(k, s, c, inputs, ref))
            continue;
        found = true;
    }
    if (!found)
        ts_report_add(k->report, "registry", "", TS_FAIL, 0, "no schedule accepts this case\n");
}

void ts_check_op_case(ts_check *k, ts_case *c)
{
    ts_call inputs, ref;
    ts_error err = {0};
    ts_report_begin(k->report, ts_op_table[c->op].name, c->name);
    if (k->o.seed)
        c->seed = strtoull(k->o.seed, NULL, 10);
    ts_status s = ts_call_from_case(c, &inputs, &err);
    if (s) {
        ts_report_error(k->report, "case", s, &err);
        return;
    }
    s = ts_call_copy(&inputs, false, &ref, &err);
    if (s) {
        ts_report_error(k->report, "case", s, &err);
        ts_call_free(&inputs);
        return;
    }
    ts_ref32.op(c->op, ref.args);
    if (!k->o.seed && !k->o.no_own)
        check_hashes(k, c, &ref);
    if (!k->o.rewrite) {
        check_bound(k, &inputs);
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(c->json, "exact")))
            check_exact(k, &inputs, &ref);
        ts_check_cuts(k, c, &inputs, &ref, NULL);
        check_schedules(k, c, &inputs, &ref);
    }
    ts_call_free(&ref);
    ts_call_free(&inputs);
}
