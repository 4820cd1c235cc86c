#include "cpu/avx512/matmul_a64s8.h"

enum { AHEAD = 12 }; /* blocks, into L2; the next one into L1 */

/* Group g joins the chains of R rows. */
TS_INLINE void group(int R, int bits, ts_dtype aux, const uint8_t *block, const ts_a64_x *x, int64_t g, vec *o)
{
    ivec D[TS_A64_PAIRED];
    vec scale, bias;
    ts_a64_dots(R, bits, block, x->code + g * TS_A64_GROUP, x->K, D);
    ts_a64_aux(bits, aux, block, &scale, &bias);
    for (int r = 0; r < R; r++)
        o[r] = ts_a64_chain(scale, bias, D[r], x->step[r * x->G + g], x->sum[r * x->G + g], o[r]);
}

/* Compiled for every height, so that all sums stay in registers. */
TS_INLINE void slice(int R, int bits, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x, ts_a64_span span,
                     float *out)
{
    const int64_t size = ts_a64_block(w);
    const uint8_t *block = panel + span.begin * size;
    vec o[TS_A64_PAIRED];
    for (int r = 0; r < R; r++)
        o[r] = ts_zero16();
    for (int64_t g = span.begin; g < span.end; g++, block += size) {
        ts_a64_prefetch_l1(bits, block + size);
        ts_a64_prefetch_l2(bits, block + AHEAD * size);
        group(R, bits, w->aux, block, x, g, o);
    }
    for (int r = 0; r < R; r++)
        v_store(out + r * TS_A64_ROWS, o[r]);
}

TS_INLINE void by_height(int R, int bits, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x,
                         ts_a64_span span, float *o)
{
    switch (R) {
    case 1:
        slice(1, bits, w, panel, x, span, o);
        break;
    case 2:
        slice(2, bits, w, panel, x, span, o);
        break;
    case 3:
        slice(3, bits, w, panel, x, span, o);
        break;
    case 4:
        slice(4, bits, w, panel, x, span, o);
        break;
    case 5:
        slice(5, bits, w, panel, x, span, o);
        break;
    case 6:
        slice(6, bits, w, panel, x, span, o);
        break;
    case 7:
        slice(7, bits, w, panel, x, span, o);
        break;
    default:
        slice(TS_A64_PAIRED, bits, w, panel, x, span, o);
        break;
    }
}

/* All rows at once: every panel is read from memory once. */
static void panel_of(const ts_matmul_a64s8_args *a, int64_t n, vmask columns)
{
    const ts_a64_x x = ts_a64_rows_from(a, 0);
    const uint8_t *panel = ts_a64_panel(a->w, n);
    const int R = (int)a->T;
    int64_t S = ts_a64_slices(x.G);
    _Alignas(64) float o[TS_A64_PAIRED * TS_A64_ROWS], wait[TS_A64_LEVELS][TS_A64_PAIRED * TS_A64_ROWS];
    float *const part[] = {wait[0], wait[1], wait[2]};
    for (int64_t z = 0; z < S; z++) {
        ts_a64_span span = ts_a64_slice_of(x.G, S, z);
        if (a->w->bits == 4)
            by_height(R, 4, a->w, panel, &x, span, o);
        else
            by_height(R, 8, a->w, panel, &x, span, o);
        ts_a64_join(z, R * TS_A64_ROWS, o, part);
    }
    for (int r = 0; r < R; r++)
        v_store_some(a->y + r * a->N + n, columns, v_load(o + r * TS_A64_ROWS));
}

static void run(const void *args, int64_t begin, int64_t end)
{
    for (int64_t n = begin / TS_A64_ROWS * TS_A64_ROWS; n < end; n += TS_A64_ROWS)
        panel_of(args, n, ts_lanes_of(begin - n, end - n));
}

static bool accepts(const void *args)
{
    const ts_matmul_a64s8_args *a = args;
    return a->T <= TS_A64_PAIRED && ts_a64_is_packed(a);
}

const ts_schedule ts_matmul_a64s8_m8_avx512 = {
    .name = "matmul_a64s8.m8.avx512",
    .op = TS_OP_MATMUL_A64S8,
    .backend = "cpu",
    .shapes = "M1-8",
    .order = "A64S8",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx512",
    .packing = &ts_pack_a64,
};
