#include "schedule.h"

#include "cpu/neon/neon.h"
#include "cpu/portable/widen.h"

/* Four outputs side by side in a vector; the weights are read as they lie in the file. ROWS of x share a group's
 * unpacked codes. */
enum { GROUP = 64, SLICES = 8, ROWS = 8 };

/* A group of four rows of weights. Codes of 8 bits are less 128, which `offset` restores: the dot product of the
 * instruction is signed. */
typedef struct {
    bytes code[VEC][4];
    vec scale, bias;
} weights;

/* The rows of weights of a vector of outputs: past the last one, the last one again. */
typedef struct {
    int64_t row[VEC];
} four;

static int64_t slices(int64_t groups)
{
    int64_t S = 1;
    while (2 * S <= SLICES && 2 * S <= groups)
        S *= 2;
    return S;
}

static inline vec aux(const ts_matrix *w, const void *data, const four *rows, int64_t g)
{
    float x[VEC];
    int64_t groups = w->K / GROUP;
    for (int i = 0; i < VEC; i++) {
        int64_t at = rows->row[i] * groups + g;
        uint16_t h = w->aux == TS_F32 ? 0 : ((const uint16_t *)data)[at];
        x[i] = w->aux == TS_F32   ? ((const float *)data)[at]
               : w->aux == TS_F16 ? ts_fast_half(h)
                                  : ts_bf16_to_f32(h);
    }
    return v_load(x);
}

/* 64 codes as four vectors, in the order in which load_activations has theirs. */
static inline void load_codes(const ts_matrix *w, int64_t row, int64_t g, int bits, bytes code[4])
{
    const uint8_t *p = (const uint8_t *)w->data + (row * w->K + g * GROUP) * bits / 8;
    if (bits == 4) {
        b_load_nibbles(p, &code[0], &code[1]);
        b_load_nibbles(p + 16, &code[2], &code[3]);
        return;
    }
    for (int i = 0; i < 4; i++)
        code[i] = b_load_less_128(p + 16 * i);
}

static inline void load_activations(const int8_t *p, int bits, bytes x[4])
{
    if (bits == 4) {
        b_load_even_odd(p, &x[0], &x[1]);
        b_load_even_odd(p + 32, &x[2], &x[3]);
        return;
    }
    for (int i = 0; i < 4; i++)
        x[i] = b_load(p + 16 * i);
}

static inline weights load_weights(const ts_matrix *w, const four *rows, int64_t g, int bits)
{
    weights group = {.scale = aux(w, w->scales, rows, g), .bias = aux(w, w->biases, rows, g)};
    for (int i = 0; i < VEC; i++)
        load_codes(w, rows->row[i], g, bits, group.code[i]);
    return group;
}

/* Lane i = the dot product of the codes with those of row i. */
static inline vec dot(const int8_t *code, const weights *w, int bits)
{
    bytes x[4];
    int32x4_t part[VEC];
    load_activations(code, bits, x);
    for (int i = 0; i < VEC; i++)
        part[i] = b_dot(w->code[i], x);
    return b_totals(part, bits == 4 ? 0 : 128 * b_sum(x));
}

/* Groups begin .. end-1 of one slice, for `count` rows of x from t. */
static inline void slice(const ts_matmul_a64s8_args *a, const four *rows, int bits, int64_t begin, int64_t end,
                         int64_t t, int64_t count, vec o[ROWS])
{
    for (int64_t r = 0; r < count; r++)
        o[r] = v_all(0.0f);
    for (int64_t g = begin; g < end; g++) {
        const weights w = load_weights(a->w, rows, g, bits);
        for (int64_t r = 0; r < count; r++) {
            int64_t at = (t + r) * (a->K / GROUP) + g;
            vec D = dot(a->code + at * GROUP, &w, bits), scale = v_mul(w.scale, v_all(a->step[at]));
            o[r] = v_fma(w.bias, v_all(a->sum[at]), v_fma(scale, D, o[r]));
        }
    }
}

/* Outputs n .. n+width-1, width <= VEC, of `count` rows from t. */
static inline void block(const ts_matmul_a64s8_args *a, int64_t n, int64_t width, int64_t t, int64_t count,
                         int bits)
{
    vec o[SLICES][ROWS];
    four rows;
    int64_t G = a->K / GROUP, S = slices(G);
    for (int i = 0; i < VEC; i++)
        rows.row[i] = n + (i < width ? i : width - 1);
    for (int64_t z = 0; z < S; z++)
        slice(a, &rows, bits, z * G / S, (z + 1) * G / S, t, count, o[z]);
    for (int64_t step = 1; step < S; step *= 2)
        for (int64_t z = 0; z < S; z += 2 * step)
            for (int64_t r = 0; r < count; r++)
                o[z][r] = v_add(o[z][r], o[z + step][r]);
    for (int64_t r = 0; r < count; r++)
        v_store_first(a->y + (t + r) * a->N + n, width, o[0][r]);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_a64s8_args *a = args;
    for (int64_t t = 0; t < a->T; t += ROWS)
        for (int64_t n = begin; n < end; n += VEC) {
            int64_t width = end - n < VEC ? end - n : VEC, count = a->T - t < ROWS ? a->T - t : ROWS;
            if (a->w->bits == 4)
                block(a, n, width, t, count, 4);
            else
                block(a, n, width, t, count, 8);
        }
}

const ts_schedule ts_matmul_a64s8_neon = {
    .name = "matmul_a64s8.neon",
    .op = TS_OP_MATMUL_A64S8,
    .backend = "cpu",
    .shapes = "any",
    .order = "A64S8",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "neon",
};
