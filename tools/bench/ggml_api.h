/* The part of ggml's C interface that bench calls, declared here: ggml's headers are not needed to build. Handles
 * are opaque. */
#ifndef TS_BENCH_GGML_API_H
#define TS_BENCH_GGML_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "num/status.h"

enum { TS_GGML_F32 = 0, TS_GGML_Q4_K = 12, TS_GGML_Q8_K = 15 }; /* enum ggml_type */

typedef struct {
    size_t mem_size;
    void *mem_buffer;
    bool no_alloc;
} ts_ggml_init_params;

/* ggml_NAME, backend_NAME being ggml_backend_NAME. */
typedef struct {
    int (*backend_score)(void);
    void *(*backend_init)(void);
    void *(*backend_cpu_init)(void);
    void (*backend_cpu_set_n_threads)(void *backend, int n);
    void *(*backend_cpu_buffer_type)(void);
    void *(*backend_reg_dev_get)(void *reg, size_t i);
    void *(*backend_reg_get_proc_address)(void *reg, const char *name);
    bool (*backend_dev_supports_op)(void *dev, const void *tensor);
    const char *(*backend_buft_name)(void *buft);
    void *(*backend_alloc_ctx_tensors_from_buft)(void *ctx, void *buft);
    void (*backend_buffer_free)(void *buffer);
    void (*backend_tensor_set)(void *tensor, const void *data, size_t offset, size_t size);
    void (*backend_tensor_get)(const void *tensor, void *data, size_t offset, size_t size);
    int (*backend_graph_compute)(void *backend, void *graph);
    void (*backend_free)(void *backend);
    void (*log_set)(void (*log)(int level, const char *text, void *context), void *context);
    void *(*init)(ts_ggml_init_params params);
    void (*free)(void *ctx);
    size_t (*tensor_overhead)(void);
    size_t (*graph_overhead_custom)(size_t nodes, bool grads);
    void *(*new_tensor_2d)(void *ctx, int type, int64_t ne0, int64_t ne1);
    void *(*mul_mat)(void *ctx, void *a, void *b);
    void *(*new_graph_custom)(void *ctx, size_t nodes, bool grads);
    void (*build_forward_expand)(void *graph, void *tensor);
    size_t (*row_size)(int type, int64_t ne);
    size_t (*quantize_chunk)(int type, const float *src, void *dst, int64_t start, int64_t rows, int64_t row_length,
                             const float *importance);
    void (*vec_dot_q4_K_q8_K)(int n, float *y, size_t ys, const void *a, size_t as, const void *b, size_t bs,
                              int rows);
    void (*quantize_row_q8_K)(const float *x, void *y, int64_t k);
} ts_ggml_api;

/* The best variant in the folder for this CPU, as ggml chooses: the highest ggml_backend_score. *library stays
 * open, and so does its base; variant gets the file's name. */
ts_status ts_ggml_api_open(const char *folder, ts_ggml_api *api, void *library[2], char variant[64], ts_error *err);

#endif
