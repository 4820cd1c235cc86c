#include "schedule.h"

#include "cpu/avx2/widen.h"
#include "num/real.h"

/* ROWS rows of x and OUTPUTS outputs share a piece of PIECE columns k: the weights are widened once for all rows
 * and stay in L1. A tile is 3 rows, 4 outputs and one quarter of their lanes, which then fit in registers. */
enum { PIECE = 512, STRIDE = PIECE + 8, OUTPUTS = 8, ROWS = 48, TALL = 3, WIDE = 4, LANES = 32 };

typedef struct {
    const ts_matmul_args *a;
    const ts_codes32 *codes; /* of MLX */
    int64_t t, rows, n, outputs;
    float *w;    /* [OUTPUTS][STRIDE], of the piece at hand */
    float *lane; /* [ROWS][OUTPUTS][LANES] */
} block;

/* Widens `len` weights of output n, from column k on. */
TS_INLINE void widen_plain(ts_weight_format f, const ts_matrix *w, int64_t n, int64_t k, int64_t len, float *out)
{
    const uint8_t *in = (const uint8_t *)w->data + (n * w->K + k) * ts_bytes1(f);
    int64_t i = 0;
    for (; i + VEC <= len; i += VEC)
        v_store(out + i, ts_widen8(f, in + i * ts_bytes1(f)));
    ts_widen(w, n, k + i, len - i, out + i);
}

static void widen_mlx(const ts_matrix *w, const ts_codes32 *codes, int64_t n, int64_t k, int64_t len, float *out)
{
    const uint8_t *in = (const uint8_t *)w->data + (n * w->K + k) * w->bits / 8;
    for (int64_t i = 0; i < len;) {
        const int64_t g = (k + i) / w->group;
        const vec scale = v_all(ts_widen_scale(w, n, g)), bias = v_all(ts_widen_bias(w, n, g));
        for (int64_t end = i + w->group; i < end; i += LANES, in += codes->bytes)
            ts_widen_codes32(codes, in, scale, bias, out + i);
    }
}

static void widen(const block *b, int64_t n, int64_t k, int64_t len, float *out)
{
    const ts_matrix *w = b->a->w;
    if (w->format == TS_W_BF16)
        widen_plain(TS_W_BF16, w, n, k, len, out);
    else if (w->format == TS_W_F16)
        widen_plain(TS_W_F16, w, n, k, len, out);
    else if (w->format == TS_W_F32)
        widen_plain(TS_W_F32, w, n, k, len, out);
    else
        widen_mlx(w, b->codes, n, k, len, out);
}

/* 8 lanes of R rows and 4 outputs over `len` columns, a multiple of 32. */
TS_INLINE void quarter(int R, const float *x, int64_t K, const float *w, int64_t len, float *lane)
{
    vec acc[TALL][WIDE];
    for (int r = 0; r < R; r++)
        for (int c = 0; c < WIDE; c++)
            acc[r][c] = v_load(lane + (r * OUTPUTS + c) * LANES);
    for (int64_t k = 0; k < len; k += LANES)
        for (int c = 0; c < WIDE; c++) {
            vec column = v_load(w + c * STRIDE + k);
            for (int r = 0; r < R; r++)
                acc[r][c] = v_fma(v_load(x + r * K + k), column, acc[r][c]);
        }
    for (int r = 0; r < R; r++)
        for (int c = 0; c < WIDE; c++)
            v_store(lane + (r * OUTPUTS + c) * LANES, acc[r][c]);
}

/* R rows and 4 outputs; the last columns, fewer than 32, one by one. */
TS_INLINE void tile(int R, const float *x, int64_t K, const float *w, int64_t len, float *lane)
{
    const int64_t whole = len / LANES * LANES;
    for (int64_t l = 0; l < LANES; l += VEC)
        quarter(R, x + l, K, w + l, whole, lane + l);
    for (int r = 0; r < R; r++)
        for (int c = 0; c < WIDE; c++)
            for (int64_t k = whole; k < len; k++) {
                float *at = lane + (r * OUTPUTS + c) * LANES + k - whole;
                *at = ts_fma(x[r * K + k], w[c * STRIDE + k], *at);
            }
}

static void tile_of(int64_t R, const float *x, int64_t K, const float *w, int64_t len, float *lane)
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
        widen(b, b->n + i, k, len, b->w + i * STRIDE);
    for (int64_t t = 0; t < b->rows; t += TALL)
        for (int64_t i = 0; i < b->outputs; i += WIDE)
            tile_of(b->rows - t, b->a->x + (b->t + t) * K + k, K, b->w + i * STRIDE, len,
                    b->lane + (t * OUTPUTS + i) * LANES);
}

/* Lane + 16, then the butterfly. */
static void sum(const block *b)
{
    for (int64_t t = 0; t < b->rows; t++)
        for (int64_t i = 0; i < b->outputs; i++) {
            const float *lane = b->lane + (t * OUTPUTS + i) * LANES;
            vec low = v_add(v_load(lane), v_load(lane + 2 * VEC));
            vec high = v_add(v_load(lane + VEC), v_load(lane + 3 * VEC));
            b->a->y[(b->t + t) * b->a->N + b->n + i] = ts_sum8(low) + ts_sum8(high);
        }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_args *a = args;
    const ts_codes32 codes = ts_codes32_of(a->w->format == TS_W_MLX ? a->w->bits : 8);
    _Alignas(32) float w[OUTPUTS * STRIDE] = {0}, lane[ROWS * OUTPUTS * LANES];
    block b = {.a = a, .codes = &codes, .w = w, .lane = lane};
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
    return !ts_matrix_has_blocks(w) && (w->format != TS_W_MLX || (w->group % LANES == 0 && PIECE % w->group == 0));
}

const ts_schedule ts_matmul_dot32_avx2 = {
    .name = "matmul_dot32.avx2",
    .op = TS_OP_MATMUL_DOT32,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx2",
};
