#include "op.h"

/* gdn_chunk with chunks of 64, whatever a->chunk says: what engines run most, and profile ts-chunk64. */
void ts_gdn_chunk64(const ts_gdn_args *a)
{
    ts_gdn_args b = *a;
    b.chunk = 64;
    ts_gdn_chunk(&b);
}
