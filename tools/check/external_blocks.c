/* ggml's blocks against bytes made by ggml: every tensor of the golden is one check, by its name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound_op.h"
#include "check/external.h"
#include "ref.h"

enum { ROWS = 10, K = 512, MAX_BYTES = 1024 };

typedef struct {
    const ts_safetensors *f;
    float x[ROWS][K];
} golden;

static bool find_format(const char *name, ts_weight_format *out)
{
    char upper[16];
    size_t i = 0;
    for (; name[i] && i + 1 < sizeof upper; i++)
        upper[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    upper[i] = 0;
    const ts_ggml_type *type = ts_ggml_type_find(upper);
    return type && ts_block_format(type->id, out);
}

static const uint8_t *rows_of(const golden *g, const char *first, const char *name, const char *last, size_t *row)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s.%s", first, name, last);
    const ts_tensor *t = ts_safetensors_find(g->f, full);
    *row = t ? t->size / ROWS : 0;
    return t ? t->data : NULL;
}

/* The same bytes, but for codes that mean nothing: where IQ4_NL's reference rule meets a block of zeros it leaves
 * in ggml whatever the block before had (or memory held), with a scale of 0. */
static bool same_row(ts_weight_format format, ts_block_rule rule, const uint8_t *ours, const uint8_t *theirs,
                     size_t size)
{
    bool stale = format == TS_W_IQ4_NL && rule == TS_BLOCK_REFERENCE;
    size_t block = (size_t)ts_block_type(format)->bytes;
    for (size_t at = 0; at < size; at += block) {
        bool zero = stale && ours[at] == 0 && ours[at + 1] == 0;
        if (memcmp(ours + at, theirs + at, zero ? 2 : block) != 0)
            return false;
    }
    return true;
}

/* act.T.ref, act.T.generic and act.T.x86: bytes of all rows, by the operation quantize_T or, where x86 has a rule
 * of its own, quantize_T_x86. */
static bool quantizes(const golden *g, const ts_tensor *t, const char *name, bool x86)
{
    int8_t block[ROWS * MAX_BYTES];
    char op[40];
    snprintf(op, sizeof op, "quantize_%s_x86", name);
    if (!x86 || ts_op_find(op) == TS_OP_COUNT)
        snprintf(op, sizeof op, "quantize_%s", strcmp(name, "q8_K") == 0 ? "q8_k" : name);
    ts_quantize_blocks_args a = {.T = ROWS, .K = K, .x = g->x[0], .block = block};
    const ts_op_id id = ts_op_find(op);
    if (id == TS_OP_COUNT || t->size > sizeof block)
        return false;
    ts_ref32.op(id, &a);
    return memcmp(block, t->data, t->size) == 0;
}

/* w.T.ref and w.T.file: bytes of every row. */
static bool encodes(const golden *g, const ts_tensor *t, ts_weight_format format, ts_block_rule rule)
{
    uint8_t row[MAX_BYTES];
    size_t size = t->size / ROWS;
    bool same = size <= sizeof row;
    for (int r = 0; r < ROWS && same; r++) {
        ts_ref32.block_encode(format, rule, g->x[r], K, row);
        same = same_row(format, rule, row, (const uint8_t *)t->data + (size_t)r * size, size);
    }
    return same;
}

/* w.T.dequant: of the reference rule's bytes. */
static bool decodes(const golden *g, const ts_tensor *t, const char *name, ts_weight_format format)
{
    float x[K];
    size_t row;
    const uint8_t *w = rows_of(g, "w", name, "ref", &row);
    bool same = w && t->size == sizeof g->x;
    for (int r = 0; r < ROWS && same; r++) {
        ts_ref32.block_decode(format, w + (size_t)r * row, K, x);
        same = memcmp(x, (const uint8_t *)t->data + (size_t)r * sizeof x, sizeof x) == 0;
    }
    return same;
}

/* dot.T.A.generic bit for bit; dot.T.A.x86, summed in another order, within what an order may change. */
static bool multiplies(const golden *g, const ts_tensor *t, const char *name, ts_weight_format format, bool exact)
{
    size_t w_row, a_row;
    ts_weight_format activation = ts_block_activation(format);
    char kind[16];
    snprintf(kind, sizeof kind, "%s", activation == TS_W_Q8_0 ? "q8_0" : activation == TS_W_Q8_1 ? "q8_1" : "q8_K");
    const uint8_t *w = rows_of(g, "w", name, "ref", &w_row);
    const uint8_t *a = rows_of(g, "act", kind, "generic", &a_row);
    bool same = w && a && t->size == ROWS * ROWS * sizeof(float);
    for (int i = 0; i < ROWS * ROWS && same; i++) {
        const uint8_t *wr = w + (size_t)(i / ROWS) * w_row, *ar = a + (size_t)(i % ROWS) * a_row;
        float want, y;
        double centre;
        memcpy(&want, (const uint8_t *)t->data + (size_t)i * sizeof want, sizeof want);
        ts_ref32.block_dot(format, wr, ar, K, &y);
        ts_ref64.block_dot(format, wr, ar, K, &centre);
        same = exact ? memcmp(&want, &y, sizeof y) == 0
                     : fabs((double)want - centre) <= ts_bound_block_dot(format, wr, ar, K);
    }
    return same;
}

/* Is the tensor what the reference makes? A name of no known form is not. */
static ts_verdict judge(const golden *g, const ts_tensor *t)
{
    char part[4][16] = {""};
    ts_weight_format format;
    int parts = sscanf(t->name, "%15[^.].%15[^.].%15[^.].%15s", part[0], part[1], part[2], part[3]);
    const char *last = part[parts > 0 ? parts - 1 : 0];
    bool x86 = strcmp(last, "x86") == 0, same = false;
    if (parts < 3 || !find_format(part[1], &format))
        return strcmp(t->name, "x") == 0 ? TS_EXACT : TS_FAIL;
    if (strcmp(part[0], "dot") == 0) {
        same = multiplies(g, t, part[1], format, !x86);
        return !same ? TS_FAIL : x86 ? TS_BOUND : TS_EXACT;
    }
    if (strcmp(last, "dequant") == 0)
        same = decodes(g, t, part[1], format);
    else if (strcmp(part[0], "act") == 0)
        same = quantizes(g, t, part[1], x86);
    else
        same = encodes(g, t, format, strcmp(last, "file") == 0 ? TS_BLOCK_FILE : TS_BLOCK_REFERENCE);
    return same ? TS_EXACT : TS_FAIL;
}

void ts_external_blocks(ts_check *k, const ts_case *c)
{
    golden g;
    ts_error err = {0};
    const ts_tensor *x = NULL;
    ts_safetensors *f = NULL;
    ts_status s = ts_external_open(k, c, "golden", &f, &err);
    if (!s)
        s = ts_external_tensor(f, "x", TS_F32, &x, &err);
    if (!s && x->size != sizeof g.x)
        s = ts_fail(&err, TS_BAD, ts_safetensors_path(f), "x", "not %d x %d values", ROWS, K);
    if (s) {
        ts_report_error(k->report, "golden", s, &err);
    } else {
        g.f = f;
        memcpy(g.x, x->data, sizeof g.x);
        for (size_t i = 0; i < ts_safetensors_count(f); i++) {
            const ts_tensor *t = ts_safetensors_at(f, i);
            ts_verdict v = judge(&g, t);
            ts_report_add(k->report, "ggml blocks = golden", t->name, v, 0,
                          v == TS_FAIL ? "bytes differ from the golden's\n" : NULL);
        }
    }
    ts_safetensors_close(f);
}
