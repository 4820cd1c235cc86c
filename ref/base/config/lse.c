#include "config/lse.h"

#include <stdbool.h>

enum { HIDDEN = 5120, FFN = 17408, STAGING = 65536, COMPUTE_UNITS = 64, TILE_COLUMNS = 128 };

static bool is_down(int64_t N, int64_t K)
{
    return N == HIDDEN && K == FFN;
}

static bool is_ffn(int64_t N, int64_t K)
{
    return is_down(N, K) || (N == FFN && K == HIDDEN);
}

ts_lse_numerics ts_lse_class(int64_t M, int64_t N, int64_t K, ts_lse_era era)
{
    if (M <= 8)
        return M == 8 && is_down(N, K) ? TS_LSE_A64 : TS_LSE_A8;
    if (M < 16)
        return era == TS_LSE_ERA_B9 ? TS_LSE_F16 : TS_LSE_EX;
    return era == TS_LSE_ERA_A ? TS_LSE_A64 : TS_LSE_F16;
}

int64_t ts_lse_rows(int64_t M, int64_t N, int64_t K)
{
    int64_t rows = 1;
    while (2 * rows <= M && rows < 8)
        rows *= 2;
    return is_ffn(N, K) && (M == 3 || M == 7) ? 2 * rows : rows;
}

/* Words of n values in local memory: one bank in 33 is left out, and one more word. */
static int64_t padded(int64_t n)
{
    return n + n / 32 + 1;
}

static int64_t al16(int64_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

int64_t ts_lse_staging(int64_t rows, int64_t K, int64_t S)
{
    int64_t chunks = K / 8 / S, groups = K / 64 / S;
    return rows * (al16(4 * padded(2 * chunks)) + al16(4 * padded(chunks)) + al16(4 * groups));
}

int64_t ts_lse_splits(int64_t rows, int64_t K)
{
    for (int64_t S = 1; S <= 4; S *= 2)
        if (K / 64 % S == 0 && ts_lse_staging(rows, K, S) <= STAGING)
            return S;
    return 0;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Rows of a tile, all 128 columns wide. */
static int64_t tile_rows(int64_t M)
{
    if (M <= 32)
        return 32;
    if (M <= 64)
        return 64;
    if (M <= 192)
        return 48 * ceil_div(M, 48);
    if (M >= 768)
        return 256;
    return ceil_div(M, 96) * 96 < ceil_div(M, 144) * 144 ? 96 : 144;
}

int64_t ts_lse_slices(int64_t M, int64_t N, int64_t K)
{
    int64_t rows = tile_rows(M), tiles = ceil_div(M, rows) * ceil_div(N, TILE_COLUMNS), steps = K / 64, s = 1;
    int64_t full = (rows % 48 == 0 ? 3 : 2) * COMPUTE_UNITS;
    while (s < 8 && tiles * s < full && steps % (2 * s) == 0 && steps / (2 * s) >= 16)
        s *= 2;
    return s;
}
