#include "engine_internal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "config/draft.h"
#include "num/convert.h"
#include "cpu/fused.h"
#include "schedule.h"

enum { PADDING = 16 }; /* floats after every slot: nobody may read or write them */

void *ts_engine_alloc(int64_t a, int64_t b, size_t size, ts_error *err)
{
    size_t n = (size_t)a, m = (size_t)b;
    if (a < 0 || b < 0 || (m > 0 && n > SIZE_MAX / 2 / m) || n * m > SIZE_MAX / 2 / size) {
        ts_fail(err, TS_BAD, NULL, NULL, "%lld x %lld elements do not fit in memory", (long long)a, (long long)b);
        return NULL;
    }
    size_t bytes = n * m * size;
    void *p = calloc(bytes ? bytes : 1, 1);
    if (!p)
        ts_no_memory(err, bytes);
    return p;
}

/* Quiet NaNs, told from computed ones by their payload. */
void ts_engine_poison(float *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = ts_float(0x7fc00bad);
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The longest input of a linear: what the codes need. */
static int64_t longest_input(const ts_config *c)
{
    return most(most(most(c->C, c->I), ts_draft_joint(c)), most(c->Hv * c->Dv, c->Hq * c->D));
}

static void slot_widths(const ts_config *c, int64_t width[TS_SLOT_COUNT])
{
    int64_t KD = c->Hk * c->Dk, VD = c->Hv * c->Dv, CD = 2 * KD + VD;
    int64_t QD = c->Hq * c->D, KV = c->Hkv * c->D, groups = longest_input(c) / TS_CODE_RUN;
    const int64_t w[TS_SLOT_COUNT] = {
        [TS_SLOT_H] = c->C,
        [TS_SLOT_MID] = c->C,
        [TS_SLOT_X] = c->C,
        [TS_SLOT_BRANCH] = c->C,
        [TS_SLOT_WIDE] = most(CD, most(2 * QD, KV)),
        [TS_SLOT_CONV] = most(CD, QD),
        [TS_SLOT_NORMED] = most(QD, KV),
        [TS_SLOT_Q] = most(KD, QD),
        [TS_SLOT_K] = most(KD, KV),
        [TS_SLOT_V] = most(VD, KV),
        [TS_SLOT_A] = c->Hv,
        [TS_SLOT_B] = c->Hv,
        [TS_SLOT_G] = c->Hv,
        [TS_SLOT_BETA] = c->Hv,
        [TS_SLOT_Z] = most(VD, QD),
        [TS_SLOT_O] = most(VD, QD),
        [TS_SLOT_GATED] = most(VD, QD),
        [TS_SLOT_GATE] = c->I,
        [TS_SLOT_UP] = c->I,
        [TS_SLOT_ACT] = c->I,
        [TS_SLOT_JOINT] = ts_draft_joint(c),
        [TS_SLOT_MIXED] = c->dflash.slots ? c->C : 0,
        [TS_SLOT_DELTA] = c->dflash.slots ? 2 * c->dflash.conv_taps * (c->C / c->dflash.conv_group) : 0,
        [TS_SLOT_STEP] = groups,
        [TS_SLOT_SUM] = groups,
    };
    for (int i = 0; i < TS_SLOT_COUNT; i++)
        width[i] = w[i];
}

static void release(ts_engine *e)
{
    free(e->scratch);
    free(e->code);
    free(e->row_pos);
    free(e->row_len);
    e->scratch = NULL;
    e->code = NULL;
    e->row_pos = e->row_len = NULL;
    e->rows = 0;
}

static ts_status grow(ts_engine *e, int64_t rows, int64_t width, ts_error *err)
{
    release(e);
    e->scratch = ts_engine_alloc(rows, width, sizeof *e->scratch, err);
    e->code = ts_engine_alloc(rows, longest_input(&e->w->cfg), sizeof *e->code, err);
    e->row_pos = ts_engine_alloc(rows, 1, sizeof *e->row_pos, err);
    e->row_len = ts_engine_alloc(rows, 1, sizeof *e->row_len, err);
    if (!e->scratch || !e->code || !e->row_pos || !e->row_len) {
        release(e);
        return TS_BAD;
    }
    e->rows = rows;
    return TS_OK;
}

/* Scratch for `rows` rows, the slots end to end with padding between; 0 rows frees it. */
ts_status ts_engine_reserve(ts_engine *e, int64_t rows, ts_error *err)
{
    int64_t width[TS_SLOT_COUNT], sum = 0;
    if (rows == 0) {
        release(e);
        return TS_OK;
    }
    slot_widths(&e->w->cfg, width);
    for (int i = 0; i < TS_SLOT_COUNT; i++)
        sum += width[i] + PADDING;
    if (rows > e->rows && grow(e, rows, sum, err) != TS_OK)
        return TS_BAD;
    float *at = e->scratch;
    for (int i = 0; i < TS_SLOT_COUNT; i++) {
        e->slot[i] = at;
        at += rows * width[i] + PADDING;
    }
    if (e->opt.poison)
        ts_engine_poison(e->scratch, e->rows * sum);
    return TS_OK;
}

void ts_engine_op(ts_piece *p, ts_op_id op, const void *args)
{
    if (p->status != TS_OK)
        return;
    const ts_schedule *s = ts_schedule_pick(op, p->e->profile->name, args);
    if (s)
        ts_schedule_run(s, args, p->e->opt.threads);
    else
        p->status = ts_fail(p->err, TS_BAD, p->e->w->path, ts_op_table[op].name, "no schedule takes these shapes");
}

static void quantise(ts_piece *p, ts_input *in)
{
    ts_engine *e = p->e;
    if (!in->coded)
        ts_engine_op(
            p, TS_OP_QUANTIZE_A64,
            &(ts_quantize_a64_args){in->T, in->K, in->x, e->code, e->slot[TS_SLOT_STEP], e->slot[TS_SLOT_SUM]});
    in->coded = true;
}

void ts_engine_linear(ts_piece *p, ts_input *in, const ts_matrix *w, float *y)
{
    ts_engine *e = p->e;
    if (!ts_engine_codes(e, w)) {
        ts_engine_op(p, TS_OP_MATMUL_DOT32, &(ts_matmul_args){in->T, w->N, in->K, in->x, w, y});
        return;
    }
    quantise(p, in);
    ts_engine_op(
        p, TS_OP_MATMUL_A64S8,
        &(ts_matmul_a64s8_args){in->T, w->N, in->K, e->code, e->slot[TS_SLOT_STEP], e->slot[TS_SLOT_SUM], w, y});
}

void ts_engine_gate_up(ts_piece *p, ts_input *in, const ts_matrix *gate, const ts_matrix *up, float *y)
{
    ts_engine *e = p->e;
    float **s = e->slot;
    if (in->T <= TS_FUSED_ROWS && ts_engine_codes(e, gate) && ts_engine_codes(e, up)) {
        quantise(p, in);
        ts_engine_op(p, TS_OP_GATE_UP_A64S8,
                     &(ts_gate_up_a64s8_args){in->T, gate->N, in->K, e->code, s[TS_SLOT_STEP], s[TS_SLOT_SUM], gate,
                                              up, y, p->trace ? s[TS_SLOT_GATE] : NULL,
                                              p->trace ? s[TS_SLOT_UP] : NULL});
        return;
    }
    ts_engine_linear(p, in, gate, s[TS_SLOT_GATE]);
    ts_engine_linear(p, in, up, s[TS_SLOT_UP]);
    ts_engine_op(p, TS_OP_SWIGLU, &(ts_zip_args){in->T * gate->N, s[TS_SLOT_GATE], s[TS_SLOT_UP], y});
}

void ts_engine_qkv_conv(ts_piece *p, ts_input *in, const ts_matrix *w, const float *taps, float *state, float *y)
{
    ts_engine *e = p->e;
    float **s = e->slot;
    int64_t W = p->c->W;
    if (in->T <= TS_FUSED_ROWS && ts_engine_codes(e, w)) {
        quantise(p, in);
        ts_engine_op(p, TS_OP_QKV_CONV_A64S8,
                     &(ts_qkv_conv_a64s8_args){in->T, w->N, in->K, W, e->code, s[TS_SLOT_STEP], s[TS_SLOT_SUM], w,
                                               taps, state, y,
                                               p->trace || ts_engine_keeps(p) ? s[TS_SLOT_WIDE] : NULL});
        return;
    }
    ts_engine_linear(p, in, w, s[TS_SLOT_WIDE]);
    ts_engine_op(p, TS_OP_CONV1D, &(ts_conv1d_args){in->T, w->N, W, s[TS_SLOT_WIDE], taps, state, y});
}

void ts_engine_norm_input(ts_piece *p, const float *h, const ts_vector *w, bool codes_only, ts_input *x)
{
    ts_engine *e = p->e;
    float *y = e->slot[TS_SLOT_X];
    *x = (ts_input){y, p->T, w->n, false};
    if (!ts_profile_codes(e->profile) || w->n % TS_CODE_RUN != 0) {
        ts_engine_norm(p, p->T, h, w, y);
        return;
    }
    ts_engine_op(p, TS_OP_RMSNORM_A64,
                 &(ts_rmsnorm_a64_args){p->T, w->n, !e->w->folded, p->c->eps, h, w->v, e->code,
                                        e->slot[TS_SLOT_STEP], e->slot[TS_SLOT_SUM],
                                        p->trace || !codes_only ? y : NULL});
    x->coded = true;
}

void ts_engine_norm(ts_piece *p, int64_t rows, const float *x, const ts_vector *w, float *y)
{
    ts_engine_op(p, TS_OP_RMSNORM, &(ts_rmsnorm_args){rows, w->n, !p->e->w->folded, p->c->eps, x, w->v, y});
}

void ts_engine_note(ts_piece *p, const char *name, int64_t T, int64_t H, int64_t D, const float *data)
{
    char full[64];
    const int64_t flat[] = {T, D}, heads[] = {T, H, D};
    if (!p->trace || p->status != TS_OK)
        return;
    if (p->layer < 0)
        snprintf(full, sizeof full, "%s", name);
    else
        snprintf(full, sizeof full, "layer.%lld.%s", (long long)p->layer, name);
    ts_trace_put(p->trace, full, TS_F32, H ? 3 : 2, H ? heads : flat, data);
}
