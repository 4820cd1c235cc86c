/* compare [--digest]: every operation on many small inputs. Prints a digest of ref32's outputs per operation, which
 * must be the same on every architecture, and a line per schedule that can run here: does it have ref32's bits?
 * tests/neon/run builds this for two architectures. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "neon/inputs.h"
#include "num/canary.h"
#include "num/convert.h"
#include "op.h"
#include "schedule.h"

enum { OUTPUTS = 4, MOST = 512, BLOCK = 4096, STRIDE = 4099 };

/* Dims as lists: every combination is run. weights: a bit per format. */
typedef struct {
    ts_op_id op;
    const char *dim[TS_MAX_OP_DIMS];
    unsigned weights;
    int kvs;
} plan;

enum {
    PLAIN = 1 << W_BF16 | 1 << W_F16 | 1 << W_F32,
    A64 = 1 << W_MLX4 | 1 << W_MLX8,
    ANY = PLAIN | A64 | 1 << W_MLX5
};

static const char all_rows[] = "1-9", tails[] = "1,2,3,4,5,7,31,32,33,63,64,77,100,130,257";

static const plan plans[] = {
    {.op = TS_OP_EXP, .dim = {"1-24,1000"}},
    {.op = TS_OP_SIGMOID, .dim = {"1-24,1000"}},
    {.op = TS_OP_SILU, .dim = {"1-24,1000"}},
    {.op = TS_OP_SOFTPLUS, .dim = {"1-24,1000"}},
    {.op = TS_OP_RSQRT, .dim = {"1-24,1000"}},
    {.op = TS_OP_RESIDUAL_ADD, .dim = {"1-24,1000"}},
    {.op = TS_OP_SWIGLU, .dim = {"1-24,1000"}},
    {.op = TS_OP_SIGMOID_GATE, .dim = {"1-24,1000"}},
    {.op = TS_OP_EMBED, .dim = {"1,7", "11", "64,192"}, .weights = ANY},
    {.op = TS_OP_RMSNORM, .dim = {all_rows, tails, "0,1"}},
    {.op = TS_OP_L2NORM, .dim = {all_rows, "1,3", tails}},
    {.op = TS_OP_GATED_NORM, .dim = {"1,5", "3", tails}},
    {.op = TS_OP_CONV1D, .dim = {all_rows, "1,7,70", "1,4"}},
    {.op = TS_OP_GDN_GATES, .dim = {all_rows, "1,5,16"}},
    {.op = TS_OP_GDN_STEP, .dim = {"1,2,9", "1,2", "6", "16,40", "24,33", "0"}},
    {.op = TS_OP_GDN_CHUNK64, .dim = {"1,9,70", "1,2", "2", "16", "24,33", "0,40"}},
    {.op = TS_OP_ROPE, .dim = {all_rows, "3", "20", "10,20"}},
    {.op = TS_OP_KV_STORE, .dim = {all_rows, "1,3", "20", "7"}, .kvs = 3},
    {.op = TS_OP_ATTENTION, .dim = {"1,3,9", "6", "2", "64,72", "3", "0,100", "0,1"}, .kvs = 3},
    {.op = TS_OP_GROUPED_CONV, .dim = {all_rows, "48,102", "1,2,3", "1,6", "4,8", "0,1"}},
    {.op = TS_OP_SELECTOR_SCORES, .dim = {"1,7", "1,5,16", "64,192", "11"}, .weights = ANY},
    {.op = TS_OP_TOP_SLOTS, .dim = {"1,3", "16,23,77,257,1003", "1,4,16"}},
    {.op = TS_OP_MATMUL_DOT32, .dim = {all_rows, "1,2,3,6,7", tails}, .weights = PLAIN},
    {.op = TS_OP_MATMUL_DOT32, .dim = {"33,35", "5", "1100"}, .weights = PLAIN},
    {.op = TS_OP_MATMUL_DOT32, .dim = {"1,3", "5", "64,320"}, .weights = ANY - PLAIN},
    {.op = TS_OP_QUANTIZE_A64, .dim = {all_rows, "64,128,192,320"}},
    {.op = TS_OP_MATMUL_A64S8, .dim = {all_rows, "1,2,3,4,5,7,9", "64,128,192,320,512,576,1088"}, .weights = A64},
    {.op = TS_OP_RMSNORM_A64, .dim = {all_rows, "64,320", "0,1"}},
    {.op = TS_OP_GATE_UP_A64S8, .dim = {all_rows, "1,5,77", "64,320"}, .weights = A64},
    {.op = TS_OP_QKV_CONV_A64S8, .dim = {all_rows, "1,5,77", "64,320", "4"}, .weights = A64},
};

/* Every input is run with one of the tame generators and with one of the wild ones, the next one each time: their
 * numbers have no factor in common with the lengths of the lists. */
static const char *const tame[] = {
    "normal",
    "uniform:-3:3",
    "bf16:1",
    "normal:0x1p-6",
    "runs:3",
    "normal:8",
    "interleave:normal;uniform:-40:40",
    "bf16:0x1p-3",
    "uniform:0.5:4",
    "normal:0x1p-12",
    "uniform:-1:0",
};
static const char *const wild[] = {
    "special",
    "uniform:-40:40",
    "normal:0x1p-130",
    "put:1:nan:normal",
    "normal:0x1p63",
    "pow2:-149:100",
    "ints:-9:9",
    "bf16all",
    "put:0:inf:normal",
    "const:-0",
    "bf16:0x1p-64",
    "put:3:-inf:special",
    "ladder:127,0.5,1.5,2.5,-0.5,-1.5,-2.5,126.5,-126.5",
};

static struct {
    int64_t runs, elements, plain; /* plain: finite and not 0 */
    bool failed;
} result[MOST];

static uint64_t digest[TS_OP_COUNT];
static bool digest_only;

/* The arrays end at pages that cannot be touched: who did? */
static const char *volatile running = "ref32";

static void crashed(int number)
{
    (void)number;
    char line[160] = "FAIL ";
    strncat(line, running, 80);
    strcat(line, ": touched what lies past an array\n");
    _exit(write(STDOUT_FILENO, line, strlen(line)) > 0 ? 1 : 2);
}

/* FNV-1a: two programs are compared, nothing is recorded. */
static void hash(uint64_t *h, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *h = (*h ^ ((const unsigned char *)data)[i]) * 0x100000001b3;
}

/* What is written of one input: how it began, and what ref32 made of it. */
typedef struct {
    const inputs_array *array;
    int width;
    unsigned char *begin, *right;
} output;

static void *copy(const inputs_array *a)
{
    void *to = malloc(a->size + 1);
    if (!to)
        exit(2);
    return memcpy(to, a->data, a->size);
}

/* A NaN is one NaN: its bits are the CPU's choice. */
static uint32_t element(const void *data, int width, size_t i)
{
    uint32_t u = 0;
    memcpy(&u, (const unsigned char *)data + i * (size_t)width, (size_t)width);
    return width == 4 && isnan(ts_float(u)) ? 0x7fc00000 : u;
}

static void define(inputs *in, output out[OUTPUTS])
{
    int n = 0;
    memset(out, 0, OUTPUTS * sizeof *out);
    for (; n < OUTPUTS && (out[n].array = inputs_output(in, n, &out[n].width)) != NULL; n++)
        out[n].begin = copy(out[n].array);
    ts_op_run((ts_op_id)(in->op - ts_op_table), &in->args);
    for (int j = 0; j < n; j++) {
        out[j].right = copy(out[j].array);
        for (size_t i = 0; i < out[j].array->size / (size_t)out[j].width; i++) {
            uint32_t u = element(out[j].right, out[j].width, i);
            hash(&digest[in->op - ts_op_table], &u, (size_t)out[j].width);
        }
    }
}

static void begin_again(const output out[OUTPUTS])
{
    for (int j = 0; j < OUTPUTS && out[j].array; j++)
        memcpy(out[j].array->data, out[j].begin, out[j].array->size);
}

static void forget(output out[OUTPUTS])
{
    for (int j = 0; j < OUTPUTS; j++) {
        free(out[j].begin);
        free(out[j].right);
    }
}

static void fail(int schedule, const inputs_shape *s, const char *way, const output *o, size_t i)
{
    const ts_op *op = &ts_op_table[s->op];
    if (!result[schedule].failed) {
        printf("FAIL %s: %s,", ts_schedule_at(schedule)->name, way);
        for (int d = 0; d < TS_MAX_OP_DIMS && op->dim[d].name; d++)
            printf(" %s %" PRId64, op->dim[d].name, s->dim[d]);
        printf(", weights %d, aux %d, kv %" PRId64 ", values %s, seed %u: element %zu is %08x, ref32's %08x\n",
               (int)s->w, (int)s->aux, s->kv, s->values, s->draw, i, element(o->array->data, o->width, i),
               element(o->right, o->width, i));
    }
    result[schedule].failed = true;
}

static void judge(int schedule, const inputs_shape *s, const char *way, const output out[OUTPUTS])
{
    result[schedule].runs++;
    for (int j = 0; j < OUTPUTS && out[j].array; j++) {
        size_t n = out[j].array->size / (size_t)out[j].width;
        result[schedule].elements += (int64_t)n;
        for (size_t i = 0; i < n; i++) {
            uint32_t right = element(out[j].right, out[j].width, i);
            result[schedule].plain += right << 1 != 0 && (right & 0x7f800000) != 0x7f800000;
            if (element(out[j].array->data, out[j].width, i) != right) {
                fail(schedule, s, way, &out[j], i);
                return;
            }
        }
    }
}

/* Its matrix, if there is one, is as the schedule wants it. */
static bool packed(inputs *in, const ts_schedule *s)
{
    return !in->matrix.data || ts_matrix_pack_as(&in->matrix, s->packing, 1, NULL) == TS_OK;
}

/* ref32, and every schedule of the operation: whole, and in three uneven ranges, the last one first. */
static void compare(inputs *in, const inputs_shape *s)
{
    const ts_schedule *sched;
    output out[OUTPUTS];
    int64_t units = ts_op_units(in->op, &in->args);
    define(in, out);
    for (int i = 0; !digest_only && (sched = ts_schedule_at(i)) != NULL; i++) {
        if (sched->op != s->op || !packed(in, sched) || (sched->accepts && !sched->accepts(&in->args)))
            continue;
        running = sched->name;
        begin_again(out);
        sched->run(&in->args, 0, units);
        judge(i, s, "whole", out);
        begin_again(out);
        sched->run(&in->args, units / 2, units);
        sched->run(&in->args, 0, units / 3);
        sched->run(&in->args, units / 3, units / 2);
        judge(i, s, "in three ranges", out);
    }
    running = "ref32";
    ts_matrix_unpack(&in->matrix);
    forget(out);
}

/* "1-9,13" */
static int parse(const char *list, int64_t value[], int most)
{
    int n = 0;
    for (char *end; *list; list = end + (*end == ',')) {
        long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (; first <= last && n < most; first++)
            value[n++] = first;
    }
    return n;
}

static void run_one(const inputs_shape *s)
{
    inputs in;
    inputs_make(&in, s);
    compare(&in, s);
    inputs_free(&in);
}

static void run_formats(const plan *p, inputs_shape *s)
{
    static const ts_dtype aux[] = {TS_BF16, TS_F16, TS_F32};
    for (int w = W_BF16; w <= W_MLX5; w++)
        for (int kv = 0; kv < (p->kvs ? p->kvs : 1); kv++) {
            if (p->weights ? !(p->weights >> w & 1) : w > 0)
                continue;
            s->w = (inputs_weights)w;
            s->kv = kv;
            s->draw++;
            s->aux = aux[s->draw % 3];
            s->values = tame[s->draw % (sizeof tame / sizeof *tame)];
            run_one(s);
            s->values = wild[s->draw % (sizeof wild / sizeof *wild)];
            run_one(s);
        }
}

static void run_dims(const plan *p, inputs_shape *s, int d)
{
    int64_t value[32];
    if (d == TS_MAX_OP_DIMS || !p->dim[d]) {
        run_formats(p, s);
        return;
    }
    int n = parse(p->dim[d], value, 32);
    for (int i = 0; i < n; i++) {
        s->dim[d] = value[i];
        run_dims(p, s, d + 1);
    }
}

/* Every STRIDE-th f32 of all through a function. */
static void sweep(ts_op_id op)
{
    inputs in;
    inputs_shape s = {.op = op, .dim = {BLOCK}, .values = "index"};
    inputs_make(&in, &s);
    float *x = in.field[0].data;
    for (uint64_t u = 0; u <= UINT32_MAX; s.draw++) {
        for (int i = 0; i < BLOCK; i++, u += STRIDE)
            x[i] = ts_float((uint32_t)u);
        compare(&in, &s);
    }
    inputs_free(&in);
}

/* Around the ends of the ranges: all neighbours. */
static void edges(ts_op_id op)
{
    static const char *const around[] = {"ulp:-104:500",     "ulp:88.8:500",       "ulp:88.7228:500",
                                         "ulp:-88.7228:500", "ulp:20:500",         "ulp:-15:500",
                                         "ulp:0x1p-126:500", "ulp:-87.3365:500",   "ulp:-103.28:500",
                                         "ulp:1:500",        "ulp:0.34657359:500", "ulp:-0.34657359:500"};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        run_one(&(inputs_shape){.op = op, .dim = {1001}, .values = around[i]});
}

static bool report(void)
{
    bool failed = false;
    const ts_schedule *s;
    for (int op = 0; op < TS_OP_COUNT; op++)
        printf("digest %s %016" PRIx64 "\n", ts_op_table[op].name, digest[op]);
    for (int i = 0; !digest_only && (s = ts_schedule_at(i)) != NULL; i++) {
        if (result[i].runs == 0)
            printf("FAIL %s: nothing of it was compared\n", s->name);
        else if (!result[i].failed)
            printf("ok   %s: %" PRId64 " runs, %" PRId64 " elements, %" PRId64 " of them finite and not 0\n",
                   s->name, result[i].runs, result[i].elements, result[i].plain);
        failed = failed || result[i].runs == 0 || result[i].failed;
    }
    return !failed;
}

int main(int argc, char **argv)
{
    ts_error err;
    char text[512];
    digest_only = argc == 2 && strcmp(argv[1], "--digest") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGSEGV, crashed);
    if (ts_canaries(&err) != TS_OK) {
        printf("FAIL %s\n", ts_error_text(&err, text, sizeof text));
        return 1;
    }
    inputs_shape s = {.draw = 1};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        s.op = plans[i].op;
        run_dims(&plans[i], &s, 0);
    }
    for (ts_op_id op = TS_OP_EXP; op <= TS_OP_RSQRT; op++) {
        sweep(op);
        edges(op);
    }
    return report() ? 0 : 1;
}
