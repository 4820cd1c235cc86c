/* Where every value of a file comes from, and what becomes of it on the way. */
#include "convert_parts.h"
#include "ref.h"
#include "num/convert.h"

/* Where element j of `total` of the written tensor comes from: value head n = s * Hk + g was h = g * r + s. */
static int64_t untiled(const ts_config *c, ts_name_tile tile, int64_t total, int64_t j)
{
    int64_t first = tile == TS_TILE_VALUES ? 2 * c->Hk * c->Dk : 0, d = (total - first) / c->Hv;
    if (tile == TS_TILE_NONE || j < first || c->family != TS_FAMILY_QWEN35)
        return j;
    int64_t n = (j - first) / d, h = n % c->Hk * (c->Hv / c->Hk) + n / c->Hk;
    return first + h * d + (j - first) % d;
}

/* The row of in_qkvz that is row n of all q, all k, all v; and of all z. */
static int64_t qkv_row(const ts_config *c, int64_t n)
{
    const int64_t KD = c->Hk * c->Dk, V = c->Hv / c->Hk * c->Dv, width = 2 * c->Dk + 2 * V, j = n - 2 * KD;
    if (n < 2 * KD)
        return n % KD / c->Dk * width + n / KD * c->Dk + n % c->Dk;
    return j / V * width + 2 * c->Dk + j % V;
}

static int64_t z_row(const ts_config *c, int64_t n)
{
    const int64_t V = c->Hv / c->Hk * c->Dv, width = 2 * c->Dk + 2 * V;
    return n / V * width + 2 * c->Dk + V + n % V;
}

static float element(const ts_matrix *m, int64_t n, int64_t k)
{
    const int64_t at = n * m->K + k;
    return m->format == TS_W_F32   ? ((const float *)m->data)[at]
           : m->format == TS_W_F16 ? ts_f16_to_f32(((const uint16_t *)m->data)[at])
                                   : ts_bf16_to_f32(((const uint16_t *)m->data)[at]);
}

/* The row of the source that row n of E*N is; m is the matrix that has it. */
static int64_t source_row(const ts_config *c, const ts_convert_item *i, int64_t n, const ts_matrix **m)
{
    const ts_name_tile rows = i->name->tile == TS_TILE_COLUMNS ? TS_TILE_NONE : i->name->tile;
    *m = i->m;
    switch (i->from) {
    case TS_FROM_QKV:
        return qkv_row(c, n);
    case TS_FROM_Z:
        return z_row(c, n);
    case TS_FROM_VALUES:
        return n / c->Dm * (c->Dn + c->Dm) + c->Dn + n % c->Dm;
    default:
        *m = &i->m[n / i->N];
        return untiled(c, rows, i->N, n % i->N);
    }
}

void ts_convert_row(const ts_weights *w, const ts_convert_item *i, int64_t n, float *row)
{
    const ts_config *c = &w->cfg;
    const ts_name_tile columns = i->name->tile == TS_TILE_COLUMNS ? TS_TILE_COLUMNS : TS_TILE_NONE;
    const ts_matrix *m;
    if (i->from == TS_FROM_KEYS) {
        for (int64_t k = 0; k < i->K; k++)
            row[k] = element(i->m, n / c->rank * (c->Dn + c->Dm) + k, n % c->rank);
        return;
    }
    const int64_t from = source_row(c, i, n, &m);
    for (int64_t k = 0; k < i->K; k++)
        row[k] = element(m, from, untiled(c, columns, i->K, k));
}

/* ref32's exp, so that the file is the same function bit for bit. */
static float rate(float A_log)
{
    float y;
    ts_ref32.op(TS_OP_EXP, &(ts_map_args){.n = 1, .x = &A_log, .y = &y});
    return -y;
}

float ts_convert_value(const ts_weights *w, const ts_convert_item *i, int64_t j, int64_t n)
{
    /* Rows of W taps of a convolution, else of one element. */
    const int64_t width = i->name->change == TS_CHANGE_SQUEEZE ? w->cfg.W : 1;
    const int64_t part = i->from < TS_FROM_FIRST ? 0 : (int64_t)(i->from - TS_FROM_FIRST) * n;
    const int64_t from = untiled(&w->cfg, i->name->tile, n / width, j / width) * width + j % width;
    const float x = i->v->v[part + from];
    if (i->name->change == TS_CHANGE_PLUS_ONE)
        return w->folded ? x : 1 + x;
    return i->name->change == TS_CHANGE_RATE ? rate(x) : x;
}
