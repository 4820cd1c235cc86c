/* Writes the checkpoint in folder `from` as an MLX affine one (encoder mlx-cpu) into folder `to`. */
#ifndef TS_TOOLS_QUANTIZE_H
#define TS_TOOLS_QUANTIZE_H

#include "num/status.h"

/* Names and folding as mlx-lm; deterministic. `to` must exist or be creatable; files in it are replaced. */
ts_status ts_quantize(const char *from, const char *to, int bits, int group, ts_error *err);

#endif
