/* MLX affine matrices, written: codes of one of the reference's encoders, packed
 * as the layout in format/matrix.h says. */
#ifndef TS_TOOLS_MLX_H
#define TS_TOOLS_MLX_H

#include <stdbool.h>
#include "format/matrix.h"
#include "ref.h"

#define TS_ENCODERS "mlx-cpu, mlx-metal, lse"

/* The encoder of that name, or NULL. */
ts_mlx_encoder *ts_mlx_encoder_find(const char *name);

/* code[K], each below 2^bits, to the K*bits/32 words of a row (a multiple of 32 bits). */
void ts_mlx_pack(const uint8_t *code, int64_t K, int bits, uint32_t *word);

/* Of w (bf16, f16 or f32): words [N][K*bits/32], scales and biases [N][K/group] as bf16. K is a multiple
 * of group, group of 32. -1, or the first row with a scale or bias that bf16 cannot hold; -2: out of memory. */
int64_t ts_mlx_quantize(ts_mlx_encoder *encode, const ts_matrix *w, int bits, int group, uint32_t *words,
                        uint16_t *scales, uint16_t *biases);

#endif
