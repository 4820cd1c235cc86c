/* Where what a call streams through comes from: `cache`, the same copy over and over, or `dram`, as many copies as
 * exceed 1 GiB, in turn. */
#ifndef TS_BENCH_FOOTPRINT_H
#define TS_BENCH_FOOTPRINT_H

#include "check/call.h"

/* Memory in huge pages, as packed weights have them. */
typedef struct {
    char *base;
    size_t bytes;
} ts_region;

ts_status ts_region_new(size_t bytes, ts_region *out, ts_error *err);
void ts_region_free(ts_region *r);

/* Copies of one field of a call, and the args for each. */
typedef struct {
    ts_region region;
    size_t stride; /* bytes of a copy, a multiple of 512 */
    int64_t copies;
    size_t payload;  /* bytes of a matrix, packed or not; 0 if there is none */
    ts_matrix *view; /* [copies][TS_MATRICES], if the field is one: then all of them are copied */
    void **args;     /* [copies] */
} ts_copies;

enum { TS_DRAM = 1 << 30 };

/* Copies of that many bytes for a footprint. */
int64_t ts_copies_for(size_t bytes, bool dram);
/* Is there memory for `bytes` and some to spare? Otherwise TS_BAD and the reason. */
ts_status ts_memory_for(double bytes, ts_error *err);
/* Bytes of one copy of that field; matrices as they are packed now. 0: the operation has no such field. */
size_t ts_copy_bytes(const ts_call *c, const char *stream);
/* stream NULL: one, which is the call itself. c must outlive it. */
ts_status ts_copies_new(const ts_call *c, const char *stream, bool dram, ts_copies *out, ts_error *err);
void ts_copies_free(ts_copies *k);

#endif
