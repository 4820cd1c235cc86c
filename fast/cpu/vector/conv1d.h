/* The body of conv1d.c of every isa, whose header comes first. */
#include "cpu/vector/elementary.h"

enum { MAX_W = 8 };

/* VEC channels from c0 on, n of them there. Taps and inputs are transposed: a vector holds one of every channel. */
typedef struct {
    const ts_conv1d_args *a;
    int64_t c0;
    int n;
    float w[MAX_W][VEC], u[MAX_W][VEC];
} block;

static inline void gather(const float *from, int64_t W, int n, float to[MAX_W][VEC])
{
    for (int64_t j = 0; j < W; j++)
        for (int i = 0; i < VEC; i++)
            to[j][i] = i < n ? from[i * W + j] : 0.0f;
}

/* All tokens; u[0..W) are the last inputs, oldest first. */
static inline void tokens(block *b, int W)
{
    const ts_conv1d_args *a = b->a;
    const vmask m = v_first(b->n);
    vec w[MAX_W], u[MAX_W + 1];
    for (int j = 0; j < W; j++) {
        w[j] = v_load(b->w[j]);
        u[j] = v_load(b->u[j]);
    }
    for (int64_t t = 0; t < a->T; t++) {
        vec acc = v_all(0.0f);
        u[W] = v_load_some(a->x + t * a->C + b->c0, m);
        for (int j = 0; j < W; j++) {
            u[j] = u[j + 1];
            acc = v_fma(w[j], u[j], acc);
        }
        v_store_some(a->y + t * a->C + b->c0, m, v_silu(acc));
    }
    for (int j = 0; j < W; j++)
        v_store(b->u[j], u[j]);
}

static inline void channels(block *b, int W)
{
    float *state = b->a->state + b->c0 * W;
    gather(b->a->w + b->c0 * W, W, b->n, b->w);
    gather(state, W, b->n, b->u);
    tokens(b, W);
    for (int i = 0; i < b->n; i++)
        for (int j = 0; j < W; j++)
            state[i * W + j] = b->u[j][i];
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_conv1d_args *a = args;
    block b = {.a = a};
    for (b.c0 = begin; b.c0 < end; b.c0 += VEC) {
        b.n = end - b.c0 < VEC ? (int)(end - b.c0) : VEC;
        if (a->W == 4)
            channels(&b, 4);
        else
            channels(&b, (int)a->W);
    }
}

static bool accepts(const void *args)
{
    const ts_conv1d_args *a = args;
    return a->W <= MAX_W;
}
