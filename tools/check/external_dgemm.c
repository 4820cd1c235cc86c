/* OpenBLAS's dgemm as a witness of ref64's products: the weights of every format widened to double, multiplied by
 * another coding in an order of its own. The two may differ by what rounding in double does to either:
 *
 *   |y - z| <= (gamma_K + gamma_D) sum |x| v,   gamma_n = n u / (1 - n u),  u = 2^-53
 *
 * (Higham, Accuracy and Stability, 3.1: any order of K terms; D: the most roundings that a term of ref64's form
 * meets, with those of the widened weight). v is |w|, or the parts of w in turn where the form adds them apart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound_op.h"
#include "check/external.h"
#include "check/inputs.h"
#include "format/block.h"
#include "num/convert.h"
#include "num/generate.h"
#include "openblas.h"
#include "ref.h"

/* Roundings that widening a weight may take, on either side. */
enum { WIDENING = 4 };

typedef struct {
    ts_check *k;
    const ts_openblas *blas;
} witness;

typedef struct {
    int64_t T, N, K;
    double *x, *w, *v, *y; /* [T,K], [N,K], [N,K], [T,N]; y: ref64's */
    int64_t depth;         /* D */
    bool half;             /* y is rounded to f16 at the end */
} product;

static bool product_new(int64_t T, int64_t N, int64_t K, product *p)
{
    *p = (product){.T = T, .N = N, .K = K};
    p->x = calloc((size_t)(T * K), sizeof *p->x);
    p->w = calloc((size_t)(N * K), sizeof *p->w);
    p->v = calloc((size_t)(N * K), sizeof *p->v);
    p->y = calloc((size_t)(T * N), sizeof *p->y);
    return p->x && p->w && p->v && p->y;
}

static void product_free(product *p)
{
    free(p->x);
    free(p->w);
    free(p->v);
    free(p->y);
}

static double gamma_of(int64_t n)
{
    double u = (double)n * 0x1p-53;
    return u / (1 - u);
}

/* |y - z| over its bound, for one row and output. */
static double distance(const product *p, int64_t t, int64_t n, double z)
{
    double terms = 0, y = p->y[t * p->N + n];
    for (int64_t i = 0; i < p->K; i++)
        terms += fabs(p->x[t * p->K + i]) * p->v[n * p->K + i];
    double bound = (gamma_of(p->K) + gamma_of(p->depth)) * terms;
    if (p->half) /* half an ulp, and of its subnormals */
        bound += 0x1p-11 * fabs(y) + 0x1p-25;
    return y == z ? 0 : fabs(y - z) / bound;
}

static void compare(const witness *b, const char *what, const product *p)
{
    double worst = 0, *z = malloc((size_t)(p->T * p->N) * sizeof *z);
    if (z)
        b->blas->f64((int)p->T, (int)p->N, (int)p->K, p->x, p->w, z);
    for (int64_t i = 0; z && i < p->T * p->N; i++) {
        double e = distance(p, i / p->N, i % p->N, z[i]);
        if (!(e <= worst))
            worst = e >= 0 ? e : HUGE_VAL; /* a NaN must show */
    }
    worst = z ? worst : HUGE_VAL;
    free(z);
    ts_report_add(b->k->report, what, "y", worst <= 1 ? TS_BOUND : TS_FAIL, worst,
                  worst <= 1 ? NULL : "OpenBLAS and ref64 disagree\n");
}

static bool fill_normal(double *y, uint32_t stream, int64_t n)
{
    float *f = malloc((size_t)n * sizeof *f);
    bool made = f && ts_generate("normal", 7, stream, f, n, NULL) == TS_OK;
    for (int64_t i = 0; made && i < n; i++)
        y[i] = (double)f[i];
    free(f);
    return made;
}

/* Every weight as ref64 widens it. */
static bool widen(const ts_matrix *m, double *w)
{
    int32_t *id = malloc((size_t)m->N * sizeof *id);
    for (int32_t i = 0; id && i < m->N; i++)
        id[i] = i;
    if (id)
        ts_ref64.op(TS_OP_EMBED,
                    &(ts_embed_args){.T = m->N, .V = m->N, .C = m->K, .id = id, .w = m, .y = (void *)w});
    free(id);
    return id != NULL;
}

static void absolute(const double *w, int64_t n, double *v)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = fabs(w[i]);
}

static bool dot32(const ts_matrix *m, product *p)
{
    p->depth = p->K + WIDENING;
    if (!fill_normal(p->x, 1, p->T * p->K) || !widen(m, p->w))
        return false;
    absolute(p->w, p->N * p->K, p->v);
    ts_ref64.op(TS_OP_MATMUL_DOT32,
                &(ts_matmul_args){.T = p->T, .N = p->N, .K = p->K, .x = (void *)p->x, .w = m, .y = (void *)p->y});
    return true;
}

static double mlx_aux(const ts_matrix *m, const void *array, int64_t n, int64_t k)
{
    return (double)ts_bf16_to_f32(((const uint16_t *)array)[n * (m->K / m->group) + k / m->group]);
}

/* Codes and sums of x apart, group by group. */
static bool mlx(const ts_matrix *m, product *p)
{
    if (!dot32(m, p))
        return false;
    p->depth = m->group + p->K / m->group + WIDENING;
    for (int64_t i = 0; i < p->N * p->K; i++) {
        int64_t n = i / p->K, k = i % p->K;
        p->v[i] = fabs(mlx_aux(m, m->scales, n, k)) * (double)ts_mlx_code(m, n, k) +
                  fabs(mlx_aux(m, m->biases, n, k));
    }
    ts_ref64.op(TS_OP_MATMUL_MLX,
                &(ts_matmul_args){.T = p->T, .N = p->N, .K = p->K, .x = (void *)p->x, .w = m, .y = (void *)p->y});
    return true;
}

static double half_at(const uint8_t *b)
{
    return (double)ts_f16_to_f32((uint16_t)(b[0] | b[1] << 8));
}

/* Q8_1 keeps the sum of a block's values once more, rounded to f16, and minima meet that: how far it is from the
 * sum, and the minima, are a column more for every block of 32. */
static void add_sums(const ts_matrix *m, const uint8_t *block, int64_t row, product *p)
{
    const int64_t blocks = m->K / 32, weight = ts_block_type(m->format)->bytes;
    for (int64_t t = 0; t < p->T; t++)
        for (int64_t b = 0; b < blocks; b++) {
            double sum = 0;
            for (int64_t k = 32 * b; k < 32 * b + 32; k++)
                sum += p->x[t * p->K + k];
            p->x[t * p->K + m->K + b] = half_at(block + t * row + 36 * b + 2) - sum;
        }
    for (int64_t n = 0; n < p->N; n++)
        for (int64_t b = 0; b < blocks; b++) {
            double *w = &p->w[n * p->K + m->K + b];
            *w = half_at((const uint8_t *)m->data + n * ts_matrix_row_bytes(m) + weight * b + 2);
            p->v[n * p->K + m->K + b] = fabs(*w);
        }
}

/* Integer sums a block, scales and minima apart. p->K has room for the columns of add_sums. */
static bool ggml(const ts_matrix *m, product *p)
{
    const int64_t row = ts_block_row_bytes(m), elements = ts_block_type(m->format)->elements;
    const ts_weight_format activation = ts_block_activation(m->format);
    double *x = malloc((size_t)(p->T * m->K) * sizeof *x), wide[256];
    int8_t *block = malloc((size_t)(p->T * row));
    bool made = x && block && fill_normal(x, 1, p->T * m->K);
    if (made)
        ts_ref64.op(TS_OP_MATMUL_GGML, &(ts_matmul_ggml_args){.T = p->T,
                                                              .N = p->N,
                                                              .K = m->K,
                                                              .B = row,
                                                              .x = (void *)x,
                                                              .w = m,
                                                              .block = block,
                                                              .y = (void *)p->y});
    for (int64_t t = 0; made && t < p->T; t++)
        ts_ref64.block_decode(activation, (const uint8_t *)block + t * row, m->K, p->x + t * p->K);
    for (int64_t n = 0; made && n < p->N; n++)
        for (int64_t k = 0; k < m->K; k += elements) {
            const uint8_t *b = (const uint8_t *)m->data + n * ts_matrix_row_bytes(m) +
                               k / elements * ts_block_type(m->format)->bytes;
            ts_ref64.block_decode(m->format, b, elements, wide);
            for (int64_t i = 0; i < elements; i++) {
                p->w[n * p->K + k + i] = wide[i];
                p->v[n * p->K + k + i] = fabs(wide[i]) + 2 * ts_bound_block_minimum(m->format, b);
            }
        }
    if (made && p->K > m->K)
        add_sums(m, (const uint8_t *)block, row, p);
    p->depth = m->K / 32 + 16 + WIDENING;
    free(x);
    free(block);
    return made;
}

/* A form on a matrix that a spec generates. */
static void with_matrix(const witness *b, const char *form, const char *spec, int64_t more, int64_t T, int64_t N,
                        int64_t K, bool (*make)(const ts_matrix *m, product *p))
{
    ts_matrix m;
    void *owned[3] = {NULL};
    product p;
    ts_error err = {0};
    char what[96];
    snprintf(what, sizeof what, "ref64 %s %.*s %lldx%lldx%lld ~ dgemm", form, (int)strcspn(spec, "/"), spec,
             (long long)T, (long long)N, (long long)K);
    const ts_input in = {.case_file = "dgemm", .field = "w", .spec = spec, .seed = 7};
    bool made = product_new(T, N, K + more, &p);
    ts_status status = made ? ts_input_matrix(&in, N, K, &m, owned, &err) : ts_no_memory(&err, 0);
    if (status == TS_OK && make(&m, &p))
        compare(b, what, &p);
    else
        ts_report_error(b->k->report, what, status ? status : ts_no_memory(&err, 0), &err);
    product_free(&p);
    for (int i = 0; i < 3; i++)
        free(owned[i]);
}

static void mlx_formats(const witness *b)
{
    static const int bits[] = {2, 3, 4, 5, 6, 8}, groups[] = {32, 64, 128};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
            char spec[64];
            snprintf(spec, sizeof spec, "mlx%d.g%d/normal:0.01/normal:0.05", bits[i], groups[g]);
            with_matrix(b, "matmul_dot32", spec, 0, 3, 17, 512, dot32);
            with_matrix(b, "matmul_mlx", spec, 0, 3, 17, 512, mlx);
        }
}

static void block_formats(const witness *b)
{
    static const char *const name[] = {"q4_0", "q4_1", "q5_0",   "q5_1",   "q8_0", "q4_k",
                                       "q5_k", "q6_k", "iq4_nl", "iq4_xs", "mxfp4"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char spec[32];
        const bool sums = strcmp(name[i], "q4_1") == 0 || strcmp(name[i], "q5_1") == 0;
        snprintf(spec, sizeof spec, "%s/normal:0.5", name[i]);
        with_matrix(b, "matmul_dot32", spec, 0, 3, 17, 512, dot32);
        with_matrix(b, "matmul_ggml", spec, sums ? 512 / 32 : 0, 3, 17, 512, ggml);
    }
}

enum { W_T = 3, W_N = 17, W_K = 512 };

typedef struct {
    int8_t code[W_T * W_K], w[W_N * W_K];
    int32_t acc[W_T * W_N];
    double sw[W_N];
    ts_matmul_w8a8_args a;
} w8a8;

static void w8a8_new(product *p, w8a8 *q)
{
    int32_t x[W_T * W_K], w[W_N * W_K];
    ts_generate_ints(7, 0, -128, 127, x, W_T * W_K);
    ts_generate_ints(7, 1, -127, 127, w, W_N * W_K);
    for (int i = 0; i < W_T * W_K; i++)
        q->code[i] = (int8_t)x[i];
    for (int i = 0; i < W_N * W_K; i++)
        q->w[i] = (int8_t)w[i];
    for (int n = 0; n < W_N; n++)
        q->sw[n] = (n + 1) * 0x1p-11;
    q->a = (ts_matmul_w8a8_args){.T = W_T,
                                 .N = W_N,
                                 .K = W_K,
                                 .S = W_N,
                                 .sx = 0.02001953125,
                                 .code = q->code,
                                 .w = q->w,
                                 .sw = (void *)q->sw,
                                 .acc = q->acc,
                                 .y = (void *)p->y};
}

/* Integer sums: exact in both. */
static void w8a8_sums(const witness *b, product *p, w8a8 *q)
{
    for (int i = 0; i < W_T * W_K; i++)
        p->x[i] = q->code[i];
    for (int i = 0; i < W_N * W_K; i++)
        p->w[i] = q->w[i];
    ts_ref64.op(TS_OP_MATMUL_W8A8, &q->a);
    for (int i = 0; i < W_T * W_N; i++)
        p->y[i] = q->acc[i];
    memset(p->v, 0, W_N * W_K * sizeof *p->v); /* no rounding: only equal passes */
    compare(b, "ref64 matmul_w8a8 acc ~ dgemm", p);
}

/* Products of the codes' f16 values, their sum rounded to f16. */
static void w8a8_unfused(const witness *b, ts_op_id op, product *p, w8a8 *q)
{
    char what[64];
    for (int i = 0; i < W_T * W_K; i++)
        p->x[i] = (double)ts_f16_to_f32(ts_f64_to_f16(q->a.sx * q->code[i]));
    for (int i = 0; i < W_N * W_K; i++)
        p->w[i] = (double)ts_f16_to_f32(ts_f64_to_f16(q->sw[i / W_K] * q->w[i]));
    absolute(p->w, W_N * W_K, p->v);
    p->depth = W_K;
    p->half = true;
    ts_ref64.op(op, &q->a);
    snprintf(what, sizeof what, "ref64 %s ~ dgemm", ts_op_table[op].name);
    compare(b, what, p);
}

static void w8a8_forms(const witness *b)
{
    product p;
    w8a8 *q = calloc(1, sizeof *q);
    ts_error err = {0};
    if (product_new(W_T, W_N, W_K, &p) && q) {
        w8a8_new(&p, q);
        w8a8_sums(b, &p, q);
        w8a8_unfused(b, TS_OP_MATMUL_W8A8_UNFUSED, &p, q);
        w8a8_unfused(b, TS_OP_MATMUL_W8A8_UNFUSED_CHAIN, &p, q);
    } else {
        ts_report_error(b->k->report, "ref64 w8a8 ~ dgemm", ts_no_memory(&err, sizeof *q), &err);
    }
    product_free(&p);
    free(q);
}

void ts_external_dgemm(ts_check *k, const ts_case *c)
{
    ts_openblas blas;
    ts_error err = {0};
    (void)c;
    if (ts_openblas_open(NULL, 1, &blas, &err)) {
        char text[512];
        ts_report_add(k->report, "ref64 ~ dgemm", "", TS_SKIP, 0, ts_error_text(&err, text, sizeof text));
        return;
    }
    const witness b = {k, &blas};
    with_matrix(&b, "matmul_dot32", "f32/normal", 0, 1, 33, 257, dot32);
    with_matrix(&b, "matmul_dot32", "f32/normal", 0, 8, 64, 512, dot32);
    with_matrix(&b, "matmul_dot32", "f32/normal", 0, 17, 100, 1000, dot32);
    with_matrix(&b, "matmul_dot32", "bf16/normal", 0, 3, 17, 512, dot32);
    with_matrix(&b, "matmul_dot32", "f16/normal", 0, 3, 17, 512, dot32);
    mlx_formats(&b);
    block_formats(&b);
    w8a8_forms(&b);
}
