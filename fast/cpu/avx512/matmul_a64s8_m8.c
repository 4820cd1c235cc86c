#include "cpu/avx512/matmul_a64s8.h"

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
        ts_avx512_a64_slice(R, a->w, panel, &x, ts_a64_slice_of(x.G, S, z), o);
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
