/* Order split128, shared by every form of attention: one row of queries of one
 * head against the keys it sees, in partitions of 128 logical keys. What a score
 * is and where a value lies is the form's own. */
#ifndef TS_OP_SPLIT128_H
#define TS_OP_SPLIT128_H

#include <stdint.h>
#include "num/real.h"
#include "seen.h"

enum { TS_SPLIT_KEYS = 128 };

typedef struct {
    const void *args; /* of the operation, handed on to score and value */
    int64_t t, h;     /* row and query head */
    ts_seen seen;
    int64_t D; /* channels of a value */
    ts_real (*exp)(ts_real);
    /* s_j, scaled */
    ts_real (*score)(const void *args, int64_t t, int64_t h, int64_t j);
    /* v[c] = channel c0 + c of the value of key j, c < n <= 32 */
    void (*value)(const void *args, int64_t h, int64_t j, int64_t c0, int64_t n, ts_real *v);
} ts_split_row;

/* One partition's record (m, l, acc[D]); without a key (-inf, 0, +0). */
void ts_split_partial(const ts_split_row *r, int64_t p, ts_real *m, ts_real *l, ts_real *acc);

/* What a row gives: o [D]; where not NULL the records m, l [parts], acc [parts,D], and the merge's M and L. */
typedef struct {
    ts_real *o, *m, *l, *acc, *M, *L;
} ts_split_out;

/* All partitions merged: o is +0 without a key, and then M = -inf, L = 0. */
void ts_split_attend(const ts_split_row *r, int64_t parts, const ts_split_out *out);

/* The merge alone, of records m, l [parts], acc [parts,D]; writes out's o, M and L. */
void ts_split_merge(int64_t parts, int64_t D, const ts_real *m, const ts_real *l, const ts_real *acc,
                    const ts_split_out *out);

/* Row i of arrays [rows, ...] of a whole call. */
ts_split_out ts_split_at(const ts_split_out *all, int64_t i, int64_t parts, int64_t D);

#endif
