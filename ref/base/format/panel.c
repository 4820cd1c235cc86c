#include "format/panel.h"

#include <string.h>

#include "num/convert.h"

enum { CHUNK = 8, GROUP = 64, BLOCK_ROWS = 16, BLOCK_WORDS = 288, BLOCK_STEPS = 256 };

int64_t ts_panel_a8_words(int64_t T, int64_t K)
{
    return T * (25 * K / GROUP);
}

int64_t ts_panel_a64_words(int64_t T, int64_t K, int64_t tile)
{
    return (T + tile - 1) / tile * (tile / BLOCK_ROWS) * (K / GROUP) * BLOCK_WORDS;
}

/* Value 8c + 2b + p: byte b of word 2c + p. */
int64_t ts_panel_a8_code(int64_t K, int64_t t, int64_t k)
{
    int64_t word = ts_panel_a8_words(t, K) + k / CHUNK * 2 + k % 2;
    return 4 * word + k % CHUNK / 2;
}

int64_t ts_panel_a8_step(int64_t K, int64_t t, int64_t c)
{
    return ts_panel_a8_words(t, K) + K / 4 + c;
}

int64_t ts_panel_a8_sum(int64_t K, int64_t t, int64_t g)
{
    return ts_panel_a8_words(t, K) + 3 * K / CHUNK + g;
}

/* The first word of the block of row t and group g. */
static int64_t block(int64_t K, int64_t tile, int64_t t, int64_t g)
{
    int64_t before = (t / tile * (K / GROUP) + g) * (tile / BLOCK_ROWS) + t % tile / BLOCK_ROWS;
    return BLOCK_WORDS * before;
}

int64_t ts_panel_a64_code(int64_t K, int64_t tile, ts_panel_bytes order, int64_t t, int64_t k)
{
    int64_t i = k % GROUP, r = t % BLOCK_ROWS;
    int64_t word = order == TS_PANEL_ASCENDING ? i / 4 : i / 8 * 2 + i % 2;
    int64_t byte = order == TS_PANEL_ASCENDING ? i % 4 : i % 8 / 2;
    int64_t in_block = word / 4 * 64 + word % 4 / 2 * 32 + 2 * r + word % 2;
    return 4 * (block(K, tile, t, k / GROUP) + in_block) + byte;
}

int64_t ts_panel_a64_step(int64_t K, int64_t tile, int64_t t, int64_t g)
{
    return block(K, tile, t, g) + BLOCK_STEPS + 2 * (t % BLOCK_ROWS);
}

/* Byte `at` of the panel: bits 8(at%4) .. 8(at%4)+7 of its word. The panel is zero before. */
static void put(uint32_t *panel, int64_t at, int8_t code)
{
    panel[at / 4] |= (uint32_t)(uint8_t)code << 8 * (at % 4);
}

void ts_panel_a8_pack(int64_t T, int64_t K, const int8_t *code, const float *step, const float *sum,
                      uint32_t *panel)
{
    memset(panel, 0, (size_t)ts_panel_a8_words(T, K) * sizeof *panel);
    for (int64_t t = 0; t < T; t++) {
        for (int64_t k = 0; k < K; k++)
            put(panel, ts_panel_a8_code(K, t, k), code[t * K + k]);
        for (int64_t c = 0; c < K / CHUNK; c++)
            panel[ts_panel_a8_step(K, t, c)] = ts_bits(step[t * (K / CHUNK) + c]);
        for (int64_t g = 0; g < K / GROUP; g++)
            panel[ts_panel_a8_sum(K, t, g)] = ts_bits(sum[t * (K / GROUP) + g]);
    }
}

void ts_panel_a64_pack(int64_t T, int64_t K, int64_t tile, ts_panel_bytes order, const int8_t *code,
                       const float *step, const float *sum, uint32_t *panel)
{
    memset(panel, 0, (size_t)ts_panel_a64_words(T, K, tile) * sizeof *panel);
    for (int64_t t = 0; t < T; t++) {
        for (int64_t k = 0; k < K; k++)
            put(panel, ts_panel_a64_code(K, tile, order, t, k), code[t * K + k]);
        for (int64_t g = 0; g < K / GROUP; g++) {
            int64_t at = ts_panel_a64_step(K, tile, t, g);
            panel[at] = ts_bits(step[t * (K / GROUP) + g]);
            panel[at + 1] = ts_bits(sum[t * (K / GROUP) + g]);
        }
    }
}
