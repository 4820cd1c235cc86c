/* A profile's choices as functions, made once per model: what a forward pass calls, and never asks about again. */
#ifndef TS_MODEL_OPS_H
#define TS_MODEL_OPS_H

#include "case/args.h"
#include "config/profile.h"

struct ts_pass;

typedef struct {
    void (*linear)(const struct ts_pass *p, const ts_matrix *w, const ts_real *x, int64_t T, ts_real *y);
    void (*store)(ts_real *x, int64_t n); /* what becomes of values that the stream keeps, in place */
    void (*norm)(const ts_rmsnorm_args *a);
    void (*conv)(const ts_conv1d_args *a);
    void (*l2norm)(const ts_l2norm_args *a);
    void (*gates)(const ts_gdn_gates_args *a);
    void (*gdn)(const ts_gdn_args *a);
    void (*scale_output)(const ts_scale_args *a); /* of the delta rule, in place */
    void (*gated_norm)(const ts_gated_norm_args *a);
    void (*freq)(double theta, int64_t R, double *freq); /* once per model */
    void (*angles)(const double *freq, int64_t R, int64_t pos, ts_real *c, ts_real *s);
    void (*rotate)(const ts_rope_args *a);
    void (*attention)(const ts_attention_args *a);
    void (*swiglu)(const ts_zip_args *a);
    void (*gate)(const ts_zip_args *a);
    double l2_eps, q_scale, k_scale; /* arguments of l2norm */
} ts_ops;

/* Dk: key channels of the delta rule. */
ts_ops ts_ops_of(const ts_profile *p, int64_t Dk);

#endif
