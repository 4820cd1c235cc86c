/* The schedule registry. A schedule is one way to compute one operation; it
 * must give the bits of its declared order. Adding one is one file and one line:
 * in fast/registry.c if it runs everywhere, in fast/cpu/ISA/schedules.c if it
 * needs an isa; those come first, as far as this CPU and TS_CPU allow. check and
 * the engine find it there. docs/schedules.md shows how, with a packing of the
 * weights, and how to keep one outside the tree. A change of this struct, or of
 * one in case/args.h, counts TS_PLUGIN_VERSION up (tools/plugin_abi.h). */
#ifndef TS_FAST_SCHEDULE_H
#define TS_FAST_SCHEDULE_H

#include <stdbool.h>
#include <string.h>
#include "case/op.h"
#include "num/status.h"

/* A layout of a weight matrix made once, at load, for the schedules that name it. */
typedef struct ts_packing {
    const char *name;                   /* with a version: copies on disk are found by it */
    int64_t rows;                       /* of the matrix in one panel; the last panel may have fewer */
    size_t (*size)(const ts_matrix *w); /* bytes of a panel, a multiple of 64; 0: not for this matrix */
    /* Fills in panels begin <= i < end of `to`, which is 64-byte aligned. Disjoint ranges may run at once. */
    void (*pack)(const ts_matrix *w, int64_t begin, int64_t end, void *to);
} ts_packing;

typedef struct ts_schedule {
    const char *name; /* e.g. "rmsnorm.portable" */
    ts_op_id op;
    const char *backend;               /* "cpu" */
    const char *shapes;                /* shape class: "any", "M1", "M8", ... */
    const char *order;                 /* must equal the operation's */
    const char *profile;               /* "any", or the only profile that may use it */
    const char *exposes;               /* inner tensors it still yields, comma separated, "" if none */
    bool (*accepts)(const void *args); /* NULL: every shape */
    /* Computes the independent outputs begin <= unit < end (see ts_op.units). Units are row-major:
     * "T*Hq" means unit = t*Hq + h. Calls for disjoint ranges may run at the same time. */
    void (*run)(const void *args, int64_t begin, int64_t end);
    const char *isa; /* what the CPU must have (fast/cpu/isa.h); NULL: nothing */
    const ts_packing
        *packing; /* accepts is asked about matrices packed so; NULL: reads them as they lie in the file */
} ts_schedule;

/* May that profile use it? */
static inline bool ts_schedule_serves(const ts_schedule *s, const char *profile)
{
    return strcmp(s->profile, "any") == 0 || strcmp(s->profile, profile) == 0;
}

/* The i-th registered schedule that can run here, or NULL past the last. The engine takes the first that accepts.
 */
const ts_schedule *ts_schedule_at(int i);
/* The i-th that cannot, for lack of its isa or because TS_CPU forbids it. */
const ts_schedule *ts_schedule_absent(int i);
/* By name, of those that can run here. */
const ts_schedule *ts_schedule_find(const char *name);
const ts_schedule *ts_schedule_pick(ts_op_id op, const char *profile, const void *args);
bool ts_schedule_exposes(const ts_schedule *s, const char *tensor);

/* Packs m for the first schedule of op that has a packing for it; does nothing if none has. The copy stays with m
 * until ts_matrix_unpack. */
ts_status ts_matrix_pack(ts_matrix *m, ts_op_id op, const char *profile, int threads, ts_error *err);
/* The same for one packing; p may be NULL, or not be for this matrix: then m is left without one. */
ts_status ts_matrix_pack_as(ts_matrix *m, const ts_packing *p, int threads, ts_error *err);
void ts_matrix_unpack(ts_matrix *m);
/* Rows first .. of m, n of them, packed copy included: first is a multiple of the packing's rows. */
ts_matrix ts_packed_rows(const ts_matrix *m, int64_t first, int64_t n);
/* Bytes of all panels; 0 if p is not for this matrix. */
size_t ts_packing_bytes(const ts_packing *p, const ts_matrix *m);

/* Runs a schedule over all its units on `threads` threads (static cut into equal ranges). */
void ts_schedule_run(const ts_schedule *s, const void *args, int threads);

#endif
