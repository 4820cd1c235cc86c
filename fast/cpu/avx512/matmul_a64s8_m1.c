#include "cpu/avx512/matmul_a64s8.h"

/* Four panels at once: four streams from memory keep more of it busy than one. NEAR and FAR blocks ahead. */
enum { PANELS = 4, NEAR = 1, FAR = 4, LINES = 8, L2 = 2 << 20 /* a smaller matrix may lie there already */ };

/* D of one row and one block; q: its codes, 4 in every lane. */
TS_INLINE ivec dot(int bits, const uint8_t *block, const ivec q[2 * LINES])
{
    ivec c = ts_zero_i16(), d = c;
    for (int j = 0; j < LINES; j++) {
        ivec line = ts_load_line(block + TS_A64_LINE * j);
        c = ts_dot4(c, bits == 4 ? ts_low_nibbles(line) : line, q[j]);
        line = bits == 4 ? ts_high_nibbles(line) : ts_load_line(block + TS_A64_LINE * (LINES + j));
        d = ts_dot4(d, line, q[LINES + j]);
    }
    return ts_add_i16(c, d);
}

/* o[P][16] = one slice of P panels, which share the codes of x in registers. */
TS_INLINE void slices(int P, int bits, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x,
                      ts_a64_span span, float *out)
{
    const int64_t size = ts_a64_block(w), stride = x->G * size;
    const bool large = w->N * x->G * size > L2 * TS_A64_ROWS;
    vec o[PANELS];
    ivec q[2 * LINES];
    for (int p = 0; p < P; p++)
        o[p] = ts_zero16();
    for (int64_t g = span.begin; g < span.end; g++) {
        for (int j = 0; j < 2 * LINES; j++)
            q[j] = ts_all_bytes4(x->code + g * TS_A64_GROUP + 4 * j);
        for (int p = 0; p < P; p++) {
            const uint8_t *block = panel + p * stride + g * size;
            ts_a64_prefetch_l1(bits, block + NEAR * size);
            if (large)
                ts_a64_prefetch_l2(bits, block + FAR * size);
            vec scale, bias;
            ts_a64_aux(bits, w->aux, block, &scale, &bias);
            o[p] = ts_a64_chain(scale, bias, dot(bits, block, q), x->step[g], x->sum[g], o[p]);
        }
    }
    for (int p = 0; p < P; p++)
        v_store(out + p * TS_A64_ROWS, o[p]);
}

TS_INLINE void by_bits(int P, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x, ts_a64_span span,
                       float *o)
{
    if (w->bits == 4)
        slices(P, 4, w, panel, x, span, o);
    else
        slices(P, 8, w, panel, x, span, o);
}

/* P panels from output n on; begin and end are those of the units. */
static void panels(int P, const ts_matmul_a64s8_args *a, int64_t n, int64_t begin, int64_t end)
{
    const ts_a64_x x = ts_a64_rows_from(a, 0);
    const uint8_t *panel = ts_a64_panel(a->w, n);
    int64_t S = ts_a64_slices(x.G);
    _Alignas(64) float o[PANELS * TS_A64_ROWS], wait[TS_A64_LEVELS][PANELS * TS_A64_ROWS];
    float *const part[] = {wait[0], wait[1], wait[2]};
    for (int64_t z = 0; z < S; z++) {
        ts_a64_span span = ts_a64_slice_of(x.G, S, z);
        if (P == PANELS)
            by_bits(PANELS, a->w, panel, &x, span, o);
        else
            by_bits(1, a->w, panel, &x, span, o);
        ts_a64_join(z, P * TS_A64_ROWS, o, part);
    }
    for (int p = 0; p < P; p++, n += TS_A64_ROWS)
        v_store_some(a->y + n, ts_lanes_of(begin - n, end - n), v_load(o + p * TS_A64_ROWS));
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
