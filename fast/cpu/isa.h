/* What this CPU can run. An isa is a set of instructions with a folder of schedules:
 *   avx2     AVX2 and FMA (2013)
 *   avx512   these and AVX-512 F, BW, DQ, VL, VNNI and GFNI (2019)
 *   neon     Advanced SIMD with the dot product (Armv8.2)
 * The environment variable TS_CPU caps it: portable, avx2, avx512 or neon. */
#ifndef TS_FAST_CPU_ISA_H
#define TS_FAST_CPU_ISA_H

#include "cpu/probe.h"
#include "schedule.h"

typedef struct {
    const char *name;
    bool (*present)(void);
    const ts_schedule *const *schedules; /* NULL behind the last */
    const ts_probe *probe;               /* NULL: bench uses the portable one */
} ts_isa;

/* Those of the architecture this was built for, best first; name NULL behind the last. One file per architecture.
 */
extern const ts_isa ts_isas[];

/* May schedules of that isa run? NULL: always. */
bool ts_isa_runs(const char *isa);
/* TS_USAGE: TS_CPU names none, or one that this CPU lacks. */
ts_status ts_isa_check(ts_error *err);

#endif
