/* Drafters beside a model, quantised with it. */
#ifndef TS_TOOLS_QUANTIZE_DRAFT_H
#define TS_TOOLS_QUANTIZE_DRAFT_H

#include "ref.h"
#include "staging.h"

/* mtp.safetensors and dflash2.safetensors of the folder `model`, those that are there: every matrix NAME.weight as
 * MLX affine codes, all else as stored, names kept; and their NAME-config.json, which says so. */
ts_status ts_quantize_drafters(const char *model, ts_mlx_encoder *encode, int bits, int group, ts_staging *s,
                               ts_error *err);

#endif
