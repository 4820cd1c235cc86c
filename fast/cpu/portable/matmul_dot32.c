#include "schedule.h"

#include "cpu/portable/dot32.h"
#include "cpu/portable/widen.h"

enum { CHUNK = 1024, ROWS = 32 }; /* columns k widened at once; rows of x that share them */

/* ts_lanes_add for two rows of x: a weight is loaded once for both. */
static void lanes_add_pair(float *lane, const float *a, const float *b, const float *w, int64_t n)
{
    float s[TS_LANES], r[TS_LANES];
    memcpy(s, lane, sizeof s);
    memcpy(r, lane + TS_LANES, sizeof r);
    int64_t k = 0;
    for (; k + TS_LANES <= n; k += TS_LANES)
        for (int l = 0; l < TS_LANES; l++) {
            s[l] = ts_fma(a[k + l], w[k + l], s[l]);
            r[l] = ts_fma(b[k + l], w[k + l], r[l]);
        }
    memcpy(lane, s, sizeof s);
    memcpy(lane + TS_LANES, r, sizeof r);
    for (int l = 0; k + l < n; l++) {
        lane[l] = ts_fma(a[k + l], w[k + l], lane[l]);
        lane[TS_LANES + l] = ts_fma(b[k + l], w[k + l], lane[TS_LANES + l]);
    }
}

/* Output column n of `rows` rows from t. Each row has its own lanes: no row sees another. */
static void column(const ts_matmul_args *a, int64_t n, int64_t t, int64_t rows)
{
    float lane[ROWS * TS_LANES], w[CHUNK];
    memset(lane, 0, (size_t)rows * TS_LANES * sizeof *lane);
    for (int64_t k = 0; k < a->K; k += CHUNK) {
        int64_t len = a->K - k < CHUNK ? a->K - k : CHUNK, r = 0;
        ts_widen(a->w, n, k, len, w);
        const float *x = a->x + t * a->K + k;
        for (; r + 2 <= rows; r += 2)
            lanes_add_pair(lane + r * TS_LANES, x + r * a->K, x + (r + 1) * a->K, w, len);
        if (r < rows)
            ts_lanes_add(lane + r * TS_LANES, x + r * a->K, w, len);
    }
    for (int64_t r = 0; r < rows; r++)
        a->y[(t + r) * a->N + n] = ts_lanes_sum(lane + r * TS_LANES);
}

static void one_row_bf16(const ts_matmul_args *a, int64_t begin, int64_t end)
{
    const uint16_t *w = a->w->data;
    for (int64_t n = begin; n < end; n++)
        a->y[n] = ts_fast_dot32_bf16(a->x, w + n * a->K, a->K);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_args *a = args;
    if (a->T == 1 && a->w->format == TS_W_BF16) {
        one_row_bf16(a, begin, end);
        return;
    }
    for (int64_t t = 0; t < a->T; t += ROWS)
        for (int64_t n = begin; n < end; n++)
            column(a, n, t, a->T - t < ROWS ? a->T - t : ROWS);
}

const ts_schedule ts_matmul_dot32_portable = {
    .name = "matmul_dot32.portable",
    .op = TS_OP_MATMUL_DOT32,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
};
