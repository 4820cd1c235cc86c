#include "bench/peer_ggml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/footprint.h"
#include "bench/ggml_api.h"
#include "dynamic.h"
#include "num/generate.h"

/* Rows are quantised by ggml, DISTINCT of them, and repeated: its quantiser takes seconds for a whole matrix, and
 * no kernel's time depends on the values. */
enum { LAYOUTS = 4, DISTINCT = 64, GRAPH = 8, SUPER_BLOCK = 256, COMPARED = 64, MOST_COPIES = 8192 };

struct ts_ggml {
    ts_ggml_api api;
    void *library[2];
    char variant[64];
    void *backend, *device;
    void *layout[LAYOUTS]; /* ggml's buffer types with an order of weights of their own */
    int layouts;
};

/* A mul_mat per copy of the weights in one layout. */
typedef struct {
    const struct ts_ggml_problem *p;
    void *weights_context, *context, *weights_buffer, *buffer;
    void **y, **graph; /* [copies] */
} mul_mats;

struct ts_ggml_problem {
    const ts_ggml *g;
    int64_t T, N, K, copies;
    int threads;
    size_t row, code_row; /* bytes of a row in Q4_K, in Q8_K */
    ts_region weights;    /* [copies][N] rows of Q4_K */
    float *x, *y;         /* [T,K] [T,N] */
    char *code;           /* [T] rows of Q8_K */
    mul_mats in[LAYOUTS];
};

static void find_layouts(ts_ggml *g, void *reg)
{
    void *address = g->api.backend_reg_get_proc_address(reg, "ggml_backend_dev_get_extra_bufts");
    void **(*extra)(void *device);
    memcpy(&extra, &address, sizeof extra);
    void **list = address ? extra(g->device) : NULL;
    for (; list && *list && g->layouts < LAYOUTS; list++)
        g->layout[g->layouts++] = *list;
}

/* It reports every matrix that it packs. */
static void no_log(int level, const char *text, void *context)
{
    (void)level;
    (void)text;
    (void)context;
}

ts_status ts_ggml_open(const char *folder, ts_ggml **out, ts_error *err)
{
    ts_ggml *g = *out = calloc(1, sizeof *g);
    if (!g)
        return ts_no_memory(err, sizeof *g);
    ts_status s = ts_ggml_api_open(folder, &g->api, g->library, g->variant, err);
    if (!s)
        g->api.log_set(no_log, NULL);
    void *reg = s ? NULL : g->api.backend_init();
    g->device = reg ? g->api.backend_reg_dev_get(reg, 0) : NULL;
    g->backend = g->device ? g->api.backend_cpu_init() : NULL;
    if (!s && !g->backend)
        s = ts_fail(err, TS_BAD, folder, g->variant, "its CPU backend does not start");
    if (!s)
        find_layouts(g, reg);
    return s;
}

void ts_ggml_close(ts_ggml *g)
{
    if (g && g->backend)
        g->api.backend_free(g->backend);
    for (int i = 1; g && i >= 0; i--)
        ts_dynamic_close(g->library[i]);
    free(g);
}

const char *ts_ggml_variant(const ts_ggml *g)
{
    return g->variant;
}

/* Rows n = begin .. end-1 of y: a row of weights at a time, with all rows of activations. */
static void dots(const ts_ggml_problem *p, const char *weights, int64_t begin, int64_t end)
{
    for (int64_t n = begin; n < end; n++)
        for (int64_t t = 0; t < p->T; t++)
            p->g->api.vec_dot_q4_K_q8_K((int)p->K, p->y + t * p->N + n, 0, weights + (size_t)n * p->row, 0,
                                        p->code + (size_t)t * p->code_row, 0, 1);
}

static void run_dots(void *context, int64_t copy)
{
    const ts_ggml_problem *p = context;
    const char *weights = p->weights.base + (size_t)copy * (size_t)p->N * p->row;
#pragma omp parallel for num_threads(p->threads) schedule(static) if (p->threads > 1)
    for (int i = 0; i < p->threads; i++)
        dots(p, weights, p->N * i / p->threads, p->N * (i + 1) / p->threads);
}

static double guess_dots(void *context)
{
    const ts_ggml_problem *p = context;
    double start = ts_now_on_core();
    dots(p, p->weights.base, 0, 16);
    return (ts_now_on_core() - start) * (double)p->N / 16 / p->threads;
}

static void run_mul_mat(void *context, int64_t copy)
{
    const mul_mats *k = context;
    k->p->g->api.backend_graph_compute(k->p->g->backend, k->graph[copy]);
}

static ts_status fill(ts_ggml_problem *p, ts_error *err)
{
    const ts_ggml_api *api = &p->g->api;
    float *w = malloc((size_t)(DISTINCT * p->K) * sizeof *w);
    p->x = malloc((size_t)(p->T * p->K) * sizeof *p->x);
    p->y = malloc((size_t)(p->T * p->N) * sizeof *p->y);
    p->code = malloc((size_t)p->T * p->code_row);
    ts_status s = ts_region_new((size_t)(p->copies * p->N) * p->row, &p->weights, err);
    if (!s && (!w || !p->x || !p->y || !p->code))
        s = ts_no_memory(err, (size_t)(p->T * (p->N + p->K)) * sizeof *w);
    if (!s)
        s = ts_generate("uniform:-1:1", 1, 1, w, DISTINCT * p->K, err);
    if (!s)
        s = ts_generate("uniform:-4:4", 1, 2, p->x, p->T * p->K, err);
    if (!s)
        api->quantize_chunk(TS_GGML_Q4_K, w, p->weights.base, 0, DISTINCT, p->K, NULL);
    for (int64_t n = DISTINCT; !s && n < p->copies * p->N; n++)
        memcpy(p->weights.base + (size_t)n * p->row, p->weights.base + (size_t)(n % DISTINCT) * p->row, p->row);
    for (int64_t t = 0; !s && t < p->T; t++)
        api->quantize_row_q8_K(p->x + t * p->K, p->code + (size_t)t * p->code_row, p->K);
    free(w);
    return s;
}

static void *new_context(const ts_ggml_problem *p)
{
    const ts_ggml_api *api = &p->g->api;
    size_t graphs = (size_t)p->copies * api->graph_overhead_custom(GRAPH, false);
    size_t tensors = (size_t)(2 * p->copies + 2) * api->tensor_overhead();
    return api->init((ts_ggml_init_params){graphs + tensors + 65536, NULL, true});
}

/* Tensors, their memory, graphs. False: no memory, or this layout takes no such matrix. */
static bool build(ts_ggml_problem *p, mul_mats *k, void *layout)
{
    const ts_ggml_api *api = &p->g->api;
    k->weights_context = new_context(p);
    k->context = new_context(p);
    k->y = calloc((size_t)p->copies, sizeof *k->y);
    k->graph = calloc((size_t)p->copies, sizeof *k->graph);
    void **w = calloc((size_t)p->copies, sizeof *w);
    bool ok = k->weights_context && k->context && k->y && k->graph && w;
    for (int64_t i = 0; ok && i < p->copies; i++)
        w[i] = api->new_tensor_2d(k->weights_context, TS_GGML_Q4_K, p->K, p->N);
    void *x = ok ? api->new_tensor_2d(k->context, TS_GGML_F32, p->K, p->T) : NULL;
    for (int64_t i = 0; ok && i < p->copies; i++)
        k->y[i] = api->mul_mat(k->context, w[i], x);
    k->weights_buffer = ok ? api->backend_alloc_ctx_tensors_from_buft(k->weights_context, layout) : NULL;
    k->buffer = ok ? api->backend_alloc_ctx_tensors_from_buft(k->context, api->backend_cpu_buffer_type()) : NULL;
    ok = ok && k->weights_buffer && k->buffer && api->backend_dev_supports_op(p->g->device, k->y[0]);
    for (int64_t i = 0; ok && i < p->copies; i++) {
        api->backend_tensor_set(w[i], p->weights.base + (size_t)(i * p->N) * p->row, 0, (size_t)p->N * p->row);
        k->graph[i] = api->new_graph_custom(k->context, GRAPH, false);
        api->build_forward_expand(k->graph[i], k->y[i]);
    }
    if (ok)
        api->backend_tensor_set(x, p->x, 0, (size_t)(p->T * p->K) * sizeof *p->x);
    free(w);
    return ok;
}

/* A yardstick that computes something else is none: the first outputs against the row dots. Layouts may quantise
 * the activations otherwise, hence within 1/64 of the largest. */
static bool agrees(ts_ggml_problem *p, mul_mats *k)
{
    float y[COMPARED], most = 0, worst = 0;
    dots(p, p->weights.base, 0, COMPARED);
    run_mul_mat(k, 0);
    p->g->api.backend_tensor_get(k->y[0], y, 0, sizeof y);
    for (int n = 0; n < COMPARED; n++) {
        most = fmaxf(most, fabsf(p->y[n]));
        worst = fmaxf(worst, fabsf(p->y[n] - y[n]));
    }
    return worst <= most / 64;
}

static void add_layout(ts_ggml_problem *p, int i, ts_match *m)
{
    char name[64];
    mul_mats *k = &p->in[i];
    double start = ts_now();
    k->p = p;
    if (!build(p, k, p->g->layout[i]))
        return;
    double prepared = (ts_now() - start) / (double)p->copies;
    snprintf(name, sizeof name, "ggml.%.40s", p->g->api.backend_buft_name(p->g->layout[i]));
    ts_contender *c = ts_match_add(m, name, TS_PEER);
    if (!c)
        return;
    c->run = run_mul_mat;
    c->context = k;
    c->copies = p->copies;
    c->prepared = prepared;
    if (!agrees(p, k))
        snprintf(c->skip, sizeof c->skip, "its product is not that of the row dots");
}

static ts_status begin(ts_ggml_problem *p, bool dram, ts_error *err)
{
    if (p->K % SUPER_BLOCK != 0 || p->N < COMPARED)
        return ts_fail(err, TS_BAD, NULL, "ggml", "Q4_K needs K divisible by %d, and %d rows or more", SUPER_BLOCK,
                       COMPARED);
    p->row = p->g->api.row_size(TS_GGML_Q4_K, p->K);
    p->code_row = p->g->api.row_size(TS_GGML_Q8_K, p->K);
    p->copies = ts_copies_for((size_t)p->N * p->row, dram);
    if (p->copies > MOST_COPIES)
        return ts_fail(err, TS_BAD, NULL, "ggml", "so small a matrix comes from no memory: %lld copies make 1 GiB",
                       (long long)p->copies);
    double weights = (double)p->copies * (double)p->N * (double)p->row;
    double results = (double)p->copies * (double)(p->T * p->N) * sizeof(float);
    ts_status s = ts_memory_for(weights * (1 + p->g->layouts) + results * p->g->layouts, err);
    return s ? s : fill(p, err);
}

ts_status ts_ggml_enter(ts_ggml *g, int64_t T, int64_t N, int64_t K, bool dram, int threads, ts_match *m,
                        ts_ggml_problem **out, ts_error *err)
{
    ts_ggml_problem *p = *out = calloc(1, sizeof *p);
    if (!p)
        return ts_no_memory(err, sizeof *p);
    *p = (ts_ggml_problem){.g = g, .T = T, .N = N, .K = K, .threads = threads};
    size_t first = m->n;
    ts_status s = begin(p, dram, err);
    if (s)
        return s;
    g->api.backend_cpu_set_n_threads(g->backend, threads);
    ts_contender *c = ts_match_add(m, "ggml.dots", TS_PEER);
    if (c) {
        c->run = run_dots;
        c->guess = guess_dots;
        c->context = p;
        c->copies = p->copies;
    }
    for (int i = 0; i < g->layouts; i++)
        add_layout(p, i, m);
    for (size_t i = first; i < m->n; i++) {
        m->v[i].bytes = (double)N * (double)p->row + (double)T * (double)(K + N) * sizeof(float);
        m->v[i].macs = (double)T * (double)N * (double)K;
    }
    return TS_OK;
}

static void free_layout(const ts_ggml_api *api, mul_mats *k)
{
    if (k->weights_buffer)
        api->backend_buffer_free(k->weights_buffer);
    if (k->buffer)
        api->backend_buffer_free(k->buffer);
    if (k->weights_context)
        api->free(k->weights_context);
    if (k->context)
        api->free(k->context);
    free(k->y);
    free(k->graph);
}

void ts_ggml_leave(ts_ggml_problem *p)
{
    for (int i = 0; p && i < LAYOUTS; i++)
        free_layout(&p->g->api, &p->in[i]);
    if (p) {
        ts_region_free(&p->weights);
        free(p->x);
        free(p->y);
        free(p->code);
    }
    free(p);
}
