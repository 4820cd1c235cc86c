/* Which of ggml's block types a weight format is. */
#ifndef TS_FORMAT_BLOCK_H
#define TS_FORMAT_BLOCK_H

#include "format/ggml_type.h"
#include "format/matrix.h"

/* ggml's scalar reference; what its files are made with, where that differs (IQ4_NL); what x86 does with
 * activations at run time (Q8_0, Q8_1). */
typedef enum { TS_BLOCK_REFERENCE, TS_BLOCK_FILE, TS_BLOCK_X86 } ts_block_rule;

/* Elements and bytes of a block; NULL for plain numbers and MLX. */
const ts_ggml_type *ts_block_type(ts_weight_format format);
/* The format of ggml's type of that number; false: not one that is read. */
bool ts_block_format(int64_t type, ts_weight_format *out);

/* The format of the activations that go with weights of that one. */
ts_weight_format ts_block_activation(ts_weight_format format);
/* Bytes of a row of activations for w, a matrix of blocks. */
int64_t ts_block_row_bytes(const ts_matrix *w);

/* Are all scales and minima of n blocks finite? */
bool ts_block_scales_finite(ts_weight_format format, const void *blocks, int64_t n);

#endif
