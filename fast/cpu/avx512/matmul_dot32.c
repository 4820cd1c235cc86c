#include "schedule.h"

#include "cpu/avx512/widen.h"

/* ROWS rows of x and OUTPUTS outputs share a piece of PIECE columns k: the weights are widened once for all rows
 * and stay in L1. A tile is 6 rows, 4 outputs and half of their lanes, which then fit in registers. */
enum { PIECE = 512, STRIDE = PIECE + 16, OUTPUTS = 16, ROWS = 48, TALL = 6, WIDE = 4, LANES = 32 };

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
    const int64_t size = ts_bytes32(f, 0) / LANES;
    const uint8_t *in = (const uint8_t *)w->data + (n * w->K + k) * size;
    for (k = 0; k + VEC <= len; k += VEC) {
        ts_prefetch_l1(in + k * size + PIECE * size);
        v_store(out + k, ts_widen16(f, in + k * size));
    }
    vmask rest = ts_lanes_of(0, len - k);
    v_store_some(out + k, rest, ts_widen16_of(f, in + k * size, rest));
}

static void widen_mlx(const ts_matrix *w, const ts_codes32 *codes, int64_t n, int64_t k, int64_t len, float *out)
{
    const uint8_t *in = (const uint8_t *)w->data + (n * w->K + k) * w->bits / 8;
    int64_t g = (n * w->K + k) / w->group;
    for (int64_t i = 0; i < len; g++) {
        const vec scale = ts_widen_aux(w->aux, w->scales, g), bias = ts_widen_aux(w->aux, w->biases, g);
        for (int64_t end = i + w->group; i < end; i += LANES, in += ts_bytes32(TS_W_MLX, w->bits)) {
            v_store(out + i, ts_widen_codes16(codes, in, 0, scale, bias));
            v_store(out + i + VEC, ts_widen_codes16(codes, in, 1, scale, bias));
        }
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

/* R rows and 4 outputs meet 16 columns. */
TS_INLINE void step(int R, const float *x, int64_t K, const float *w, vec acc[TALL][WIDE])
{
    for (int c = 0; c < WIDE; c++) {
        vec column = v_load(w + c * STRIDE);
        for (int r = 0; r < R; r++)
            acc[r][c] = v_fma(v_load(x + r * K), column, acc[r][c]);
    }
}

/* The last columns: off lanes stay as they are. */
TS_INLINE void step_of(vmask on, int R, const float *x, int64_t K, const float *w, vec acc[TALL][WIDE])
{
    for (int c = 0; c < WIDE; c++)
        for (int r = 0; r < R; r++)
            acc[r][c] = ts_fma16_of(on, v_load_some(x + r * K, on), v_load_some(w + c * STRIDE, on), acc[r][c]);
}

/* Half of the lanes of R rows and 4 outputs, whose columns are 0, 32, ... and 15 more of each. */
TS_INLINE void half(int R, const float *x, int64_t K, const float *w, int64_t len, float *lane)
{
    vec acc[TALL][WIDE];
    int64_t k = 0;
    for (int r = 0; r < R; r++)
        for (int c = 0; c < WIDE; c++)
            acc[r][c] = v_load(lane + (r * OUTPUTS + c) * LANES);
    for (; k + VEC <= len; k += LANES)
        step(R, x + k, K, w + k, acc);
    if (k < len)
        step_of(ts_lanes_of(0, len - k), R, x + k, K, w + k, acc);
    for (int r = 0; r < R; r++)
        for (int c = 0; c < WIDE; c++)
            v_store(lane + (r * OUTPUTS + c) * LANES, acc[r][c]);
}

TS_INLINE void tile(int R, const float *x, int64_t K, const float *w, int64_t len, float *lane)
{
    half(R, x, K, w, len, lane);
    half(R, x + VEC, K, w + VEC, len - VEC, lane + VEC);
}

static void tile_of(int64_t R, const float *x, int64_t K, const float *w, int64_t len, float *lane)
{
    if (R >= TALL)
        tile(TALL, x, K, w, len, lane);
    else if (R == 5)
        tile(5, x, K, w, len, lane);
    else if (R == 4)
        tile(4, x, K, w, len, lane);
    else if (R == 3)
        tile(3, x, K, w, len, lane);
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
        for (int64_t i = 0; i < b->outputs; i += WIDE) {
            vec s[WIDE];
            float out[WIDE];
            for (int c = 0; c < WIDE; c++) {
                const float *lane = b->lane + (t * OUTPUTS + i + c) * LANES;
                s[c] = v_add(v_load(lane), v_load(lane + VEC));
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
    _Alignas(64) float w[OUTPUTS * STRIDE] = {0}, lane[ROWS * OUTPUTS * LANES];
    const ts_codes32 codes = ts_codes32_of(a->w->format == TS_W_MLX ? a->w->bits : 8);
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
    return ts_widens32(w) && (w->format != TS_W_MLX || PIECE % w->group == 0);
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
