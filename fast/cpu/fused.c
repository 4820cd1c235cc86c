#include "cpu/fused.h"

#include <string.h>

enum { GROUP = 64, COLUMNS = 64, ROWS = 32 }; /* of a block */

/* Columns first .. end of all of the operation's, cut out of block [at, at + n). */
typedef struct {
    int64_t at, n, first, end; /* first, end count from at */
} block;

static block block_from(int64_t column, int64_t end, int64_t all)
{
    block b = {.at = column / COLUMNS * COLUMNS};
    b.n = all - b.at < COLUMNS ? all - b.at : COLUMNS;
    b.first = column - b.at;
    b.end = end - b.at < b.n ? end - b.at : b.n;
    return b;
}

/* A block's columns between y[rows][b->n] and rows t .. of all[T][width]. */
static void put(const block *b, int64_t rows, const float *y, float *all, int64_t t, int64_t width)
{
    for (int64_t r = 0; all && r < rows; r++)
        memcpy(all + (t + r) * width + b->at + b->first, y + r * b->n + b->first,
               (size_t)(b->end - b->first) * sizeof *y);
}

static void matmul(const ts_fused *f, const ts_matmul_a64s8_args *whole, const block *b, int64_t t, int64_t rows,
                   float *y)
{
    const int64_t G = whole->K / GROUP;
    const ts_matrix part = ts_packed_rows(whole->w, b->at, b->n);
    const ts_matmul_a64s8_args a = {
        rows, b->n, whole->K, whole->code + t * whole->K, whole->step + t * G, whole->sum + t * G, &part, y};
    int i = 0;
    while (f->matmul[i + 1] && f->matmul[i]->accepts && !f->matmul[i]->accepts(&a))
        i++;
    f->matmul[i]->run(&a, b->first, b->end);
}

void ts_fused_gate_up(const ts_fused *f, const ts_gate_up_a64s8_args *a, int64_t begin, int64_t end)
{
    float g[ROWS * COLUMNS], u[ROWS * COLUMNS], y[ROWS * COLUMNS];
    ts_matmul_a64s8_args gate = {a->T, a->I, a->K, a->code, a->step, a->sum, a->gate, NULL}, up = gate;
    up.w = a->up;
    for (int64_t n = begin; n < end; n = n / COLUMNS * COLUMNS + COLUMNS) {
        block b = block_from(n, end, a->I);
        for (int64_t t = 0; t < a->T; t += ROWS) {
            int64_t rows = a->T - t < ROWS ? a->T - t : ROWS;
            matmul(f, &gate, &b, t, rows, g);
            matmul(f, &up, &b, t, rows, u);
            for (int64_t r = 0; r < rows; r++)
                f->next->run(&(ts_zip_args){b.n, g + r * b.n, u + r * b.n, y + r * b.n}, b.first, b.end);
            put(&b, rows, y, a->y, t, a->I);
            put(&b, rows, g, a->g, t, a->I);
            put(&b, rows, u, a->u, t, a->I);
        }
    }
}

void ts_fused_qkv_conv(const ts_fused *f, const ts_qkv_conv_a64s8_args *a, int64_t begin, int64_t end)
{
    float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    ts_matmul_a64s8_args m = {a->T, a->C, a->K, a->code, a->step, a->sum, a->w, NULL};
    for (int64_t n = begin; n < end; n = n / COLUMNS * COLUMNS + COLUMNS) {
        block b = block_from(n, end, a->C);
        for (int64_t t = 0; t < a->T; t += ROWS) {
            int64_t rows = a->T - t < ROWS ? a->T - t : ROWS;
            matmul(f, &m, &b, t, rows, x);
            f->next->run(&(ts_conv1d_args){rows, b.n, a->W, x, a->taps + b.at * a->W, a->state + b.at * a->W, y},
                         b.first, b.end);
            put(&b, rows, y, a->y, t, a->C);
            put(&b, rows, x, a->qkv, t, a->C);
        }
    }
}
