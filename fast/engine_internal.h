/* What the engine's files share. A forward is a list of operations on scratch
 * slots; the first one that fails is kept in `status` and the rest do nothing,
 * so that a layer reads like its equations. */
#ifndef TS_FAST_ENGINE_INTERNAL_H
#define TS_FAST_ENGINE_INTERNAL_H

#include "case/op.h"
#include "engine.h"

enum { TS_PAGE = 16, TS_SPARE_PAGES = 3, TS_PIECE = 512, TS_CODE_RUN = 64 };

/* Buffers of T rows; the comment names what lies there in a linear | full layer. */
typedef enum {
    TS_SLOT_H,      /* residual stream */
    TS_SLOT_MID,    /* after the mixer */
    TS_SLOT_X,      /* normalised */
    TS_SLOT_BRANCH, /* mixer or mlp output */
    TS_SLOT_WIDE,   /* qkv, then q and k before their norm | q and gate, then k before its norm */
    TS_SLOT_CONV,   /* conv output | q, then k around their norm */
    TS_SLOT_NORMED, /* q or k before rope */
    TS_SLOT_Q,
    TS_SLOT_K,
    TS_SLOT_V,
    TS_SLOT_A,
    TS_SLOT_B,
    TS_SLOT_G,
    TS_SLOT_BETA,
    TS_SLOT_Z, /* z | gate */
    TS_SLOT_O,
    TS_SLOT_GATED,
    TS_SLOT_GATE,
    TS_SLOT_UP,
    TS_SLOT_ACT,
    TS_SLOT_JOINT, /* drafters: what fc reads */
    TS_SLOT_MIXED, /* DFlash2: rows behind a convolution */
    TS_SLOT_DELTA, /* and what makes its kernels */
    TS_SLOT_STEP,
    TS_SLOT_SUM,
    TS_SLOT_COUNT,
} ts_slot;

/* Of one layer: conv [CD,W] and recurrent [Hv,Dk,Dv] state, or the K and V pools. */
typedef struct {
    float *conv, *recurrent;
    void *k, *v;
    struct ts_engine_kept *kept; /* or NULL */
} ts_engine_state;

struct ts_engine {
    const ts_weights *w; /* weights below */
    ts_weights weights;  /* the caller's, with matrices and their packed copies of our own */
    const ts_profile *profile;
    ts_engine_options opt;
    int64_t pos;
    const void *head;   /* the caller's head before it was packed: a drafter may share it */
    bool borrows_head;  /* a drafter's, from its target's engine */
    int64_t most, kept; /* rows of a pass that can be undone at most, and of the last one, up to pos */
    int64_t pages;      /* of every pool */
    int32_t *table;     /* logical page -> pool page, shared by the layers */
    ts_engine_state *state;
    double *inv_freq;
    float *cos, *sin; /* [capacity][R/2], rows below `angles` filled in */
    int64_t angles;
    float *scratch;
    int64_t rows; /* that scratch has room for */
    float *slot[TS_SLOT_COUNT];
    int8_t *code;
    int32_t *row_pos, *row_len;
};

/* One piece of a forward. */
typedef struct {
    ts_engine *e;
    const ts_config *c;
    int64_t T;
    int64_t layer; /* for trace names; -1 outside the layers */
    ts_trace *trace;
    ts_status status;
    ts_error *err;
    const ts_taps *taps; /* or NULL */
    int64_t first;       /* of the taps' rows */
} ts_piece;

/* An activation and whether its codes are in the scratch: quantised once for all that read it. */
typedef struct {
    const float *x;
    int64_t T, K;
    bool coded;
} ts_input;

/* a*b*size bytes, zeroed; NULL and *err on overflow or lack of memory. */
void *ts_engine_alloc(int64_t a, int64_t b, size_t size, ts_error *err);

/* engine_pack.c */
ts_status ts_engine_weights_new(ts_engine *e, const ts_weights *w, ts_error *err);
void ts_engine_weights_free(ts_engine *e);
/* Class A64S8 is defined for these matrices; the profile says whether it is used. */
bool ts_engine_codes(const ts_engine *e, const ts_matrix *w);

/* engine_kv.c */
ts_status ts_engine_pages_new(ts_engine *e, ts_error *err);
void ts_engine_pages_free(ts_engine *e);
void ts_engine_pages_reset(ts_engine *e);
ts_kv ts_engine_kv(const ts_engine *e, int64_t layer);
/* Fills in the RoPE rows of the positions below `end`. */
void ts_engine_angles(ts_engine *e, int64_t end);

/* engine_run.c */
ts_status ts_engine_reserve(ts_engine *e, int64_t rows, ts_error *err);
void ts_engine_poison(float *p, int64_t n);
void ts_engine_op(ts_piece *p, ts_op_id op, const void *args);
void ts_engine_linear(ts_piece *p, ts_input *in, const ts_matrix *w, float *y);
/* y = swiglu of the two linears, which are left in TS_SLOT_GATE and TS_SLOT_UP when tracing. */
void ts_engine_gate_up(ts_piece *p, ts_input *in, const ts_matrix *gate, const ts_matrix *up, float *y);
/* y = conv1d of the linear, which is left in TS_SLOT_WIDE when tracing. */
void ts_engine_qkv_conv(ts_piece *p, ts_input *in, const ts_matrix *w, const float *taps, float *state, float *y);
/* x = norm of h in TS_SLOT_X, as codes too where the profile has them. codes_only: no linear reads the f32 values.
 */
void ts_engine_norm_input(ts_piece *p, const float *h, const ts_vector *w, bool codes_only, ts_input *x);
void ts_engine_norm(ts_piece *p, int64_t rows, const float *x, const ts_vector *w, float *y);
/* Trace [T,H,D], or [T,D] if H is 0, under "layer.N.name" or plain "name". */
void ts_engine_note(ts_piece *p, const char *name, int64_t T, int64_t H, int64_t D, const float *data);

/* engine.c: positions of the piece's rows, and their angles. */
void ts_engine_positions(ts_piece *p);

/* Final norm and logits of the last `rows`. */
void ts_engine_head(ts_piece *p, int64_t rows, float *logits);
ts_status ts_engine_check_ids(const ts_engine *e, const int32_t *ids, int64_t T, ts_error *err);
ts_status ts_engine_check_room(const ts_engine *e, int64_t T, ts_error *err);

/* engine_layer.c: from TS_SLOT_H to TS_SLOT_H. */
void ts_engine_layer(ts_piece *p);
/* Norm per head and rotation: x [T,H,D] -> y. */
void ts_engine_norm_and_rope(ts_piece *p, int64_t H, const float *x, const ts_vector *w, float *y);

/* engine_keep.c: what rewinding takes. */
bool ts_engine_keeps(const ts_piece *p);
void ts_engine_keep_before(ts_piece *p); /* the layer's state, as the pass finds it */
void ts_engine_keep_inputs(ts_piece *p); /* what the convolution read, TS_SLOT_WIDE */
void ts_engine_keep_rows(ts_piece *p);   /* what the delta rule reads */
void ts_engine_forget(ts_engine *e);

#endif
