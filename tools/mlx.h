/* MLX affine matrices, written: encoder mlx-cpu of the reference, codes packed
 * as the layout in format/matrix.h says. */
#ifndef TS_TOOLS_MLX_H
#define TS_TOOLS_MLX_H

#include <stdbool.h>
#include "format/matrix.h"

/* code[K], each below 2^bits, to the K*bits/32 words of a row (a multiple of 32 bits). */
void ts_mlx_pack(const uint8_t *code, int64_t K, int bits, uint32_t *word);

/* Of w (bf16, f16 or f32): words [N][K*bits/32], scales and biases [N][K/group] as bf16. K is a multiple
 * of group, group of 32. -1, or the first row with a scale or bias that bf16 cannot hold; -2: out of memory. */
int64_t ts_mlx_quantize(const ts_matrix *w, int bits, int group, uint32_t *words, uint16_t *scales,
                        uint16_t *biases);

#endif
