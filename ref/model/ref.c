#include "ref.h"

#include "model.h"
#include "op.h"

#if TS_PRECISION == 64
#define TS_THIS ts_ref64
#define TS_THIS_NAME "ref64"
const ts_dtype ts_real_dtype = TS_F64;
#else
#define TS_THIS ts_ref32
#define TS_THIS_NAME "ref32"
const ts_dtype ts_real_dtype = TS_F32;
#endif

/* The only symbol of this precision that other rooms can see. */
__attribute__((visibility("default"))) const ts_ref TS_THIS = {
    .name = TS_THIS_NAME,
    .dtype = TS_PRECISION == 64 ? TS_F64 : TS_F32,
    .op = ts_op_run,
    .model_new = ts_model_new,
    .model_free = ts_model_free,
    .state_new = ts_state_new,
    .state_free = ts_state_free,
    .forward = ts_forward,
    .state_trace = ts_state_trace,
    .layer = ts_layer_run,
    .state_put = ts_state_put,
    .forward_taps = ts_forward_taps,
    .state_keep = ts_state_keep,
    .state_rewind = ts_state_rewind,
    .mtp = ts_mtp_rows,
    .dflash_context = ts_dflash_context,
    .dflash_block = ts_dflash_block,
    .dflash_candidates = ts_dflash_candidates,
    .dflash_scores = ts_dflash_scores,
    .block_decode = ts_block_decode,
    .block_encode = ts_block_encode,
    .block_dot = ts_block_dot,
    .mlx_encode = ts_mlx_encode,
    .mlx_encode_metal = ts_mlx_encode_metal,
    .lse_encode = ts_lse_encode,
};
