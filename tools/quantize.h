/* Writes the checkpoint in folder `from` as an MLX affine one into folder `to`. */
#ifndef TS_TOOLS_QUANTIZE_H
#define TS_TOOLS_QUANTIZE_H

#include "num/status.h"
#include "options.h"

typedef struct {
    int bits, group;     /* 2, 3, 4, 5, 6 or 8; 32, 64 or 128 */
    const char *encoder; /* of tools/mlx.h; NULL: mlx-cpu */
    int draft_bits;      /* of the drafters beside the model; 0: 8 */
    /* Texts of "PATTERN=BITS[:GROUP]" or "PATTERN=none", several in one separated by ",". PATTERN (fnmatch) is
     * held against a module's path, with and without its "language_model."; the last that matches counts. */
    ts_option_list overrides;
} ts_quantize_options;

/* Names and folding as mlx-lm; deterministic. `to` must exist or be creatable; files in it are replaced. */
ts_status ts_quantize(const char *from, const char *to, const ts_quantize_options *o, ts_error *err);

#endif
