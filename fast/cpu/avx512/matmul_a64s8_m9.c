#include "cpu/avx512/matmul_a64s8.h"

/* A block of TILES tiles of rows and PANELS panels. One slice of its activations lies in L2, copied so that a
 * tile's are side by side, and one of a panel in L1; the sums of slices that wait for their neighbour lie in L2
 * too. */
enum {
    TALL = TS_A64_TALLEST,
    TILES = 8,
    ROWS = TILES * TALL,
    PANELS = 32,
    BLOCK = ROWS * TS_A64_ROWS,
    MOST_GROUPS = 64
};

/* Group g of a tile: 64 codes of each row, then the steps, then the sums. */
typedef struct {
    int8_t code[TALL * TS_A64_GROUP];
    float step[TALL], sum[TALL];
} xgroup;

typedef struct {
    const ts_matmul_a64s8_args *a;
    int64_t begin, end; /* of the units */
    int64_t t, rows, S;
    xgroup x[TILES][MOST_GROUPS];
    float wait[TS_A64_LEVELS][PANELS][BLOCK];
} work;

/* Rows of the block's tile i: those that there are, in a tile of 4, 8 or 12. */
static int height(const work *k, int i)
{
    int64_t left = k->rows - i * TALL;
    return left > 8 ? TALL : left > 4 ? 8 : 4;
}

/* The activations of a slice. Rows past the last are copies of it. */
static void copy_x(work *k, ts_a64_span span)
{
    const ts_matmul_a64s8_args *a = k->a;
    const int64_t G = a->K / TS_A64_GROUP;
    for (int i = 0; i * TALL < k->rows; i++)
        for (int r = 0, R = height(k, i); r < R; r++) {
            int64_t row = i * TALL + r, t = k->t + (row < k->rows ? row : k->rows - 1);
            for (int64_t g = span.begin; g < span.end; g++) {
                xgroup *x = &k->x[i][g - span.begin];
                v_copy64(x->code + r * TS_A64_GROUP, a->code + t * a->K + g * TS_A64_GROUP);
                x->step[r] = a->step[t * G + g];
                x->sum[r] = a->sum[t * G + g];
            }
        }
}

/* o[R][16] = one slice of a tile and a panel. */
TS_INLINE void tile(int R, int bits, const ts_matrix *w, const uint8_t *block, const xgroup *x, int64_t groups,
                    float *o)
{
    const int64_t size = ts_a64_block(w);
    vec chain[TALL];
    for (int r = 0; r < R; r++)
        chain[r] = ts_zero16();
    for (int64_t g = 0; g < groups; g++, block += size, x++) {
        ivec D[TALL];
        vec scale, bias;
        ts_a64_dots(R, bits, block, x->code, TS_A64_GROUP, D);
        ts_a64_aux(bits, w->aux, block, &scale, &bias);
        for (int r = 0; r < R; r++)
            chain[r] = ts_a64_chain(scale, bias, D[r], x->step[r], x->sum[r], chain[r]);
    }
    for (int r = 0; r < R; r++)
        v_store(o + r * TS_A64_ROWS, chain[r]);
}

TS_INLINE void by_height(int R, int bits, const ts_matrix *w, const uint8_t *block, const xgroup *x, int64_t groups,
                         float *o)
{
    if (R == TALL)
        tile(TALL, bits, w, block, x, groups, o);
    else if (R == 8)
        tile(8, bits, w, block, x, groups, o);
    else
        tile(4, bits, w, block, x, groups, o);
}

/* Slice z of one panel, whose first output is n, for all rows of the block. */
static void panel_slice(work *k, int64_t z, ts_a64_span span, int64_t n, int p)
{
    const ts_matrix *w = k->a->w;
    const uint8_t *block = ts_a64_panel(w, n) + span.begin * ts_a64_block(w);
    vmask columns = ts_lanes_of(k->begin - n, k->end - n);
    _Alignas(64) float o[TALL * TS_A64_ROWS];
    for (int i = 0; i * TALL < k->rows; i++) {
        const int64_t row = i * TALL, left = k->rows - row;
        float *const part[] = {k->wait[0][p] + row * TS_A64_ROWS, k->wait[1][p] + row * TS_A64_ROWS,
                               k->wait[2][p] + row * TS_A64_ROWS};
        int R = height(k, i);
        if (w->bits == 4)
            by_height(R, 4, w, block, k->x[i], span.end - span.begin, o);
        else
            by_height(R, 8, w, block, k->x[i], span.end - span.begin, o);
        ts_a64_join(z, R * TS_A64_ROWS, o, part);
        for (int r = 0; r < R && r < left && z == k->S - 1; r++)
            v_store_some(k->a->y + (k->t + row + r) * k->a->N + n, columns, v_load(o + r * TS_A64_ROWS));
    }
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_a64s8_args *a = args;
    const int64_t G = a->K / TS_A64_GROUP, width = PANELS * TS_A64_ROWS;
    _Alignas(64) work k;
    k.a = a;
    k.begin = begin;
    k.end = end;
    k.S = ts_a64_slices(G);
    for (k.t = 0; k.t < a->T; k.t += ROWS) {
        k.rows = a->T - k.t < ROWS ? a->T - k.t : ROWS;
        for (int64_t n = begin / TS_A64_ROWS * TS_A64_ROWS; n < end; n += width)
            for (int64_t z = 0; z < k.S; z++) {
                ts_a64_span span = ts_a64_slice_of(G, k.S, z);
                copy_x(&k, span);
                for (int p = 0; p < PANELS && n + p * TS_A64_ROWS < end; p++)
                    panel_slice(&k, z, span, n + p * TS_A64_ROWS, p);
            }
    }
}

static bool accepts(const void *args)
{
    const ts_matmul_a64s8_args *a = args;
    return ts_a64_is_packed(a) && a->K <= MOST_GROUPS * 8 * TS_A64_GROUP;
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
