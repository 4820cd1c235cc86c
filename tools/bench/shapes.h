/* The shapes that schedules are timed on: one table, of the sizes that the Qwen3.5 models have. */
#ifndef TS_BENCH_SHAPES_H
#define TS_BENCH_SHAPES_H

#include "check/call.h"

enum { TS_MAX_SHAPES = 24 };

typedef struct {
    ts_op_id op;
    const char *weights;  /* what the matrix is, e.g. "mlx4", or "" */
    const char *stream;   /* the field that is different in every layer of a model, so that it comes from memory
                             when a model is larger than the caches; NULL: what is timed stays in the caches */
    const char *params;   /* JSON */
    const char *inputs;   /* JSON: generators of check/call.h; $T is the dim T, $keys 128 $parts, and so on */
    const char *dims[12]; /* in the order of the operation's; M stands for each number of rows */
    int64_t rows[4];      /* M, 0 behind the last */
} ts_bench_problem;

/* The i-th, NULL past the last; an operation may have several. */
const ts_bench_problem *ts_bench_problem_at(int i);

/* Dims of one call, in the order of the operation's. */
typedef struct {
    int64_t dim[TS_MAX_OP_DIMS];
    char text[96]; /* "T=1 N=17408 K=5120 mlx4" */
} ts_bench_shape;

/* All of a problem; or, if `asked` ("M,N,K", the first dims) is not NULL, the first one with those dims instead. */
ts_status ts_bench_shapes(const ts_bench_problem *p, const char *asked, ts_bench_shape out[TS_MAX_SHAPES],
                          size_t *n, ts_error *err);
/* The inputs of that shape, generated. */
ts_status ts_bench_call(const ts_bench_problem *p, const ts_bench_shape *s, ts_call *out, ts_error *err);

/* Multiply-adds of a call; 0: not counted for this operation. */
double ts_bench_macs(const ts_call *c);
/* Bytes that a call must read and write, its weights (`matrix` bytes as they lie in memory) included. */
double ts_bench_bytes(const ts_call *c, size_t matrix);

#endif
