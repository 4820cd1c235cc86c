/* ggml as a peer, from the shared objects of a release (libggml-base.so and libggml-cpu-*.so in one folder; the npm
 * package @node-llama-cpp/linux-x64 has them). Of its CPU variants the one that it scores best here. */
#ifndef TS_BENCH_PEER_GGML_H
#define TS_BENCH_PEER_GGML_H

#include "bench/measure.h"

typedef struct ts_ggml ts_ggml;
typedef struct ts_ggml_problem ts_ggml_problem;

/* TS_BAD: no such folder, or what is in it is not a ggml that this knows. */
ts_status ts_ggml_open(const char *folder, ts_ggml **out, ts_error *err);
void ts_ggml_close(ts_ggml *g);
/* The variant's file, e.g. "libggml-cpu-icelake.so", and the layouts of weights of its own. */
const char *ts_ggml_variant(const ts_ggml *g);

/* Adds Q4_K x Q8_K row dots ("ggml.dots"), and mul_mat over Q4_K in each of ggml's own layouts that takes it
 * ("ggml.CPU_REPACK"). The problem must outlive the match; leave it in any case. */
ts_status ts_ggml_enter(ts_ggml *g, int64_t T, int64_t N, int64_t K, bool dram, int threads, ts_match *m,
                        ts_ggml_problem **out, ts_error *err);
void ts_ggml_leave(ts_ggml_problem *p);

#endif
