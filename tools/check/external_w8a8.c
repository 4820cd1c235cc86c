/* W8A8 against numpy's codes, sums and f16 outputs: every tensor of the golden is one check, by its name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/external.h"
#include "num/convert.h"
#include "ref.h"

enum { NAME = 96 };

/* One case of the golden. */
typedef struct {
    const ts_safetensors *f;
    char name[48];
    int64_t T, N, K, S;
    double sx;
    float *x, *sw, *bias;
    int8_t *w, *code, *f16div;
} problem;

static const ts_tensor *find(const problem *p, const char *field)
{
    char full[NAME];
    snprintf(full, sizeof full, "%s.%s", p->name, field);
    return ts_safetensors_find(p->f, full);
}

static float *widened(const problem *p, const char *field)
{
    const ts_tensor *t = find(p, field);
    float *y = t && t->dtype == TS_F16 ? malloc(t->size * 2 + 4) : NULL;
    for (int64_t i = 0; y && i < ts_tensor_count(t); i++)
        y[i] = (float)ts_tensor_get(t, i);
    return y;
}

static void quantize(const problem *p, ts_op_id op, int8_t *code)
{
    ts_quantize_w8a8_args a = {p->T, p->K, p->sx, p->x, code};
    ts_ref32.op(op, &a);
}

/* Reads the inputs and makes both kinds of codes. */
static bool prepare(problem *p)
{
    const ts_tensor *x = find(p, "x"), *w = find(p, "w"), *sw = find(p, "sw"), *sx = find(p, "sx");
    if (!x || x->ndim != 2 || !w || w->ndim != 2 || w->dtype != TS_I8 || w->dim[1] != x->dim[1] || !sw || !sx)
        return false;
    p->T = x->dim[0];
    p->K = x->dim[1];
    p->N = w->dim[0];
    p->S = ts_tensor_count(sw);
    p->sx = ts_tensor_get(sx, 0);
    p->x = widened(p, "x");
    p->sw = widened(p, "sw");
    p->bias = widened(p, "bias");
    p->w = ts_external_copy(w);
    p->code = malloc((size_t)(p->T * p->K) + 1);
    p->f16div = malloc((size_t)(p->T * p->K) + 1);
    if (!p->x || !p->sw || !p->w || !p->code || !p->f16div || (p->S != 1 && p->S != p->N))
        return false;
    quantize(p, TS_OP_QUANTIZE_W8A8, p->code);
    quantize(p, TS_OP_QUANTIZE_W8A8_F16DIV, p->f16div);
    return true;
}

static void release(problem *p)
{
    void *all[] = {p->x, p->sw, p->bias, p->w, p->code, p->f16div};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Outputs n0 .. n0+n-1 from the columns k0 .. k0+k-1 alone -> y [T,n], acc [T,n]. */
static void product(const problem *p, ts_op_id op, const int8_t *codes, int64_t n0, int64_t n, int64_t k0,
                    int64_t k, float *y, int32_t *acc)
{
    int8_t *code = malloc((size_t)(p->T * k) + 1), *w = malloc((size_t)(n * k) + 1);
    for (int64_t t = 0; code && t < p->T; t++)
        memcpy(code + t * k, codes + t * p->K + k0, (size_t)k);
    for (int64_t i = 0; w && i < n; i++)
        memcpy(w + i * k, p->w + (n0 + i) * p->K + k0, (size_t)k);
    ts_matmul_w8a8_args a = {.T = p->T,
                             .N = n,
                             .K = k,
                             .S = p->S == 1 ? 1 : n,
                             .sx = p->sx,
                             .code = code,
                             .w = w,
                             .sw = p->S == 1 ? p->sw : p->sw + n0,
                             .bias = p->bias ? p->bias + n0 : NULL,
                             .acc = acc,
                             .y = y};
    if (code && w)
        ts_ref32.op(op, &a);
    free(code);
    free(w);
}

static void whole(const problem *p, ts_op_id op, const int8_t *codes, float *y, int32_t *acc)
{
    product(p, op, codes, 0, p->N, 0, p->K, y, acc);
}

/* By output channels: parts that know nothing of each other, side by side. */
static void by_outputs(const problem *p, int64_t parts, float *y, int32_t *acc)
{
    float *part = calloc((size_t)(p->T * p->N), sizeof *part);
    for (int64_t i = 0; part && i < parts; i++) {
        int64_t from = p->N * i / parts, n = p->N * (i + 1) / parts - from;
        product(p, p->bias ? TS_OP_MATMUL_W8A8_BIAS : TS_OP_MATMUL_W8A8, p->code, from, n, 0, p->K, part, acc);
        for (int64_t t = 0; t < p->T; t++)
            memcpy(y + t * p->N + from, part + t * n, (size_t)n * sizeof *y);
    }
    free(part);
}

/* By input channels: f16 partial outputs, added from left to right in f16. */
static void by_inputs(const problem *p, int64_t parts, float *y, int32_t *acc)
{
    const int64_t n = p->T * p->N;
    float *part = calloc((size_t)n, sizeof *part);
    for (int64_t i = 0; part && i < parts; i++) {
        int64_t from = p->K * i / parts, k = p->K * (i + 1) / parts - from;
        product(p, TS_OP_MATMUL_W8A8, p->code, 0, p->N, from, k, i ? part : y, acc);
        for (int64_t j = 0; i && j < n; j++)
            y[j] = ts_f16_to_f32(ts_f32_to_f16(y[j] + part[j]));
    }
    free(part);
}

/* Outputs of `field`, or nothing known by that name. */
static bool outputs(const problem *p, const char *field, float *y, int32_t *acc)
{
    int parts = 0;
    if (strcmp(field, "y") == 0)
        whole(p, p->bias ? TS_OP_MATMUL_W8A8_BIAS : TS_OP_MATMUL_W8A8, p->code, y, acc);
    else if (strcmp(field, "y_unfused") == 0)
        whole(p, TS_OP_MATMUL_W8A8_UNFUSED, p->code, y, acc);
    else if (strcmp(field, "y_unfused_f32seq") == 0)
        whole(p, TS_OP_MATMUL_W8A8_UNFUSED_CHAIN, p->code, y, acc);
    else if (strcmp(field, "y_mil_unfused") == 0)
        whole(p, TS_OP_MATMUL_W8A8_UNFUSED, p->f16div, y, acc);
    else if (sscanf(field, "y_oc%d", &parts) == 1 && parts > 0)
        by_outputs(p, parts, y, acc);
    else if (sscanf(field, "y_ic%d", &parts) == 1 && parts > 0)
        by_inputs(p, parts, y, acc);
    else
        return false;
    return true;
}

static bool same_f16(const ts_tensor *t, const float *y)
{
    const uint16_t *want = t->data;
    for (int64_t i = 0; i < ts_tensor_count(t); i++)
        if (ts_f32_to_f16(y[i]) != want[i])
            return false;
    return true;
}

/* icN_differ: how many outputs of N input parts are not the whole's, and of how many. */
static bool same_count(const problem *p, const ts_tensor *t, int parts, float *y, int32_t *acc)
{
    const int32_t *want = t->data;
    const int64_t n = p->T * p->N;
    float *part = calloc((size_t)n, sizeof *part);
    int32_t differ = 0;
    if (!part || parts < 1)
        return free(part), false;
    whole(p, TS_OP_MATMUL_W8A8, p->code, y, acc);
    by_inputs(p, parts, part, acc);
    for (int64_t i = 0; i < n; i++)
        differ += ts_f32_to_f16(y[i]) != ts_f32_to_f16(part[i]);
    free(part);
    return want[0] == differ && want[1] == n;
}

/* s = sx sw in f32 */
static bool same_scales(const problem *p, const ts_tensor *t)
{
    const float *want = t->data;
    for (int64_t n = 0; n < p->S; n++)
        if (want[n] != (float)p->sx * p->sw[n])
            return false;
    return ts_tensor_count(t) == p->S;
}

static bool judge(const problem *p, const ts_tensor *t, const char *field)
{
    int parts;
    const size_t n = (size_t)(p->T * p->N);
    float *y = calloc(n, sizeof *y);
    int32_t *acc = calloc(n, sizeof *acc);
    bool same = false;
    if (strcmp(field, "qx") == 0)
        same = memcmp(t->data, p->code, t->size) == 0;
    else if (strcmp(field, "qx_f16div") == 0)
        same = memcmp(t->data, p->f16div, t->size) == 0;
    else if (strcmp(field, "s") == 0)
        same = same_scales(p, t);
    else if (y && acc && strcmp(field, "acc") == 0)
        same = outputs(p, "y", y, acc) && memcmp(t->data, acc, t->size) == 0;
    else if (y && acc && sscanf(field, "ic%d_differ", &parts) == 1)
        same = same_count(p, t, parts, y, acc);
    else if (y && acc && t->dtype == TS_F16 && t->size == n * 2)
        same = outputs(p, field, y, acc) && same_f16(t, y);
    free(y);
    free(acc);
    return same;
}

static bool is_input(const char *field)
{
    static const char *const inputs[] = {"x", "w", "sx", "sw", "bias"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (strcmp(field, inputs[i]) == 0)
            return true;
    return false;
}

static void one(ts_check *k, const ts_safetensors *f, const char *name)
{
    problem p = {.f = f};
    size_t len = strlen(name);
    snprintf(p.name, sizeof p.name, "%s", name);
    bool ready = prepare(&p);
    for (size_t i = 0; i < ts_safetensors_count(f); i++) {
        const ts_tensor *t = ts_safetensors_at(f, i);
        if (strncmp(t->name, name, len) != 0 || t->name[len] != '.')
            continue;
        const char *field = t->name + len + 1;
        bool same = ready && (is_input(field) || judge(&p, t, field));
        ts_report_add(k->report, "w8a8 = golden", t->name, same ? TS_EXACT : TS_FAIL, 0,
                      same ? NULL : "the golden has other bits\n");
    }
    release(&p);
}

void ts_external_w8a8(ts_check *k, const ts_case *c)
{
    ts_safetensors *f = NULL;
    ts_error err = {0};
    ts_status s = ts_external_open(k, c, "golden", &f, &err);
    if (s)
        ts_report_error(k->report, "golden", s, &err);
    for (size_t i = 0; !s && i < ts_safetensors_count(f); i++) {
        char name[48];
        const char *full = ts_safetensors_at(f, i)->name;
        size_t len = strlen(full);
        if (len < 3 || len >= sizeof name || strcmp(full + len - 2, ".x") != 0)
            continue;
        memcpy(name, full, len - 2);
        name[len - 2] = 0;
        one(k, f, name);
    }
    ts_safetensors_close(f);
}
