#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/avx512/widen.h"

/* ROWS rows of x and OUTPUTS outputs share a piece of PIECE columns k: the weights are widened once for all rows
 * and stay in L1. A tile of 3 rows and 4 outputs keeps its lanes in registers. */
enum { PIECE = 1024, OUTPUTS = 8, ROWS = 48, TALL = 3, WIDE = 4, LANES = 32 };

typedef struct {
    const ts_matmul_args *a;
    int64_t t, rows, n, outputs;
    float (*w)[PIECE]; /* [OUTPUTS], of the piece at hand */
    float *lane;       /* [ROWS][OUTPUTS][LANES] */
} block;

/* One half of the lanes of a tile meets 16 columns. Off lanes stay as they are. */
TS_INLINE void step(int R, const float *x, int64_t K, const float (*w)[PIECE], int64_t k, ts_mask16 on,
                    ts_f32x16 acc[TALL][WIDE])
{
    ts_f32x16 rows[TALL];
    for (int r = 0; r < R; r++)
        rows[r] = ts_load16_of(x + r * K + k, on);
    for (int c = 0; c < WIDE; c++) {
        ts_f32x16 column = ts_load16_of(w[c] + k, on);
        for (int r = 0; r < R; r++)
            acc[r][c] = ts_fma16_of(on, rows[r], column, acc[r][c]);
    }
}

/* R rows and 4 outputs over `len` columns. */
TS_INLINE void tile(int R, const float *x, int64_t K, const float (*w)[PIECE], int64_t len, float *lane)
{
    ts_f32x16 low[TALL][WIDE], high[TALL][WIDE];
    int64_t k = 0;
    for (int r = 0; r < R; r++)
        for (int c = 0; c < WIDE; c++) {
            low[r][c] = ts_load16(lane + (r * OUTPUTS + c) * LANES);
            high[r][c] = ts_load16(lane + (r * OUTPUTS + c) * LANES + TS_F32X16);
        }
    for (; k + LANES <= len; k += LANES) {
        step(R, x, K, w, k, 0xffff, low);
        step(R, x, K, w, k + TS_F32X16, 0xffff, high);
    }
    if (k < len) {
        step(R, x, K, w, k, ts_lanes_of(0, len - k), low);
        step(R, x, K, w, k + TS_F32X16, ts_lanes_of(0, len - k - TS_F32X16), high);
    }
    for (int r = 0; r < R; r++)
        for (int c = 0; c < WIDE; c++) {
            ts_store16(lane + (r * OUTPUTS + c) * LANES, low[r][c]);
            ts_store16(lane + (r * OUTPUTS + c) * LANES + TS_F32X16, high[r][c]);
        }
}

static void tile_of(int64_t R, const float *x, int64_t K, const float (*w)[PIECE], int64_t len, float *lane)
{
    if (R >= TALL)
        tile(TALL, x, K, w, len, lane);
    else if (R == 2)
        tile(2, x, K, w, len, lane);
    else
        tile(1, x, K, w, len, lane);
}

/* The block's outputs over the columns k .. k+len. */
static void piece(const block *b, int64_t k, int64_t len)
{
    const int64_t K = b->a->K;
    for (int64_t i = 0; i < b->outputs; i++)
        ts_avx512_widen(b->a->w, b->n + i, k, len, b->w[i]);
    for (int64_t t = 0; t < b->rows; t += TALL)
        for (int64_t i = 0; i < b->outputs; i += WIDE)
            tile_of(b->rows - t, b->a->x + (b->t + t) * K + k, K, (const float(*)[PIECE])b->w + i, len,
                    b->lane + (t * OUTPUTS + i) * LANES);
}

/* Lane + 16, then the butterfly. */
static void sum(const block *b)
{
    for (int64_t t = 0; t < b->rows; t++)
        for (int64_t i = 0; i < b->outputs; i += WIDE) {
            ts_f32x16 s[WIDE];
            float out[WIDE];
            for (int c = 0; c < WIDE; c++) {
                const float *lane = b->lane + (t * OUTPUTS + i + c) * LANES;
                s[c] = ts_add16(ts_load16(lane), ts_load16(lane + TS_F32X16));
            }
            ts_sums16(s, out);
            for (int64_t c = 0; c < WIDE && i + c < b->outputs; c++)
                b->a->y[(b->t + t) * b->a->N + b->n + i + c] = out[c];
        }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_args *a = args;
    float w[OUTPUTS][PIECE] = {{0}}, lane[ROWS * OUTPUTS * LANES];
    block b = {.a = a, .w = w, .lane = lane};
    for (b.t = 0; b.t < a->T; b.t += ROWS)
        for (b.n = begin; b.n < end; b.n += OUTPUTS) {
            b.rows = least(a->T - b.t, ROWS);
            b.outputs = least(end - b.n, OUTPUTS);
            memset(lane, 0, (size_t)b.rows * OUTPUTS * LANES * sizeof *lane);
            for (int64_t k = 0; k < a->K; k += PIECE)
                piece(&b, k, least(a->K - k, PIECE));
            sum(&b);
        }
}

static bool accepts(const void *args)
{
    const ts_matrix *w = ((const ts_matmul_args *)args)->w;
    return w->format != TS_W_MLX || (w->group % LANES == 0 && PIECE % w->group == 0);
}

const ts_schedule ts_matmul_dot32_avx512 = {
    .name = "matmul_dot32.avx512",
    .op = TS_OP_MATMUL_DOT32,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx512",
};
