/* touchstone op: one operation on the user's own tensors, with a model's weights. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "op_call.h"
#include "op_list.h"
#include "options.h"
#include "ref.h"
#include "schedule.h"
#include "session.h"
#include "tool.h"

typedef enum { REF32, REF64, FAST, ENGINES } engine;

static const char *const engine_name[ENGINES] = {"ref32", "ref64", "fast"};

enum { MAX_OUTPUTS = 4 };

typedef struct {
    ts_tensor t[MAX_OUTPUTS];
    bool state[MAX_OUTPUTS]; /* read and written: the file has it under its name as input */
    int n;
} results;

/* One output in the end: how it compares. */
typedef struct {
    const ts_tensor *primary, *fast, *expected; /* expected in the file's dtype: owned, or NULL */
    void *narrowed;
    ts_tensor ours;
    ts_comparison engines, file;
    double max_abs, scale; /* of ref64 against ref32 */
} verdict;

typedef struct {
    const char *model, *op, *weight, *in_path, *out_path, *engine, *profile_name;
    int64_t layer, threads, rows;
    bool json, list;
    bool run[ENGINES];
    engine primary; /* whose outputs are written, and compared with the file's */
    bool codes;     /* matmul in class A64S8: x is quantised first */
    ts_op_source s;
    ts_weights *w;
    ts_inputs in;
    results r[ENGINES];
    verdict v[MAX_OUTPUTS];
} job;

static int parse(int argc, char **argv, job *j)
{
    const ts_option options[] = {
        {"model", 'm', TS_OPT_TEXT, &j->model, 0, 0, "DIR", "checkpoint folder; only what is needed of it is read"},
        {"layer", 'l', TS_OPT_INT, &j->layer, 0, INT32_MAX, "N", "whose weights are used"},
        {"op", 0, TS_OPT_TEXT, &j->op, 0, 0, "NAME", "one of --list, or matmul: the profile's class"},
        {"list", 0, TS_OPT_FLAG, &j->list, 0, 0, NULL, "print the operations, their dims, parameters and tensors"},
        {"weight", 'w', TS_OPT_TEXT, &j->weight, 0, 0, "ROLE",
         "of rmsnorm and matmul: q_proj, input_norm, head, ..."},
        {"in", 'i', TS_OPT_TEXT, &j->in_path, 0, 0, "FILE", "the inputs by name, .safetensors"},
        {"out", 'o', TS_OPT_TEXT, &j->out_path, 0, 0, "FILE", "write the outputs, .safetensors"},
        {"engine", 'e', TS_OPT_TEXT, &j->engine, 0, 0, "E", "all (default: compare them), ref32, ref64 or fast"},
        {"profile", 0, TS_OPT_TEXT, &j->profile_name, 0, 0, "P", "ts (default) or exact"},
        {"threads", 't', TS_OPT_INT, &j->threads, 1, TS_MAX_THREADS, "N", "of fast; the bits do not depend on it"},
        {"rows", 'r', TS_OPT_INT, &j->rows, 0, 1000, "N", "rows to print side by side (4)"},
        {"json", 0, TS_OPT_FLAG, &j->json, 0, 0, NULL, "the result as a JSON object"},
    };
    ts_command_line c = {
        .usage = "op --op NAME --in FILE [--model DIR [--layer N] [--weight ROLE]] [-o FILE] [OPTIONS] | op --list",
        .option = options,
        .n = sizeof options / sizeof *options,
    };
    return ts_options_parse(argc, argv, &c);
}

static ts_status choose_engines(job *j, ts_error *err)
{
    bool all = strcmp(j->engine, "all") == 0, any = all;
    for (engine e = REF32; e < ENGINES; e++) {
        j->run[e] = all || strcmp(j->engine, engine_name[e]) == 0;
        any |= j->run[e];
        if (j->run[e] && !all)
            j->primary = e;
    }
    return any ? TS_OK
               : ts_fail(err, TS_USAGE, NULL, "--engine", "'%s' is none of all, ref32, ref64, fast", j->engine);
}

static ts_status check_usage(job *j, ts_error *err)
{
    if (!j->op || !j->in_path)
        return ts_fail(err, TS_USAGE, NULL, j->op ? "--in" : "--op",
                       j->op ? "is required" : "is required; op --list prints them");
    j->s.id = ts_op_find(strcmp(j->op, "matmul") == 0 ? "matmul_dot32" : j->op);
    if (j->s.id == TS_OP_COUNT)
        return ts_fail(err, TS_USAGE, NULL, "--op", "'%s' is no operation (touchstone op --list)", j->op);
    if (j->s.id == TS_OP_MLA_ATTENTION || j->s.id == TS_OP_MLA_ABSORBED)
        return ts_fail(err, TS_USAGE, NULL, "--op", "%s reads a latent cache, which files cannot hold yet", j->op);
    if (ts_op_lacks_matrix(j->s.id))
        return ts_fail(err, TS_USAGE, NULL, "--op", "%s reads a matrix, and takes none from a model yet", j->op);
    if (ts_op_wants_weight(j->s.id) && !j->weight)
        return ts_fail(err, TS_USAGE, NULL, "--weight", "is required: %s has several", j->op);
    if (!ts_op_wants_weight(j->s.id) && j->weight)
        return ts_fail(err, TS_USAGE, NULL, "--weight", "%s has no choice of weights", j->op);
    bool layer = ts_op_wants_layer(j->s.id, j->weight);
    if (layer && j->layer < 0)
        return ts_fail(err, TS_USAGE, NULL, "--layer", "is required");
    j->s.layer = layer ? j->layer : -1;
    j->s.weight = j->weight;
    j->s.profile = ts_profile_find(j->profile_name);
    if (!j->s.profile)
        return ts_fail(err, TS_USAGE, NULL, "--profile", "'%s' is none of %s", j->profile_name, ts_profile_names());
    return choose_engines(j, err);
}

/* matmul: the class that the profile demands for this matrix, as every linear of a forward pass. */
static void choose_class(job *j)
{
    const ts_matrix *m = strcmp(j->op, "matmul") == 0 ? ts_weights_matrix(j->w, j->s.layer, j->weight) : NULL;
    j->codes = m && ts_profile_codes(j->s.profile) && ts_matrix_is_a64s8(m);
    if (j->codes)
        j->s.id = TS_OP_MATMUL_A64S8;
}

static ts_status open_all(job *j, ts_error *err)
{
    ts_status status = ts_inputs_open(j->in_path, &j->in, err);
    bool angles = !status && j->s.id == TS_OP_ROPE &&
                  (ts_inputs_find(&j->in, "cos") || ts_inputs_find(&j->in, "sin"));
    bool model = ts_op_wants_model(j->s.id) && (j->model || !angles);
    if (!status && model && !j->model)
        return ts_fail(err, TS_USAGE, NULL, "--model", "is required: %s takes weights or constants from it", j->op);
    if (!status && model)
        status = ts_weights_load_part(j->model, j->s.layer, ts_op_matrix(j->s.id, j->weight), &j->w, err);
    if (status)
        return status;
    j->s.w = j->w;
    j->s.in = &j->in;
    choose_class(j);
    return TS_OK;
}

static ts_status execute(const job *j, engine e, ts_op_id id, const void *args, ts_error *err)
{
    if (e == REF32) {
        ts_ref32.op(id, args);
    } else if (e == REF64) {
        ts_ref64.op(id, args);
    } else {
        const ts_schedule *s = ts_schedule_pick(id, j->s.profile->name, args);
        if (!s)
            return ts_fail(err, TS_BAD, j->in_path, ts_op_table[id].name, "%s",
                           ts_op_table[id].ref_only ? "the reference alone computes it: --engine ref32 or ref64"
                                                    : "no schedule takes these shapes");
        ts_schedule_run(s, args, (int)j->threads);
    }
    return TS_OK;
}

static ts_status keep_outputs(const ts_op_call *c, results *r, ts_error *err)
{
    ts_status status = TS_OK;
    for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name && !status; i++) {
        int n = 0;
        status = ts_op_call_output(c, i, r->t + r->n, &n, err);
        for (int k = 0; k < n; k++)
            r->state[r->n + k] = c->op->field[i].role == TS_INOUT;
        r->n += n;
    }
    return status;
}

/* Beside the others ref64 gets their inputs, so that its distance is the arithmetic's alone. */
static ts_status run_engine(job *j, engine e, ts_error *err)
{
    ts_real_as as = e != REF64 ? TS_AS_F32 : j->run[REF32] ? TS_AS_F32_IN_F64 : TS_AS_F64;
    ts_op_call codes = {0}, c = {0};
    ts_op_source first = j->s;
    first.id = TS_OP_QUANTIZE_A64;
    first.K = j->codes ? ts_weights_matrix(j->w, j->s.layer, j->weight)->K : 0;
    ts_status status = TS_OK;
    if (j->codes) {
        status = ts_op_call_new(&first, as, NULL, &codes, err);
        if (!status)
            status = execute(j, e, first.id, codes.args, err);
    }
    if (!status)
        status = ts_op_call_new(&j->s, as, j->codes ? &codes : NULL, &c, err);
    if (!status)
        status = ts_op_call_expected(&c, &j->in, err);
    if (!status)
        status = ts_inputs_done(&j->in, j->op, err);
    if (!status)
        status = execute(j, e, j->s.id, c.args, err);
    if (!status)
        status = keep_outputs(&c, &j->r[e], err);
    ts_op_call_free(&codes);
    ts_op_call_free(&c);
    return status;
}

static void measure(verdict *v, const ts_tensor *wide)
{
    for (int64_t i = 0; i < ts_tensor_count(wide); i++) {
        double x = ts_tensor_get(v->primary, i), y = ts_tensor_get(wide, i), d = fabs(x - y);
        bool same = x == y || (isnan(x) && isnan(y));
        v->max_abs = same ? v->max_abs : isnan(d) ? HUGE_VAL : fmax(v->max_abs, d);
        v->scale = isfinite(y) ? fmax(v->scale, fabs(y)) : v->scale;
    }
}

/* The file's idea of output i, of as many elements; ours is seen in its shape, and rounded to its dtype if that is
 * a half. */
static ts_status find_expected(job *j, int i, ts_error *err)
{
    verdict *v = &j->v[i];
    char name[64];
    bool state = j->r[j->primary].state[i];
    v->ours = *v->primary;
    v->expected = ts_inputs_find(&j->in, ts_op_expected_name(v->primary->name, state, name, sizeof name));
    if (!v->expected)
        return TS_OK;
    const ts_tensor *e = v->expected;
    int64_t n = ts_tensor_count(e);
    v->ours.ndim = e->ndim;
    memcpy(v->ours.dim, e->dim, sizeof e->dim);
    if (e->dtype != TS_BF16 && e->dtype != TS_F16)
        return TS_OK;
    v->narrowed = malloc((size_t)n * sizeof(uint16_t) + 1);
    if (!v->narrowed)
        return ts_no_memory(err, (size_t)n * sizeof(uint16_t));
    ts_inputs_narrow(&v->ours, e->dtype, v->narrowed);
    v->ours.dtype = e->dtype;
    v->ours.data = v->narrowed;
    v->ours.size = (size_t)n * sizeof(uint16_t);
    return TS_OK;
}

static ts_status compare(job *j, bool *differs, ts_error *err)
{
    ts_status status = TS_OK;
    bool all = j->run[REF32] && j->run[FAST];
    for (int i = 0; i < j->r[j->primary].n && !status; i++) {
        verdict *v = &j->v[i];
        v->primary = &j->r[j->primary].t[i];
        if (all) {
            v->fast = &j->r[FAST].t[i];
            *differs |= ts_compare(v->primary, v->fast, &v->engines) != TS_OK;
            measure(v, &j->r[REF64].t[i]);
        }
        status = find_expected(j, i, err);
        if (!status && v->expected)
            *differs |= ts_compare(v->expected, &v->ours, &v->file) != TS_OK;
    }
    return status;
}

static ts_status write_outputs(const job *j, ts_error *err)
{
    const results *r = &j->r[j->primary];
    char layer[24];
    snprintf(layer, sizeof layer, "%lld", (long long)j->s.layer);
    const ts_meta meta[] = {
        {"schema", "1"},
        {"op", ts_op_table[j->s.id].name},
        {"op_order", ts_op_table[j->s.id].order},
        {"engine", engine_name[j->primary]},
        {"profile", j->s.profile->name},
        {"model", j->w ? j->model : ""},
        {"layer", layer},
        {"weight", j->weight ? j->weight : ""},
        {"touchstone", TS_VERSION},
    };
    return ts_safetensors_write(j->out_path, r->t, (size_t)r->n, meta, sizeof meta / sizeof *meta, err);
}

static void print(const job *j)
{
    const ts_op *op = &ts_op_table[j->s.id];
    printf("%s, order %s, profile %s", op->name, op->order, j->s.profile->name);
    if (j->s.layer >= 0)
        printf(", layer %lld", (long long)j->s.layer);
    printf(j->weight ? ", %s\n" : "\n", j->weight);
    for (int i = 0; i < j->r[j->primary].n; i++) {
        const verdict *v = &j->v[i];
        if (v->fast) {
            printf("fast against ref32: ");
            ts_compare_print(stdout, "ref32", "fast", v->primary, v->fast, &v->engines, (int)j->rows);
            printf("ref64 against ref32: %s: max abs error %.3g, largest value %.3g\n", v->primary->name,
                   v->max_abs, v->scale);
        } else {
            printf("%s: %s\n", engine_name[j->primary], v->primary->name);
        }
        if (v->expected) {
            printf("%s against %s: ", j->in_path, engine_name[j->primary]);
            ts_compare_print(stdout, j->in_path, engine_name[j->primary], v->expected, &v->ours, &v->file,
                             (int)j->rows);
        }
    }
    if (j->out_path)
        printf("outputs of %s written to %s\n", engine_name[j->primary], j->out_path);
}

static cJSON *to_json(const job *j, bool differs)
{
    cJSON *o = ts_tool_json();
    cJSON_AddStringToObject(o, "op", ts_op_table[j->s.id].name);
    cJSON_AddStringToObject(o, "order", ts_op_table[j->s.id].order);
    cJSON_AddStringToObject(o, "engine", j->engine);
    cJSON_AddStringToObject(o, "profile", j->s.profile->name);
    cJSON_AddBoolToObject(o, "differs", differs);
    if (j->out_path)
        cJSON_AddStringToObject(o, "out", j->out_path);
    cJSON *list = cJSON_AddArrayToObject(o, "outputs");
    for (int i = 0; i < j->r[j->primary].n; i++) {
        const verdict *v = &j->v[i];
        cJSON *e = cJSON_CreateObject();
        char text[32];
        cJSON_AddStringToObject(e, "name", v->primary->name);
        if (v->fast) {
            cJSON_AddItemToObject(e, "fast", ts_compare_json(v->primary, v->fast, &v->engines));
            snprintf(text, sizeof text, "%.9g", v->max_abs); /* may be infinite */
            cJSON_AddStringToObject(e, "ref64_max_abs_error", text);
        }
        if (v->expected)
            cJSON_AddItemToObject(e, "file", ts_compare_json(v->expected, &v->ours, &v->file));
        cJSON_AddItemToArray(list, e);
    }
    return o;
}

static int report(const job *j, bool differs)
{
    ts_status result = differs ? TS_DIFFERS : TS_OK;
    if (j->json)
        return ts_tool_print(to_json(j, differs), result);
    print(j);
    int flushed = ts_tool_flush(false);
    return flushed ? flushed : (int)result;
}

static void release(job *j)
{
    for (engine e = REF32; e < ENGINES; e++)
        for (int i = 0; i < j->r[e].n; i++)
            free((void *)(uintptr_t)j->r[e].t[i].data);
    for (int i = 0; i < MAX_OUTPUTS; i++)
        free(j->v[i].narrowed);
    ts_inputs_close(&j->in);
    ts_weights_free(j->w);
}

int ts_cmd_op(int argc, char **argv)
{
    ts_error err = {0};
    job j = {
        .layer = -1, .rows = 4, .engine = "all", .profile_name = "ts", .threads = ts_session_default(0).threads};
    int done = parse(argc, argv, &j);
    if (done != TS_GO_ON)
        return done;
    if (j.list || (!j.op && !j.in_path))
        return ts_op_list(j.json);
    bool differs = false;
    ts_status status = check_usage(&j, &err);
    if (!status)
        status = open_all(&j, &err);
    for (engine e = REF32; e < ENGINES && !status; e++)
        if (j.run[e])
            status = run_engine(&j, e, &err);
    if (!status)
        status = compare(&j, &differs, &err);
    if (!status && j.out_path)
        status = write_outputs(&j, &err);
    int code = status ? ts_tool_fail(status, &err, j.json) : report(&j, differs);
    release(&j);
    return code;
}
