/* Panels: activations as the kernels of the R9700 engine LSE store them once per layer, in 32-bit words. Layout
 * only; codes, steps and sums are those of quantize_lse_a8 and quantize_a64.
 *
 * A8: a row has 25K/64 words: K/4 of codes, K/8 of steps (one per chunk of 8), K/64 of sums (one per 64). A chunk
 * is two words, its even values and its odd ones, as the nibbles of a word of weights split.
 *
 * A64: blocks of 288 words hold 16 rows of one group of 64: 256 of codes, then step and sum of each row in turn.
 * Order: tile of rows, group, block of 16 rows. Rows that pad the last tile are zero. */
#ifndef TS_FORMAT_PANEL_H
#define TS_FORMAT_PANEL_H

#include <stdint.h>

/* Within the 16 codes of four words: as they come, or even and odd values apart (era B, 16-row tiles and weights of
 * 4 bits). */
typedef enum { TS_PANEL_ASCENDING, TS_PANEL_EVEN_ODD } ts_panel_bytes;

/* Words of a panel; K a multiple of 64, tile 16 or 64. */
int64_t ts_panel_a8_words(int64_t T, int64_t K);
int64_t ts_panel_a64_words(int64_t T, int64_t K, int64_t tile);

/* A8: the byte of code (t,k); the words of step c (of 8 values) and sum g (of 64). */
int64_t ts_panel_a8_code(int64_t K, int64_t t, int64_t k);
int64_t ts_panel_a8_step(int64_t K, int64_t t, int64_t c);
int64_t ts_panel_a8_sum(int64_t K, int64_t t, int64_t g);

/* A64: the byte of code (t,k); the word of step (t,g). The sum is the word behind. */
int64_t ts_panel_a64_code(int64_t K, int64_t tile, ts_panel_bytes order, int64_t t, int64_t k);
int64_t ts_panel_a64_step(int64_t K, int64_t tile, int64_t t, int64_t g);

/* code [T,K], step [T,K/8], sum [T,K/64] -> panel of ts_panel_a8_words. */
void ts_panel_a8_pack(int64_t T, int64_t K, const int8_t *code, const float *step, const float *sum,
                      uint32_t *panel);
/* code [T,K], step, sum [T,K/64] -> panel of ts_panel_a64_words. */
void ts_panel_a64_pack(int64_t T, int64_t K, int64_t tile, ts_panel_bytes order, const int8_t *code,
                       const float *step, const float *sum, uint32_t *panel);

#endif
