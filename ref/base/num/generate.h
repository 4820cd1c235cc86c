/* The input generator: counter based, so element i of field f never depends on
 * what else was generated. Names below are the ones case files use. */
#ifndef TS_NUM_GENERATE_H
#define TS_NUM_GENERATE_H

#include <stdint.h>
#include "num/status.h"

/* Fills y[n] with the values that `spec` names. All are exact in f32.
 *   "normal"            Irwin-Hall sum of 12 uniforms minus 6, rounded to f32
 *   "normal:S"          the same times S (a power of two is exact)
 *   "bf16:S"            normal:S rounded to bf16
 *   "uniform:A:B"       A + (B-A)*u
 *   "const:V"           V
 *   "ladder:V1,V2,..."  element i = V[i mod count]
 *   "ints:A:B"          integers A..B (exact-input cases)
 *   "pow2:A:B"          +-2^e, e in A..B
 *   "index"             element i = i
 *   "special"           a fixed cycle of zeros, -0, subnormals, ties, big and small values, no NaN;
 *                       it starts at entry `stream`, so that two fields differ
 *   "f16all", "bf16all" element i = the 16-bit pattern i mod 65536, widened: infinities and NaNs included
 *   "bf16ties"          the same for the f32 halfway from bf16 pattern i to the next one in magnitude
 *   "onehot:N:S:V"      rows of N: V in column (row + S) mod N, elsewhere 0
 *   "grid:N:A:B"        rows of N: A row + B column, an integer below 2^24 in magnitude
 *   "ulp:V:N"           the cycle V - N ulps .. V + N ulps, 2N+1 neighbours in order
 *   "runs:V"            runs of 16, each of one kind, drawn: zeros, all V, within V/256, the last quarter below V
 *                       in magnitude, V and -V in turn, anything from -V to V
 *   "interleave:A;B"    even elements from generator A, odd ones from B (neither a compound)
 *   "put:I:V:GEN"       generator GEN, but element I is V; V may be nan
 * Unknown spec: TS_BAD naming it. `stream` separates the fields of a case. */
ts_status ts_generate(const char *spec, uint64_t seed, uint32_t stream, float *y, int64_t n, ts_error *err);

/* The cycle of "special", as bit patterns. */
enum { TS_SPECIALS = 31 };
extern const uint32_t ts_generate_special[TS_SPECIALS];

/* Integers lo..hi inclusive. */
void ts_generate_ints(uint64_t seed, uint32_t stream, int32_t lo, int32_t hi, int32_t *y, int64_t n);

#endif
