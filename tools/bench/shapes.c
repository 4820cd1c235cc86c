#include "bench/shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define MAP_INPUTS "{\"x\":\"uniform:-8:8\"}"
#define ZIP_INPUTS "{\"a\":\"uniform:-8:8\",\"b\":\"uniform:-8:8\"}"
#define GDN_INPUTS                                                                                 \
    "{\"q\":\"uniform:-0.015625:0.015625\",\"k\":\"uniform:-0.125:0.125\",\"v\":\"uniform:-1:1\"," \
    "\"g\":\"uniform:-1:0\",\"beta\":\"uniform:0:1\",\"state\":\"uniform:-0.25:0.25\"}"
#define A64_INPUTS(w) \
    "{\"code\":\"ints:-127:127\",\"step\":\"uniform:0.001:0.02\",\"sum\":\"uniform:-4:4\",\"w\":\"" w "\"}"
#define MLX "/uniform:0.001:0.01/uniform:-0.08:-0.01"
#define EPS "{\"eps\":0.000001}"

/* Hidden size C 1024 and 5120, intermediate size I 3584 and 17408; attention heads Hq 24, Hkv 4 of D 256, of which
 * R 64 are rotated; Hk 16 and Hv 48 heads of 128 in linear attention, whose convolution has 10240 channels. */
static const ts_bench_problem table[] = {
    {TS_OP_EXP, "", NULL, NULL, MAP_INPUTS, {"17408M"}, {1, 512}},
    {TS_OP_SIGMOID, "", NULL, NULL, MAP_INPUTS, {"17408M"}, {1, 512}},
    {TS_OP_SILU, "", NULL, NULL, MAP_INPUTS, {"17408M"}, {1, 512}},
    {TS_OP_SOFTPLUS, "", NULL, NULL, MAP_INPUTS, {"17408M"}, {1, 512}},
    {TS_OP_RSQRT, "", NULL, NULL, "{\"x\":\"uniform:0.001:8\"}", {"17408M"}, {1, 512}},
    {TS_OP_RESIDUAL_ADD, "", NULL, NULL, ZIP_INPUTS, {"1024M", "5120M"}, {1, 8, 512}},
    {TS_OP_SWIGLU, "", NULL, NULL, ZIP_INPUTS, {"3584M", "17408M"}, {1, 8, 512}},
    {TS_OP_SIGMOID_GATE, "", NULL, NULL, ZIP_INPUTS, {"6144M"}, {1, 8, 512}},
    {TS_OP_EMBED,
     "mlx4",
     NULL,
     NULL,
     "{\"id\":\"ints:0:$last\",\"w\":\"mlx4.g64" MLX "\"}",
     {"M,4096,1024", "M,4096,5120"},
     {1, 8, 512}},
    {TS_OP_EMBED,
     "bf16",
     NULL,
     NULL,
     "{\"id\":\"ints:0:$last\",\"w\":\"bf16/uniform:-1:1\"}",
     {"M,4096,1024"},
     {1, 512}},
    {TS_OP_RMSNORM,
     "",
     NULL,
     EPS,
     "{\"x\":\"uniform:-4:4\",\"w\":\"uniform:-1:1\"}",
     {"M,1024,1", "M,5120,1"},
     {1, 8, 512}},
    {TS_OP_L2NORM,
     "",
     NULL,
     "{\"eps\":0.000001,\"scale\":0.08838834764831845}",
     "{\"x\":\"uniform:-4:4\"}",
     {"M,16,128"},
     {1, 8, 512}},
    {TS_OP_GATED_NORM,
     "",
     NULL,
     EPS,
     "{\"x\":\"uniform:-4:4\",\"w\":\"uniform:-1:1\",\"z\":\"uniform:-4:4\"}",
     {"M,48,128"},
     {1, 8, 512}},
    {TS_OP_CONV1D,
     "",
     NULL,
     NULL,
     "{\"x\":\"uniform:-4:4\",\"w\":\"uniform:-1:1\",\"state\":\"uniform:-4:4\"}",
     {"M,10240,4"},
     {1, 8, 512}},
    {TS_OP_GDN_GATES,
     "",
     NULL,
     NULL,
     "{\"a\":\"uniform:-4:4\",\"b\":\"uniform:-4:4\",\"A_log\":\"uniform:-2:2\",\"dt_bias\":\"uniform:-4:4\"}",
     {"M,48"},
     {1, 8, 512}},
    {TS_OP_GDN_STEP, "", "state", NULL, GDN_INPUTS, {"M,16,48,128,128,0"}, {1, 8}},
    {TS_OP_GDN_CHUNK64, "", "state", NULL, GDN_INPUTS, {"M,16,48,128,128,0"}, {8, 512}},
    {TS_OP_ROPE,
     "",
     NULL,
     NULL,
     "{\"x\":\"uniform:-4:4\",\"cos\":\"rope:1e+07:16000\",\"sin\":\"rope:1e+07:16000\"}",
     {"M,24,256,64"},
     {1, 8, 512}},
    {TS_OP_KV_STORE,
     "",
     NULL,
     NULL,
     "{\"k\":\"uniform:-4:4\",\"v\":\"uniform:-4:4\",\"kv\":\"bf16/uniform:-1:1/16/0/$end/0\"}",
     {"M,4,256,16000"},
     {1, 8, 512}},
    {TS_OP_ATTENTION,
     "bf16",
     "kv",
     "{\"scale\":0.0625}",
     "{\"q\":\"uniform:-4:4\",\"pos\":\"iota:$first\",\"len\":\"list:$keys\","
     "\"kv\":\"bf16/uniform:-1:1/16/$keys/$keys/0\"}",
     {"M,24,4,256,128,0", "M,24,4,256,16,0"},
     {1, 8}},
    {TS_OP_ATTENTION,
     "both",
     "kv",
     "{\"scale\":0.08838834764831845}",
     "{\"q\":\"uniform:-4:4\",\"pos\":\"iota:$first\",\"len\":\"list:$keys\","
     "\"kv\":\"bf16/uniform:-1:1/16/$keys/$keys/0\"}",
     {"M,32,8,128,16,2048,1"},
     {8}},
    {TS_OP_GROUPED_CONV,
     "",
     NULL,
     NULL,
     "{\"x\":\"uniform:-4:4\",\"base\":\"uniform:-1:1\",\"delta\":\"uniform:-1:1\"}",
     {"M,5120,2,16,8,0"},
     {8, 64}},
    {TS_OP_SELECTOR_SCORES,
     "bf16",
     NULL,
     NULL,
     "{\"prev\":\"ints:0:$last\",\"cand\":\"ints:0:$last\",\"U\":\"uniform:-4:4\",\"g\":\"uniform:-1:1\","
     "\"pred\":\"bf16/uniform:-1:1\",\"succ\":\"bf16/uniform:-1:1\"}",
     {"M,16,256,4096"},
     {1, 7}},
    {TS_OP_TOP_SLOTS, "", NULL, NULL, "{\"logits\":\"uniform:-8:8\"}", {"M,248320,16"}, {1, 7}},
    {TS_OP_MATMUL_DOT32,
     "bf16",
     "w",
     NULL,
     "{\"x\":\"uniform:-4:4\",\"w\":\"bf16/uniform:-1:1\"}",
     {"M,48,5120", "M,3584,1024", "M,5120,5120"},
     {1, 8, 512}},
    {TS_OP_QUANTIZE_A64, "", NULL, NULL, "{\"x\":\"uniform:-4:4\"}", {"M,5120", "M,17408"}, {1, 8, 512}},
    {TS_OP_MATMUL_A64S8,
     "mlx4",
     "w",
     NULL,
     A64_INPUTS("mlx4.g64" MLX),
     {"M,3584,1024", "M,1024,3584", "M,17408,5120", "M,5120,17408"},
     {1, 8, 512}},
    {TS_OP_MATMUL_A64S8,
     "mlx8",
     "w",
     NULL,
     A64_INPUTS("mlx8.g64" MLX),
     {"M,3584,1024", "M,17408,5120"},
     {1, 8, 512}},
    {TS_OP_RMSNORM_A64,
     "",
     NULL,
     EPS,
     "{\"x\":\"uniform:-4:4\",\"w\":\"uniform:-1:1\"}",
     {"M,1024,1", "M,5120,1"},
     {1, 8, 512}},
    {TS_OP_GATE_UP_A64S8,
     "mlx4",
     "gate",
     NULL,
     "{\"code\":\"ints:-127:127\",\"step\":\"uniform:0.001:0.02\",\"sum\":\"uniform:-4:4\",\"gate\":\"mlx4.g64" MLX
     "\",\"up\":\"mlx4.g64" MLX "\"}",
     {"M,3584,1024", "M,17408,5120"},
     {1, 8}},
    {TS_OP_QKV_CONV_A64S8,
     "mlx4",
     "w",
     NULL,
     "{\"code\":\"ints:-127:127\",\"step\":\"uniform:0.001:0.02\",\"sum\":\"uniform:-4:4\",\"w\":\"mlx4.g64" MLX
     "\",\"taps\":\"uniform:-1:1\",\"state\":\"uniform:-1:1\"}",
     {"M,6144,1024,4", "M,10240,5120,4"},
     {1, 8}},
};

const ts_bench_problem *ts_bench_problem_at(int i)
{
    return i >= 0 && i < (int)(sizeof table / sizeof *table) ? &table[i] : NULL;
}

static int dim_count(const ts_op *op)
{
    int n = 0;
    while (n < TS_MAX_OP_DIMS && op->dim[n].name)
        n++;
    return n;
}

/* "M,17408,5120" with that M; of "17408M" the product. */
static void fill_dims(const char *text, int64_t rows, ts_bench_shape *out)
{
    for (int i = 0; i < TS_MAX_OP_DIMS && *text; i++) {
        char *end = (char *)(uintptr_t)text;
        int64_t v = *text == 'M' ? 1 : strtoll(text, &end, 10);
        out->dim[i] = *end == 'M' ? v * rows : v;
        text = end + (*end == 'M');
        text += *text == ',';
    }
}

static void describe(const ts_bench_problem *p, ts_bench_shape *s)
{
    const ts_op *op = &ts_op_table[p->op];
    int at = 0, n = dim_count(op);
    for (int i = 0; i < n && at < (int)sizeof s->text; i++)
        at += snprintf(s->text + at, sizeof s->text - (size_t)at, "%s%s=%" PRId64, i ? " " : "", op->dim[i].name,
                       s->dim[i]);
    if (p->weights[0] && at < (int)sizeof s->text)
        snprintf(s->text + at, sizeof s->text - (size_t)at, " %s", p->weights);
}

enum { MOST_DIM = 1 << 24 };

/* The dims of --shape over those of s. */
static ts_status override(const ts_bench_problem *p, const char *asked, ts_bench_shape *s, ts_error *err)
{
    const ts_op *op = &ts_op_table[p->op];
    int n = dim_count(op), i = 0;
    for (const char *at = asked;; i++) {
        char item[24];
        size_t length = strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", length < sizeof item ? (int)length : 0, at);
        if (i == n)
            return ts_fail(err, TS_USAGE, NULL, "--shape", "'%s': %s has %d dims, the first is %s", asked, op->name,
                           n, op->dim[0].name);
        if (!ts_parse_int(item, 0, MOST_DIM, &s->dim[i]))
            return ts_fail(err, TS_USAGE, NULL, "--shape", "'%s': %s is not a whole number from 0 to %d", asked,
                           op->dim[i].name, MOST_DIM);
        if (at[length] == '\0')
            return TS_OK;
        at += length + 1;
    }
}

static ts_status check(const ts_bench_problem *p, const ts_bench_shape *s, ts_error *err)
{
    const ts_op *op = &ts_op_table[p->op];
    int64_t args[64] = {0}; /* an args struct of any operation, for its dims alone */
    const char *rule;
    for (int i = 0; i < dim_count(op); i++)
        *(int64_t *)(void *)((char *)args + op->dim[i].offset) = s->dim[i];
    return ts_op_dims_ok(op, args, &rule)
               ? TS_OK
               : ts_fail(err, TS_USAGE, NULL, "--shape", "%s needs %s%.*s", op->name,
                         strpbrk(rule, "%<") ? "" : "another ", (int)strcspn(rule, " "), rule);
}

ts_status ts_bench_shapes(const ts_bench_problem *p, const char *asked, ts_bench_shape out[TS_MAX_SHAPES],
                          size_t *n, ts_error *err)
{
    *n = 0;
    for (int d = 0; p->dims[d]; d++)
        for (int r = 0; r < 4 && p->rows[r] && *n < TS_MAX_SHAPES; r++) {
            memset(&out[*n], 0, sizeof *out);
            fill_dims(p->dims[d], p->rows[r], &out[*n]);
            describe(p, &out[(*n)++]);
        }
    if (!asked)
        return TS_OK;
    *n = 1;
    ts_status s = override(p, asked, &out[0], err);
    describe(p, &out[0]);
    return s ? s : check(p, &out[0], err);
}

/* What $name stands for; -1: nothing. */
static int64_t placeholder(const ts_op *op, const ts_bench_shape *s, const char *name, size_t length)
{
    int64_t value[TS_MAX_OP_DIMS] = {0}, T = 0, V = 0, keys = 0, pos = 0;
    for (int i = 0; i < dim_count(op); i++) {
        value[i] = s->dim[i];
        T = strcmp(op->dim[i].name, "T") == 0 ? value[i] : T;
        V = strcmp(op->dim[i].name, "V") == 0 ? value[i] : V;
        keys = strcmp(op->dim[i].name, "parts") == 0 ? 128 * value[i] : keys;
        pos = strcmp(op->dim[i].name, "pos") == 0 ? value[i] : pos;
    }
    if (strncmp(name, "last", length) == 0)
        return V - 1;
    if (strncmp(name, "keys", length) == 0)
        return keys;
    if (strncmp(name, "first", length) == 0)
        return keys > T ? keys - T : 0;
    return strncmp(name, "end", length) == 0 ? pos + T : -1;
}

/* inputs with its $names replaced. */
static void expand(const ts_bench_problem *p, const ts_bench_shape *s, char *out, size_t size)
{
    size_t at = 0;
    for (const char *from = p->inputs; *from && at + 24 < size;) {
        if (*from != '$') {
            out[at++] = *from++;
            continue;
        }
        size_t length = strspn(from + 1, "abcdefghijklmnopqrstuvwxyz");
        at += (size_t)snprintf(out + at, size - at, "%" PRId64,
                               placeholder(&ts_op_table[p->op], s, from + 1, length));
        from += 1 + length;
    }
    out[at] = '\0';
}

ts_status ts_bench_call(const ts_bench_problem *p, const ts_bench_shape *s, ts_call *out, ts_error *err)
{
    char inputs[512];
    const ts_op *op = &ts_op_table[p->op];
    ts_case c = {.path = "bench", .kind = TS_CASE_OP, .op = p->op, .seed = 1, .json = cJSON_CreateObject()};
    cJSON *dims = cJSON_AddObjectToObject(c.json, "dims");
    bool whole = dims != NULL;
    expand(p, s, inputs, sizeof inputs);
    for (int i = 0; i < dim_count(op); i++)
        whole &= cJSON_AddNumberToObject(dims, op->dim[i].name, (double)s->dim[i]) != NULL;
    whole &= cJSON_AddItemToObject(c.json, "params", cJSON_Parse(p->params ? p->params : "{}"));
    whole &= cJSON_AddItemToObject(c.json, "inputs", cJSON_Parse(inputs));
    ts_status status = whole ? ts_call_from_case(&c, out, err) : ts_no_memory(err, sizeof inputs);
    if (!status)
        ts_call_expose(out, "");
    cJSON_Delete(c.json);
    return status;
}

double ts_bench_macs(const ts_call *c)
{
    ts_op_id id = (ts_op_id)(c->op - ts_op_table);
    const char *product = id == TS_OP_MATMUL_A64S8 || id == TS_OP_MATMUL_DOT32 ? "T*N*K"
                          : id == TS_OP_GATE_UP_A64S8                          ? "2*T*I*K"
                          : id == TS_OP_QKV_CONV_A64S8                         ? "T*C*K"
                                                                               : NULL;
    return product ? (double)ts_op_dim(c->op, c->args, product) : 0;
}

/* Rows of matrix field i that a call looks up, or 0: all of them. */
static double rows_looked_up(const ts_call *c, int i)
{
    const ts_op_id id = (ts_op_id)(c->op - ts_op_table);
    const bool pred = id == TS_OP_SELECTOR_SCORES && strcmp(c->op->field[i].name, "pred") == 0;
    const char *rows = id == TS_OP_EMBED || pred ? "T" : id == TS_OP_SELECTOR_SCORES ? "T*K" : NULL;
    return rows ? (double)ts_op_dim(c->op, c->args, rows) : 0;
}

/* Only the rows that are looked up, only the tokens that are stored or seen. */
static double field_bytes(const ts_call *c, int i, size_t matrix)
{
    const ts_field *f = &c->op->field[i];
    double size = (double)c->size[i];
    if (f->role == TS_INNER)
        return 0;
    if (f->kind == TS_FIELD_MATRIX) {
        double rows = rows_looked_up(c, i);
        return rows > 0 ? (double)matrix * rows / (double)ts_op_dim(c->op, c->args, "V") : (double)matrix;
    }
    if (f->kind == TS_FIELD_KV) {
        const ts_kv *kv = (const void *)((const char *)c->args + f->offset);
        double tokens = f->role == TS_IN ? (double)c->kv_filled : (double)ts_op_dim(c->op, c->args, "T");
        return size * tokens / (double)(kv->pages * kv->page);
    }
    return f->role == TS_INOUT ? 2 * size : size;
}

double ts_bench_bytes(const ts_call *c, size_t matrix)
{
    double sum = 0;
    for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name; i++)
        sum += field_bytes(c, i, matrix);
    return sum;
}
