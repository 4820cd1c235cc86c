#include "check/check_cuts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "ref.h"

/* "all" means every composition of at most this many rows into pieces of 1 to 4; of more rows, every cut in two
 * and each row alone. */
enum { COMPOSED = 12, LARGEST = 4 };

typedef struct {
    ts_check *k;
    const ts_call *inputs, *ref;
    const ts_schedule *s; /* NULL: ref32 */
    long long done;
    bool failed;
} cutter;

static bool by_rows(const ts_field *f)
{
    return f->role >= TS_OUT && f->dim[0] && strcmp(f->dim[0], "T") == 0;
}

static void run(const cutter *u, const ts_call *c)
{
    ts_op_id id = (ts_op_id)(c->op - ts_op_table);
    if (u->s && (!u->s->accepts || u->s->accepts(c->args))) /* else the engine takes another for this piece */
        u->s->run(c->args, 0, ts_op_units(c->op, c->args));
    else
        ts_ref32.op(id, c->args);
}

/* What a piece wrote: its rows to their place, state and pools whole. */
static void take(ts_call *running, const ts_call *piece, int64_t t, int64_t T)
{
    for (int i = 0; i < TS_MAX_FIELDS && piece->op->field[i].name; i++) {
        if (!ts_call_is_output(piece, i) || !ts_call_has(running, i))
            continue;
        size_t row = by_rows(&piece->op->field[i]) ? running->size[i] / (size_t)T : 0;
        memcpy((char *)running->data[i] + (size_t)t * row, piece->data[i], piece->size[i]);
    }
}

static ts_status run_pieces(const cutter *u, const int64_t *rows, int n, ts_call *running, ts_error *err)
{
    const int64_t T = *ts_call_dim(u->inputs, "T");
    ts_status status = ts_call_copy(u->inputs, false, running, err);
    if (!status && u->s)
        ts_call_expose(running, u->s->exposes);
    int64_t t = 0;
    for (int i = 0; !status && i < n; t += rows[i++]) {
        ts_call piece;
        status = ts_call_slice(running, t, rows[i], &piece, err);
        if (status)
            break;
        if (u->s)
            ts_call_expose(&piece, u->s->exposes);
        run(u, &piece);
        take(running, &piece, t, T);
        ts_call_free(&piece);
    }
    return status;
}

static bool equal(const ts_call *a, const ts_call *b)
{
    for (int i = 0; i < TS_MAX_FIELDS && b->op->field[i].name; i++)
        if (ts_call_is_output(b, i)) {
            ts_comparison c;
            ts_tensor x = ts_call_tensor(a, i), y = ts_call_tensor(b, i);
            if (ts_compare(&x, &y, &c) != TS_OK)
                return false;
        }
    return true;
}

static void name_pieces(const int64_t *rows, int n, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "pieces of");
    for (int i = 0; i < n && at + 24 < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s %lld", i ? "," : "", (long long)rows[i]);
}

/* The verdict of every output, on the cut at hand. */
static void report(const cutter *u, const ts_call *got, const char *cut)
{
    char what[96];
    snprintf(what, sizeof what, "%.40s cut %.48s", u->s ? u->s->name : "ref32", cut);
    for (int i = 0; i < TS_MAX_FIELDS && got->op->field[i].name; i++)
        if (ts_call_is_output(got, i)) {
            ts_tensor a = ts_call_tensor(u->ref, i), b = ts_call_tensor(got, i);
            ts_check_equal(u->k, what, "whole", "in pieces", &a, &b);
        }
}

/* `last`: nothing differed so far, so this cut stands for all. */
static void try_cut(cutter *u, const int64_t *rows, int n, bool last)
{
    ts_call got;
    ts_error err = {0};
    if (u->failed)
        return;
    ts_status status = run_pieces(u, rows, n, &got, &err);
    if (status) {
        ts_report_error(u->k->report, "cuts", status, &err);
        u->failed = true;
    } else if (!equal(u->ref, &got)) {
        char cut[96];
        name_pieces(rows, n, cut, sizeof cut);
        report(u, &got, cut);
        u->failed = true;
    } else if (last) {
        char ways[32];
        snprintf(ways, sizeof ways, "%lld ways", u->done + 1);
        report(u, &got, ways);
    }
    u->done++;
    ts_call_free(&got);
}

/* Every way to go on from rows[0..n-1] for `left` more rows; pieces of one row come last. */
static void compose(cutter *u, int64_t rows[COMPOSED], int n, int64_t left)
{
    bool ones = true;
    for (int i = 0; i < n; i++)
        ones &= rows[i] == 1;
    if (left == 0)
        try_cut(u, rows, n, ones);
    for (int64_t piece = left < LARGEST ? left : LARGEST; piece >= 1; piece--) {
        rows[n] = piece;
        compose(u, rows, n + 1, left - piece);
    }
}

static void in_two_and_in_rows(cutter *u, int64_t *rows, int64_t T)
{
    for (int64_t t = 1; t < T; t++) {
        rows[0] = t;
        rows[1] = T - t;
        try_cut(u, rows, 2, false);
    }
    for (int64_t t = 0; t < T; t++)
        rows[t] = 1;
    try_cut(u, rows, (int)T, true);
}

static void listed(cutter *u, const cJSON *cuts, int64_t *rows)
{
    const cJSON *list, *piece;
    cJSON_ArrayForEach (list, cuts) {
        int n = 0;
        cJSON_ArrayForEach (piece, list)
            rows[n++] = piece->valueint;
        try_cut(u, rows, n, !list->next);
    }
}

void ts_check_cuts_of(ts_check *k, const ts_case *c, const ts_call *inputs, const ts_call *ref,
                      const ts_schedule *s)
{
    const cJSON *cuts = cJSON_GetObjectItemCaseSensitive(c->json, "cuts");
    const int64_t T = *ts_call_dim(inputs, "T");
    cutter u = {.k = k, .inputs = inputs, .ref = ref, .s = s};
    int64_t *rows = malloc((size_t)(T + COMPOSED) * sizeof *rows);
    if (!rows) {
        ts_report_add(k->report, "cuts", "", TS_FAIL, 0, "out of memory\n");
        return;
    }
    if (!cJSON_IsString(cuts))
        listed(&u, cuts, rows);
    else if (T <= COMPOSED)
        compose(&u, rows, 0, T);
    else
        in_two_and_in_rows(&u, rows, T);
    free(rows);
}

void ts_check_cuts(ts_check *k, const ts_case *c, ts_call *inputs, const ts_call *ref, const ts_schedule *s)
{
    char what[64];
    ts_error err = {0};
    if (!cJSON_GetObjectItemCaseSensitive(c->json, "cuts"))
        return;
    snprintf(what, sizeof what, "%.40s cut", s ? s->name : "ref32");
    ts_report_now(k->report, what);
    ts_status status = ts_call_pack(inputs, s ? s->packing : NULL, &err);
    if (status)
        ts_report_error(k->report, what, status, &err);
    else
        ts_check_cuts_of(k, c, inputs, ref, s);
}
