#include "cpu/avx512/matmul_a64s8.h"

/* A block of ROWS rows and PANELS panels: one slice of its codes stays in L2 and one of a panel in L1. */
enum { ROWS = 96, PANELS = 8, BLOCK = ROWS * TS_A64_ROWS };

typedef struct {
    const ts_matmul_a64s8_args *a;
    int64_t begin, end; /* of the units */
    int64_t t, rows, S;
    float (*wait)[PANELS][BLOCK]; /* [TS_A64_LEVELS]: sums of slices that wait for their neighbour */
} work;

/* As many of the `left` rows as one tile takes. */
static int height(int64_t left)
{
    if (left >= TS_A64_TALLEST)
        return TS_A64_TALLEST;
    return left > TS_A64_PAIRED ? TS_A64_PAIRED : (int)left;
}

/* Slice z of one panel, whose first output is n, for all rows of the block. */
static void panel_slice(const work *k, int64_t z, int64_t n, int p)
{
    const ts_matrix *w = k->a->w;
    const uint8_t *panel = ts_a64_panel(w, n);
    vmask columns = ts_lanes_of(k->begin - n, k->end - n);
    _Alignas(64) float o[TS_A64_TALLEST * TS_A64_ROWS];
    int R;
    for (int64_t t = 0; t < k->rows; t += R) {
        const ts_a64_x x = ts_a64_rows_from(k->a, k->t + t);
        float *const part[] = {k->wait[0][p] + t * TS_A64_ROWS, k->wait[1][p] + t * TS_A64_ROWS,
                               k->wait[2][p] + t * TS_A64_ROWS};
        R = height(k->rows - t);
        ts_avx512_a64_slice(R, w, panel, &x, ts_a64_slice_of(x.G, k->S, z), o);
        ts_a64_join(z, R * TS_A64_ROWS, o, part);
        for (int r = 0; r < R && z == k->S - 1; r++)
            v_store_some(k->a->y + (k->t + t + r) * k->a->N + n, columns, v_load(o + r * TS_A64_ROWS));
    }
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_a64s8_args *a = args;
    _Alignas(64) float wait[TS_A64_LEVELS][PANELS][BLOCK];
    work k = {.a = a, .begin = begin, .end = end, .S = ts_a64_slices(a->K / TS_A64_GROUP), .wait = wait};
    const int64_t first = begin / TS_A64_ROWS * TS_A64_ROWS, width = PANELS * TS_A64_ROWS;
    for (k.t = 0; k.t < a->T; k.t += ROWS) {
        k.rows = a->T - k.t < ROWS ? a->T - k.t : ROWS;
        for (int64_t n = first; n < end; n += width)
            for (int64_t z = 0; z < k.S; z++)
                for (int p = 0; p < PANELS && n + p * TS_A64_ROWS < end; p++)
                    panel_slice(&k, z, n + p * TS_A64_ROWS, p);
    }
}

static bool accepts(const void *args)
{
    return ts_a64_is_packed(args);
}

const ts_schedule ts_matmul_a64s8_m9_avx512 = {
    .name = "matmul_a64s8.m9.avx512",
    .op = TS_OP_MATMUL_A64S8,
    .backend = "cpu",
    .shapes = "M9+",
    .order = "A64S8",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx512",
    .packing = &ts_pack_a64,
};
