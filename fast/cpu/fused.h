/* Fused operations as blocks of columns: what a matmul gives for a block is used at once, while it is in the
 * nearest cache. The parts are schedules of the single operations, so the bits are theirs. */
#ifndef TS_FAST_CPU_FUSED_H
#define TS_FAST_CPU_FUSED_H

#include "schedule.h"

/* With more rows, a matmul of its own makes better use of each weight it reads. */
enum { TS_FUSED_ROWS = 8 };

typedef struct {
    const ts_schedule *const *matmul; /* of matmul_a64s8, NULL behind the last: the first that accepts is used */
    const ts_schedule *next;          /* swiglu or conv1d */
} ts_fused;

void ts_fused_gate_up(const ts_fused *f, const ts_gate_up_a64s8_args *a, int64_t begin, int64_t end);
void ts_fused_qkv_conv(const ts_fused *f, const ts_qkv_conv_a64s8_args *a, int64_t begin, int64_t end);

#endif
