#include "check/inputs.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/convert.h"
#include "num/generate.h"
#include "num/rope_table.h"
#include "ref.h"

static ts_status bad(const ts_input *in, ts_error *err)
{
    return ts_fail(err, TS_BAD, in->case_file, in->field, "unknown generator '%s'", in->spec);
}

static ts_status rope_rows(const ts_input *in, int64_t n, int64_t row, float *y, ts_error *err)
{
    double theta;
    long long pos;
    if (row < 1)
        return bad(in, err);
    double *inv = malloc((size_t)row * sizeof *inv);
    float *other = malloc((size_t)row * sizeof *other);
    bool cosine = strcmp(in->field, "cos") == 0;
    bool ok = inv && other && sscanf(in->spec, "rope:%lf:%lld", &theta, &pos) == 2 && theta > 1 && theta < 1e30 &&
              pos >= 0 && pos + n / row < 1 << 24;
    if (ok) {
        ts_rope_inv_freq(theta, 2 * row, inv);
        for (int64_t t = 0; t < n / row; t++)
            ts_rope_row_f32(inv, 2 * row, pos + t, cosine ? y + t * row : other, cosine ? other : y + t * row);
    }
    free(inv);
    free(other);
    return ok ? TS_OK : bad(in, err);
}

ts_status ts_input_real(const ts_input *in, int64_t n, int64_t row, float *y, ts_error *err)
{
    if (strncmp(in->spec, "rope:", 5) == 0)
        return rope_rows(in, n, row, y, err);
    ts_status s = ts_generate(in->spec, in->seed, in->stream, y, n, err);
    return s ? bad(in, err) : TS_OK;
}

/* "1,2,3" over and over; false if it is no list of 32-bit integers. */
static bool cycle(const char *list, int64_t n, int32_t *y)
{
    const char *p = list;
    for (int64_t i = 0; i < n; i++) {
        char *end;
        long long v = strtoll(p, &end, 10);
        if (end == p || (*end && *end != ',') || v < INT32_MIN || v > INT32_MAX)
            return false;
        y[i] = (int32_t)v;
        p = *end == ',' ? end + 1 : list;
    }
    return true;
}

ts_status ts_input_i32(const ts_input *in, int64_t n, int32_t *y, ts_error *err)
{
    int lo, hi;
    if (sscanf(in->spec, "ints:%d:%d", &lo, &hi) == 2 && lo <= hi)
        ts_generate_ints(in->seed, in->stream, lo, hi, y, n);
    else if (sscanf(in->spec, "iota:%d", &lo) == 1 && lo >= 0 && lo <= 1 << 24)
        for (int64_t i = 0; i < n; i++)
            y[i] = lo + (int32_t)i;
    else if (strncmp(in->spec, "list:", 5) != 0 || !cycle(in->spec + 5, n, y))
        return bad(in, err);
    return TS_OK;
}

ts_status ts_input_i8(const ts_input *in, int64_t n, int8_t *y, ts_error *err)
{
    int32_t *wide = malloc((size_t)n * sizeof *wide + 1);
    if (!wide)
        return ts_no_memory(err, (unsigned long)n * sizeof *wide);
    ts_status s = ts_input_i32(in, n, wide, err);
    for (int64_t i = 0; !s && i < n; i++)
        y[i] = (int8_t)wide[i];
    free(wide);
    return s;
}

/* The part of spec after the i-th '/', cut at the next one. */
static bool part(const char *spec, int i, char *out, size_t size)
{
    for (; i > 0 && spec; i--)
        spec = strchr(spec, '/') ? strchr(spec, '/') + 1 : NULL;
    if (!spec || strcspn(spec, "/") >= size)
        return false;
    memcpy(out, spec, strcspn(spec, "/"));
    out[strcspn(spec, "/")] = 0;
    return true;
}

static ts_status generate_as(const ts_input *in, int which, int64_t n, ts_dtype dtype, void **out, ts_error *err)
{
    char gen[96];
    float *f = malloc((size_t)n * sizeof *f + 1);
    uint16_t *h = malloc((size_t)n * sizeof *h + 1);
    ts_status s = f && h ? TS_OK : ts_no_memory(err, (unsigned long)n * 6);
    if (!s && !part(in->spec, which, gen, sizeof gen))
        s = bad(in, err);
    if (!s)
        s = ts_generate(gen, in->seed, in->stream + 64 * (uint32_t)which, f, n, err) ? bad(in, err) : TS_OK;
    for (int64_t i = 0; !s && i < n; i++)
        h[i] = dtype == TS_F16 ? ts_f32_to_f16(f[i]) : ts_f32_to_bf16(f[i]);
    *out = dtype == TS_F32 ? (void *)f : (void *)h;
    free(dtype == TS_F32 ? (void *)h : (void *)f);
    return s;
}

/* Scales and biases are bf16 unless a third '/' names another dtype. */
static bool parse_aux(const ts_input *in, ts_dtype *aux)
{
    char name[8];
    *aux = TS_BF16;
    if (!part(in->spec, 3, name, sizeof name))
        return true;
    *aux = strcmp(name, "f16") == 0 ? TS_F16 : TS_F32;
    return *aux == TS_F16 || strcmp(name, "f32") == 0;
}

static ts_status mlx(const ts_input *in, ts_matrix *m, void *owned[3], ts_error *err)
{
    if (m->bits < 2 || m->bits > 8 || m->group < 32 || m->K % m->group || m->K * m->bits % 32)
        return ts_fail(err, TS_BAD, in->case_file, in->field, "K = %lld does not fit %d bits in groups of %d",
                       (long long)m->K, m->bits, m->group);
    int64_t words = m->N * (m->K * m->bits / 32), aux = m->N * (m->K / m->group);
    if (!parse_aux(in, &m->aux))
        return bad(in, err);
    int32_t *code = malloc((size_t)words * sizeof *code + 1);
    if (!code)
        return ts_no_memory(err, (unsigned long)words * 4);
    owned[0] = code;
    ts_generate_ints(in->seed, in->stream, INT32_MIN, INT32_MAX, code, words);
    m->format = TS_W_MLX;
    m->data = owned[0];
    ts_status s = generate_as(in, 1, aux, m->aux, &owned[1], err);
    if (!s)
        s = generate_as(in, 2, aux, m->aux, &owned[2], err);
    m->scales = owned[1];
    m->biases = owned[2];
    return s;
}

/* "q4_k/GEN": f32 values of the generator, encoded as ggml's reference does. */
static ts_status blocks(const ts_input *in, ts_matrix *m, void *owned[3], ts_error *err)
{
    char name[16];
    if (!part(in->spec, 0, name, sizeof name))
        return bad(in, err);
    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    const ts_ggml_type *type = ts_ggml_type_find(name);
    if (!type || !ts_block_format(type->id, &m->format) || m->format == TS_W_Q8_1 || m->format == TS_W_Q8_K)
        return bad(in, err);
    if (m->K % type->elements)
        return ts_fail(err, TS_BAD, in->case_file, in->field, "K = %lld is no multiple of %s's %d", (long long)m->K,
                       type->name, type->elements);
    void *values = NULL;
    ts_status s = generate_as(in, 1, m->N * m->K, TS_F32, &values, err);
    owned[0] = s ? NULL : malloc((size_t)(m->N * ts_matrix_row_bytes(m)) + 1);
    if (!s && !owned[0])
        s = ts_no_memory(err, (unsigned long)(m->N * ts_matrix_row_bytes(m)));
    if (!s)
        ts_ref32.block_encode(m->format, TS_BLOCK_REFERENCE, values, m->N * m->K, owned[0]);
    m->data = owned[0];
    free(values);
    return s;
}

ts_status ts_input_matrix(const ts_input *in, int64_t N, int64_t K, ts_matrix *m, void *owned[3], ts_error *err)
{
    *m = (ts_matrix){.N = N, .K = K};
    if (sscanf(in->spec, "mlx%d.g%d/", &m->bits, &m->group) == 2)
        return mlx(in, m, owned, err);
    static const struct {
        const char *prefix;
        ts_weight_format format;
        ts_dtype dtype;
    } plain[] = {{"bf16/", TS_W_BF16, TS_BF16}, {"f16/", TS_W_F16, TS_F16}, {"f32/", TS_W_F32, TS_F32}};
    for (int i = 0; i < 3; i++)
        if (strncmp(in->spec, plain[i].prefix, strlen(plain[i].prefix)) == 0) {
            m->format = plain[i].format;
            ts_status s = generate_as(in, 1, N * K, plain[i].dtype, &owned[0], err);
            m->data = owned[0];
            return s;
        }
    return blocks(in, m, owned, err);
}

typedef struct {
    ts_kv_dtype dtype;
    char gen[96];
    long long page, filled, capacity, spare;
} kv_spec;

static bool parse_kv(const char *spec, kv_spec *k)
{
    char n[4][24], dtype[16];
    if (!part(spec, 0, dtype, sizeof dtype) || !ts_kv_find(dtype, &k->dtype) ||
        !part(spec, 1, k->gen, sizeof k->gen))
        return false;
    for (int i = 0; i < 4; i++)
        if (!part(spec, 2 + i, n[i], sizeof n[i]))
            return false;
    k->page = atoll(n[0]);
    k->filled = atoll(n[1]);
    k->capacity = atoll(n[2]);
    k->spare = atoll(n[3]);
    return k->page > 0 && k->page <= 4096 && k->filled >= 0 && k->filled <= k->capacity && k->capacity < 1 << 20 &&
           k->spare >= 0 && k->spare < 1 << 20;
}

/* Fisher-Yates over the pool, so that neither order nor adjacency of pages can be relied on. */
static void shuffle(const ts_input *in, int32_t *table, int64_t pages)
{
    for (int64_t i = 0; i < pages; i++)
        table[i] = (int32_t)i;
    for (int64_t i = pages - 1; i > 0; i--) {
        int32_t j, t = table[i];
        ts_generate_ints(in->seed, in->stream + 1024 + (uint32_t)i, 0, (int32_t)i, &j, 1);
        table[i] = table[j];
        table[j] = t;
    }
}

ts_status ts_input_kv_shape(const ts_input *in, ts_kv *kv, int32_t **table, int64_t *filled, int64_t *capacity,
                            ts_error *err)
{
    kv_spec k;
    if (!parse_kv(in->spec, &k))
        return bad(in, err);
    *filled = k.filled;
    *capacity = k.capacity;
    int64_t pages = (k.capacity + k.page - 1) / k.page + k.spare;
    *table = malloc((size_t)pages * sizeof **table + 1);
    if (!*table)
        return ts_no_memory(err, (unsigned long)pages * 4);
    shuffle(in, *table, pages);
    *kv = (ts_kv){.dtype = k.dtype, .page = k.page, .pages = pages, .table = *table};
    return TS_OK;
}

static uint8_t code_of(const ts_kv *kv, float x)
{
    return kv->dtype == TS_KV_E4M3 ? ts_f32_to_e4m3(x) : ts_f32_to_e5m2(x);
}

/* The D values of row `row` of the k pool or, which = 1, the v pool: their amax becomes the largest code. */
static void put_codes(const ts_kv *kv, void *pools, int64_t rows, int64_t D, int which, int64_t row, const float *x)
{
    float *scale = (float *)pools + which * rows, amax = 0;
    uint8_t *code = (uint8_t *)((float *)pools + 2 * rows) + (which * rows + row) * D;
    for (int64_t c = 0; c < D; c++)
        amax = fmaxf(amax, fabsf(x[c]));
    scale[row] = fmaxf(amax / (kv->dtype == TS_KV_E4M3 ? TS_E4M3_MAX : TS_E5M2_MAX), 0x1p-126f);
    for (int64_t c = 0; c < D; c++)
        code[c] = code_of(kv, x[c] / scale[row]);
}

/* Rows that nobody has stored: NaN codes and scales. */
static void poison_codes(void *pools, int64_t rows, int64_t D)
{
    for (int64_t i = 0; i < 2 * rows; i++)
        ((float *)pools)[i] = ts_float(0x7fc00000u);
    memset((float *)pools + 2 * rows, 0x7f, (size_t)(2 * rows * D));
}

static void put(const ts_kv *kv, void *pools, int64_t at, float x)
{
    if (kv->dtype == TS_KV_REAL)
        ((float *)pools)[at] = x;
    else
        ((uint16_t *)pools)[at] = kv->dtype == TS_KV_F16 ? ts_f32_to_f16(x) : ts_f32_to_bf16(x);
}

ts_status ts_input_kv_fill(const ts_input *in, const ts_kv *kv, int64_t Hkv, int64_t D, void *pools, ts_error *err)
{
    kv_spec k;
    if (!parse_kv(in->spec, &k))
        return bad(in, err);
    int64_t pool = kv->pages * kv->page * Hkv * D;
    bool codes = kv->dtype >= TS_KV_E4M3;
    if (codes)
        poison_codes(pools, pool / D, D);
    for (int64_t i = 0; i < 2 * pool && !codes; i++)
        put(kv, pools, i, ts_float(0x7fc00000u));
    float *row = malloc((size_t)(Hkv * D) * sizeof *row + 1);
    ts_status s = row ? TS_OK : ts_no_memory(err, (unsigned long)(Hkv * D) * 4);
    for (int64_t n = 0; !s && n < 2 * k.filled; n++) {
        int64_t j = n / 2, base = n % 2 * pool;
        s = ts_generate(k.gen, in->seed, in->stream + 8192 + (uint32_t)n, row, Hkv * D, err) ? bad(in, err) : TS_OK;
        for (int64_t h = 0; !s && h < Hkv && codes; h++)
            put_codes(kv, pools, pool / D, D, (int)(n % 2),
                      (kv->table[j / kv->page] * Hkv + h) * kv->page + j % kv->page, row + h * D);
        for (int64_t c = 0; !s && c < Hkv * D && !codes; c++)
            put(kv, pools, base + ((kv->table[j / kv->page] * Hkv + c / D) * kv->page + j % kv->page) * D + c % D,
                row[c]);
    }
    free(row);
    return s;
}
