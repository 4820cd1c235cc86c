/* One convolution out of three, and one kv_b out of two. */
#include "config/bind_kimi.h"

#include <stdlib.h>
#include <string.h>

static ts_status bind_stream(ts_binder *b, const char *name, int64_t P, int64_t W, ts_vector *out)
{
    const ts_tensor *t = ts_checkpoint_find(b->ckpt, name, NULL);
    const int64_t three[3] = {P, 1, W}, four[4] = {1, P, 1, W};
    const bool wide = t != NULL && t->ndim == 4;
    return ts_bind_vector(b, name, wide ? 4 : 3, wide ? four : three, out);
}

ts_status ts_bind_convs(ts_binder *b, const char *const name[3], int64_t P, int64_t W, ts_vector *out)
{
    const int64_t n = P * W;
    ts_status status = TS_OK;
    out->v = b->read ? malloc((size_t)(3 * n) * sizeof *out->v) : NULL;
    if (b->read && out->v == NULL)
        return ts_no_memory(b->err, (size_t)(3 * n) * sizeof *out->v);
    for (int i = 0; i < 3 && status == TS_OK; i++) {
        ts_vector one = {0};
        status = bind_stream(b, name[i], P, W, &one);
        if (status == TS_OK && b->read)
            memcpy(out->v + i * n, one.v, (size_t)n * sizeof *one.v);
        free(one.v);
    }
    out->n = status == TS_OK && b->read ? 3 * n : 0;
    return status;
}

/* Of every head Dn rows for keys, then Dm for values. */
static void join(const ts_config *c, const float *keys, const float *values, float *out)
{
    const int64_t R = c->rank, Dn = c->Dn, Dm = c->Dm;
    for (int64_t h = 0; h < c->Hq; h++) {
        float *to = out + h * (Dn + Dm) * R;
        for (int64_t i = 0; i < Dn; i++)
            for (int64_t r = 0; r < R; r++)
                to[i * R + r] = keys[(h * R + r) * Dn + i];
        memcpy(to + Dn * R, values + h * Dm * R, (size_t)(Dm * R) * sizeof *to);
    }
}

ts_status ts_bind_kv_halves(ts_binder *b, const char *keys, const char *values, const ts_config *c, ts_matrix *out,
                            float **own)
{
    const int64_t N = c->Hq * (c->Dn + c->Dm);
    const int64_t k_dim[3] = {c->Hq, c->rank, c->Dn}, v_dim[3] = {c->Hq, c->Dm, c->rank};
    ts_vector k = {0}, v = {0};
    ts_status status = ts_bind_vector(b, keys, 3, k_dim, &k);
    if (status == TS_OK)
        status = ts_bind_vector(b, values, 3, v_dim, &v);
    if (status == TS_OK && b->read) {
        const size_t size = (size_t)(N * c->rank) * sizeof **own;
        *own = malloc(size);
        status = *own != NULL ? TS_OK : ts_no_memory(b->err, size);
    }
    if (status == TS_OK && b->read) {
        join(c, k.v, v.v, *own);
        *out = (ts_matrix){.format = TS_W_F32, .N = N, .K = c->rank, .data = *own};
    }
    free(k.v);
    free(v.v);
    return status;
}
