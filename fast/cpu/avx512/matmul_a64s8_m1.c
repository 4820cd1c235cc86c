#include "cpu/avx512/matmul_a64s8.h"

/* Four panels at once: four streams from memory keep more of it busy than one. NEAR and FAR blocks ahead. */
enum { PANELS = 4, NEAR = 1, FAR = 4 };

TS_INLINE void prefetch(const uint8_t *block, int64_t size)
{
    for (int64_t i = 0; i < size; i += TS_A64_LINE)
        ts_prefetch_l1(block + NEAR * size + i);
    for (int64_t i = 0; i < size; i += TS_A64_LINE)
        ts_prefetch_l2(block + FAR * size + i);
}

/* o[P][16] = one slice of P panels that lie `stride` bytes apart. */
TS_INLINE void slices(int P, int bits, ts_dtype aux, const uint8_t *panel, int64_t stride, const ts_a64_x *x,
                      ts_a64_span span, float *out)
{
    const int64_t size = TS_A64_ROWS * TS_A64_GROUP * bits / 8 + (aux == TS_BF16 ? TS_A64_LINE : 2 * TS_A64_LINE);
    ts_f32x16 o[PANELS];
    for (int p = 0; p < P; p++)
        o[p] = ts_zero16();
    for (int64_t g = span.begin; g < span.end; g++)
        for (int p = 0; p < P; p++) {
            const uint8_t *block = panel + p * stride + g * size;
            prefetch(block, size);
            ts_a64_group(1, bits, aux, block, x, g, &o[p]);
        }
    for (int p = 0; p < P; p++)
        ts_store16(out + p * TS_A64_ROWS, o[p]);
}

TS_INLINE void by_format(int P, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x, ts_a64_span span,
                         float *o)
{
    int64_t stride = x->G * ts_a64_block(w);
    if (w->bits == 4 && w->aux == TS_BF16)
        slices(P, 4, TS_BF16, panel, stride, x, span, o);
    else if (w->bits == 4)
        slices(P, 4, TS_F32, panel, stride, x, span, o);
    else if (w->aux == TS_BF16)
        slices(P, 8, TS_BF16, panel, stride, x, span, o);
    else
        slices(P, 8, TS_F32, panel, stride, x, span, o);
}

/* P panels from output n on; begin and end are those of the units. */
static void panels(int P, const ts_matmul_a64s8_args *a, int64_t n, int64_t begin, int64_t end)
{
    const ts_a64_x x = ts_a64_rows_from(a, 0);
    const uint8_t *panel = ts_a64_panel(a->w, n);
    int64_t S = ts_a64_slices(x.G);
    float o[PANELS * TS_A64_ROWS], wait[TS_A64_LEVELS][PANELS * TS_A64_ROWS];
    float *const part[] = {wait[0], wait[1], wait[2]};
    for (int64_t z = 0; z < S; z++) {
        ts_a64_span span = ts_a64_slice_of(x.G, S, z);
        if (P == PANELS)
            by_format(PANELS, a->w, panel, &x, span, o);
        else
            by_format(1, a->w, panel, &x, span, o);
        ts_a64_join(z, P * TS_A64_ROWS, o, part);
    }
    for (int p = 0; p < P; p++, n += TS_A64_ROWS)
        ts_store16_of(a->y + n, ts_lanes_of(begin - n, end - n), ts_load16(o + p * TS_A64_ROWS));
}

static void run(const void *args, int64_t begin, int64_t end)
{
    int64_t n = begin / TS_A64_ROWS * TS_A64_ROWS;
    for (; n + (PANELS - 1) * TS_A64_ROWS < end; n += PANELS * TS_A64_ROWS)
        panels(PANELS, args, n, begin, end);
    for (; n < end; n += TS_A64_ROWS)
        panels(1, args, n, begin, end);
}

static bool accepts(const void *args)
{
    const ts_matmul_a64s8_args *a = args;
    return a->T == 1 && ts_a64_is_packed(a);
}

const ts_schedule ts_matmul_a64s8_m1_avx512 = {
    .name = "matmul_a64s8.m1.avx512",
    .op = TS_OP_MATMUL_A64S8,
    .backend = "cpu",
    .shapes = "M1",
    .order = "A64S8",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx512",
    .packing = &ts_pack_a64,
};
