#include "cpu/avx2/avx2.h"
#include "cpu/portable/pack_a64.h"

/* 8 outputs are 8 lanes (one half of a panel of packing a64-16r). A tile is one row and both halves, or up to 4
 * rows and one half. ROWS rows of x stay in L2 while the panels pass by. */
enum { LINES = 8, HALF = 32, TALL = 4, SUMS = 4, LEVELS = 3, ROWS = 32, AHEAD = 4 };

typedef struct {
    const ts_matmul_a64s8_args *a;
    const uint8_t *panel;
    int64_t t, G, S, block;
    int half; /* the first of the tile */
} place;

/* Line j of a block meets R rows and H halves; the rows' bytes for its low and high nibbles. */
TS_INLINE void line_of(int R, int H, const uint8_t *line, const int8_t *low, const int8_t *high, int64_t K, ivec *c,
                       ivec *d)
{
    for (int h = 0; h < H; h++) {
        ivec v = ts_load_32bytes(line + h * HALF), u = ts_low_nibbles(v);
        for (int r = 0; r < R; r++)
            c[r * H + h] = ts_dot2(c[r * H + h], u, ts_all_bytes4(low + r * K));
        u = ts_high_nibbles(v);
        for (int r = 0; r < R; r++)
            d[r * H + h] = ts_dot2(d[r * H + h], u, ts_all_bytes4(high + r * K));
    }
}

/* 8 lines, whose low and high nibbles meet other bytes of x. Written out, or gcc would move the sums around. */
TS_INLINE void lines8(int R, int H, const uint8_t *line, const int8_t *low, const int8_t *high, int64_t K, ivec *c,
                      ivec *d)
{
    for (int i = 0; i < R * H; i++)
        c[i] = d[i] = ts_zero_i8();
    line_of(R, H, line, low, high, K, c, d);
    line_of(R, H, line + 1 * TS_A64_LINE, low + 4, high + 4, K, c, d);
    line_of(R, H, line + 2 * TS_A64_LINE, low + 8, high + 8, K, c, d);
    line_of(R, H, line + 3 * TS_A64_LINE, low + 12, high + 12, K, c, d);
    line_of(R, H, line + 4 * TS_A64_LINE, low + 16, high + 16, K, c, d);
    line_of(R, H, line + 5 * TS_A64_LINE, low + 20, high + 20, K, c, d);
    line_of(R, H, line + 6 * TS_A64_LINE, low + 24, high + 24, K, c, d);
    line_of(R, H, line + 7 * TS_A64_LINE, low + 28, high + 28, K, c, d);
}

/* D of a group. Codes of 8 bits are two nibbles, or their products would not fit in 16 bits. */
TS_INLINE void dots(int R, int H, int bits, const uint8_t *block, const int8_t *x, int64_t K, ivec *D)
{
    ivec c[SUMS], d[SUMS];
    if (bits == 4) {
        lines8(R, H, block, x, x + 32, K, c, d);
        for (int i = 0; i < R * H; i++)
            D[i] = ts_add_i8(ts_pairs(c[i]), ts_pairs(d[i]));
        return;
    }
    lines8(R, H, block, x, x, K, c, d);
    for (int i = 0; i < R * H; i++)
        D[i] = ts_add_i8(ts_pairs(c[i]), ts_times16(ts_pairs(d[i])));
    lines8(R, H, block + LINES * TS_A64_LINE, x + 32, x + 32, K, c, d);
    for (int i = 0; i < R * H; i++)
        D[i] = ts_add_i8(D[i], ts_add_i8(ts_pairs(c[i]), ts_times16(ts_pairs(d[i]))));
}

/* Scales and biases of one half. */
TS_INLINE void aux(ts_dtype dtype, const uint8_t *at, vec *scale, vec *bias)
{
    ivec words = ts_load_32bytes(at);
    if (dtype == TS_BF16) {
        *scale = ts_upper_bf16(words);
        *bias = ts_lower_bf16(words);
    } else {
        *scale = v_load((const float *)(const void *)at);
        *bias = v_load((const float *)(const void *)(at + TS_A64_LINE));
    }
}

/* Group g joins the chains of a tile. */
TS_INLINE void group(int R, int H, int bits, const place *p, int64_t g, vec *o)
{
    const ts_matmul_a64s8_args *a = p->a;
    const uint8_t *block = p->panel + g * p->block + p->half * HALF;
    ivec D[SUMS];
    dots(R, H, bits, block, a->code + p->t * a->K + g * TS_A64_GROUP, a->K, D);
    for (int h = 0; h < H; h++) {
        vec scale, bias;
        aux(a->w->aux, block + TS_A64_ROWS * TS_A64_GROUP * bits / 8 + h * HALF, &scale, &bias);
        for (int r = 0; r < R; r++) {
            const int64_t run = (p->t + r) * p->G + g;
            const int i = r * H + h;
            o[i] = v_fma(v_mul(scale, v_all(a->step[run])), ts_to_f32x8(D[i]), o[i]);
            o[i] = v_fma(bias, v_all(a->sum[run]), o[i]);
        }
    }
}

/* o[R][8*H] = slice z of a tile. */
TS_INLINE void slice(int R, int H, int bits, const place *p, int64_t z, float *out)
{
    vec o[SUMS];
    for (int i = 0; i < R * H; i++)
        o[i] = ts_zero8();
    for (int64_t g = z * p->G / p->S; g < (z + 1) * p->G / p->S; g++) {
        for (int i = 0; i < p->block && H == 2; i += TS_A64_LINE)
            ts_prefetch(p->panel + (g + AHEAD) * p->block + i);
        group(R, H, bits, p, g, o);
    }
    for (int i = 0; i < R * H; i++)
        v_store(out + i * VEC, o[i]);
}

TS_INLINE void by_bits(int R, int H, const place *p, int64_t z, float *o)
{
    if (p->a->w->bits == 4)
        slice(R, H, 4, p, z, o);
    else
        slice(R, H, 8, p, z, o);
}

/* o = all slices of a tile, joined in the balanced tree: part[l] is a sum over 2^l slices that waits for its
 * neighbour. */
TS_INLINE void tile(int R, int H, const place *p, float *o)
{
    float part[LEVELS][SUMS * VEC];
    for (int64_t z = 0; z < p->S; z++) {
        int l = 0;
        by_bits(R, H, p, z, o);
        for (; z >> l & 1; l++)
            for (int i = 0; i < R * H * VEC; i++)
                o[i] = part[l][i] + o[i];
        if (l < LEVELS)
            memcpy(part[l], o, (size_t)(R * H) * VEC * sizeof *o);
    }
}

/* The tile's rows and outputs that are wanted: columns first <= c < end of 8*H from output n on. */
static void put(const place *p, int64_t n, int R, int width, int64_t first, int64_t end, const float *y)
{
    first = first > 0 ? first : 0;
    end = end < width ? end : width;
    for (int r = 0; r < R && first < end; r++)
        memcpy(p->a->y + (p->t + r) * p->a->N + n + first, y + r * width + first,
               (size_t)(end - first) * sizeof *y);
}

/* As many of `left` rows as one tile takes: 4, 2 or 1. */
static int rows_of(place *p, int64_t n, int64_t left, int64_t begin, int64_t end)
{
    float y[SUMS * VEC];
    const int R = left >= TALL ? TALL : left >= 2 ? 2 : 1;
    p->half = 0;
    if (R == 1) {
        tile(1, 2, p, y);
        put(p, n, 1, 2 * VEC, begin - n, end - n, y);
        return 1;
    }
    for (; p->half < 2; p->half++, n += VEC) {
        if (R == TALL)
            tile(TALL, 1, p, y);
        else
            tile(2, 1, p, y);
        put(p, n, R, VEC, begin - n, end - n, y);
    }
    return R;
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_a64s8_args *a = args;
    const int64_t G = a->K / TS_A64_GROUP, block = ts_a64_block(a->w);
    for (int64_t t = 0; t < a->T; t += ROWS)
        for (int64_t n = begin / TS_A64_ROWS * TS_A64_ROWS; n < end; n += TS_A64_ROWS) {
            const uint8_t *panel = (const uint8_t *)a->w->packed + n / TS_A64_ROWS * G * block;
            const int64_t last = a->T - t < ROWS ? a->T : t + ROWS;
            place p = {.a = a, .panel = panel, .t = t, .G = G, .S = ts_a64_slices(G), .block = block};
            while (p.t < last)
                p.t += rows_of(&p, n, last - p.t, begin, end);
        }
}

static bool accepts(const void *args)
{
    const ts_matrix *w = ((const ts_matmul_a64s8_args *)args)->w;
    return w->packed && w->packing == &ts_pack_a64;
}

const ts_schedule ts_matmul_a64s8_avx2 = {
    .name = "matmul_a64s8.avx2",
    .op = TS_OP_MATMUL_A64S8,
    .backend = "cpu",
    .shapes = "any",
    .order = "A64S8",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx2",
    .packing = &ts_pack_a64,
};
