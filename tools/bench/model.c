#include "bench/model.h"

#include <string.h>
#include <stdlib.h>

#include "bench/footprint.h"
#include "engine.h"

enum { PREFILL = 512, DECODE = 64, PART = 16 };

typedef struct {
    const ts_model_options *o;
    ts_weights *w;
    ts_engine *e;
    int32_t ids[PREFILL];
    float *logits;   /* [V] */
    int64_t T, past; /* tokens of the prefill; decoded since the position was last set back */
    int64_t linear;  /* a layer that is not full attention, or -1 */
    double bytes, macs,
        head_macs; /* of weights read for a token; of the layers for a token; of the head for a row */
    ts_region region;
    ts_bandwidth bandwidth;
    bool failed;
    ts_error *err;
    ts_result *out;
} job;

static double matrix_bytes(const ts_matrix *m)
{
    size_t wide = m->format == TS_W_F32 ? 4 : 2;
    if (m->format != TS_W_MLX)
        return (double)m->N * (double)m->K * (double)wide;
    return (double)m->N * (double)m->K * (m->bits / 8.0 + (m->aux == TS_F32 ? 8.0 : 4.0) / m->group);
}

static void count(job *j)
{
    static const char *const role[] = {"gate_proj", "up_proj", "down_proj", "in_qkv", "in_z",   "in_b",
                                       "in_a",      "out",     "q_proj",    "k_proj", "v_proj", "o_proj"};
    j->linear = -1;
    for (int64_t l = 0; l < j->w->cfg.layers; l++) {
        j->linear = j->w->cfg.full[l] ? j->linear : l;
        for (size_t i = 0; i < sizeof role / sizeof *role; i++) {
            const ts_matrix *m = ts_weights_matrix(j->w, l, role[i]);
            if (m) {
                j->bytes += matrix_bytes(m);
                j->macs += (double)m->N * (double)m->K;
            }
        }
    }
    j->bytes += matrix_bytes(&j->w->head);
    j->head_macs = (double)j->w->head.N * (double)j->w->head.K;
}

static void keep(job *j, ts_status s)
{
    j->failed |= s != TS_OK;
}

static void prefill(void *context, int64_t copy)
{
    job *j = context;
    (void)copy;
    if (j->failed)
        return;
    ts_engine_reset(j->e);
    keep(j, ts_engine_forward(j->e, j->ids, j->T, 1, j->logits, NULL, j->err));
}

static double guess_prefill(void *context)
{
    job *j = context;
    int64_t part = j->T < PART ? j->T : PART;
    double start = ts_now_on_core();
    ts_engine_reset(j->e);
    keep(j, ts_engine_forward(j->e, j->ids, part, 1, j->logits, NULL, j->err));
    return (ts_now_on_core() - start) * (double)j->T / (double)part;
}

/* Behind T tokens; after DECODE more the position goes back there. What the caches hold does not matter. */
static void decode(void *context, int64_t copy)
{
    job *j = context;
    (void)copy;
    if (j->failed)
        return;
    if (j->past == DECODE) {
        j->past = 0;
        if (j->linear >= 0)
            keep(j, ts_engine_state_put(j->e, j->linear, j->T, NULL, NULL, j->err));
        else
            ts_engine_reset(j->e);
    }
    j->past++;
    keep(j, ts_engine_forward(j->e, j->ids, 1, 1, j->logits, NULL, j->err));
}

static ts_status finish(job *j, ts_match *m, const char *shape)
{
    size_t begin = j->out->n;
    m->threads = j->o->threads;
    ts_status s = ts_match_run(m, j->o->seconds, j->err);
    if (!s && j->failed)
        s = TS_BAD;
    if (!s)
        s = ts_result_match(j->out, "model", shape, "model", m, j->err);
    if (!s && !j->o->quiet)
        ts_result_print(j->out, begin, stdout);
    ts_match_free(m);
    return s;
}

static const char *unit(const job *j)
{
    return j->w->layer[0].gate_proj.format == TS_W_MLX ? "int8" : "f32";
}

static ts_status time_prefill(job *j, ts_match *m)
{
    char shape[96];
    ts_contender *c = ts_match_add(m, "prefill", TS_SCHEDULE);
    c->run = prefill;
    c->guess = guess_prefill;
    c->tokens = (double)j->T;
    c->context = j;
    c->macs = j->macs * (double)j->T + j->head_macs;
    ts_add_peak(m, &j->out->quiet, unit(j));
    snprintf(shape, sizeof shape, "%.60s T=%lld", j->o->folder, (long long)j->T);
    return finish(j, m, shape);
}

static ts_status time_decode(job *j, ts_match *m)
{
    char shape[96];
    size_t bytes = ((size_t)j->bytes + 511) / 512 * 512;
    ts_contender *c = ts_match_add(m, "decode", TS_SCHEDULE);
    c->run = decode;
    c->tokens = 1;
    c->context = j;
    c->bytes = j->bytes;
    c->macs = j->macs + j->head_macs;
    ts_status s = ts_memory_for(j->bytes, j->err);
    if (!s)
        s = ts_region_new(bytes, &j->region, j->err);
    if (s)
        return s;
    memset(j->region.base, 1, bytes);
    j->bandwidth = (ts_bandwidth){ts_probe_best(), j->region.base, 0, bytes, j->o->threads};
    ts_add_bandwidth(m, &j->bandwidth, 1, false);
    ts_add_peak(m, &j->out->quiet, unit(j));
    snprintf(shape, sizeof shape, "%.60s T=1", j->o->folder);
    j->past = DECODE;
    return finish(j, m, shape);
}

static ts_status once(job *j, const char *name, double ns)
{
    ts_row *row = ts_result_add(j->out);
    if (!row)
        return ts_no_memory(j->err, sizeof *row);
    snprintf(row->op, sizeof row->op, "model");
    snprintf(row->shape, sizeof row->shape, "%.90s", j->o->folder);
    snprintf(row->footprint, sizeof row->footprint, "model");
    snprintf(row->name, sizeof row->name, "%s", name);
    row->runs = 1;
    row->bytes = j->bytes;
    row->ns = (ts_spread){ns, ns, ns};
    return TS_OK;
}

static ts_status prepare(job *j)
{
    size_t begin = j->out->n;
    double start = ts_now();
    ts_status s = ts_weights_load(j->o->folder, &j->w, j->err);
    if (s)
        return s;
    count(j);
    double loaded = ts_now();
    j->T = j->w->cfg.max_positions - DECODE < PREFILL ? j->w->cfg.max_positions - DECODE : PREFILL;
    if (j->T < 1)
        return ts_fail(j->err, TS_BAD, j->o->folder, "max_position_embeddings", "no room to decode %d tokens",
                       DECODE);
    ts_engine_options e = {.threads = j->o->threads, .capacity = j->T + DECODE};
    s = ts_engine_new(j->w, ts_profile_find("ts"), &e, &j->e, j->err);
    double packed = ts_now();
    j->logits = malloc((size_t)j->w->cfg.V * sizeof *j->logits);
    if (!s && !j->logits)
        s = ts_no_memory(j->err, (size_t)j->w->cfg.V * sizeof *j->logits);
    for (int64_t t = 0; t < j->T; t++)
        j->ids[t] = (int32_t)((t * 7919 + 1) % j->w->cfg.V);
    if (!s)
        s = once(j, "load", loaded - start);
    if (!s)
        s = once(j, "pack", packed - loaded);
    if (!s && !j->o->quiet)
        ts_result_print(j->out, begin, stdout);
    return s;
}

ts_status ts_model_run(const ts_model_options *o, ts_result *out, ts_error *err)
{
    job *j = calloc(1, sizeof *j);
    ts_match *m = calloc(1, sizeof *m);
    ts_status s = j && m ? TS_OK : ts_no_memory(err, sizeof *m);
    if (!s) {
        *j = (job){.o = o, .out = out, .err = err};
        s = prepare(j);
    }
    if (!s)
        s = time_prefill(j, m);
    if (!s)
        s = time_decode(j, m);
    if (m)
        ts_match_free(m);
    if (j) {
        ts_engine_free(j->e);
        ts_weights_free(j->w);
        ts_region_free(&j->region);
        free(j->logits);
    }
    free(m);
    free(j);
    return s;
}
