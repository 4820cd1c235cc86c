/* The body of embed.c of every isa, whose header comes first. */
#include "cpu/vector/widen_row.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_embed_args *a = args;
    for (int64_t t = begin; t < end; t++)
        v_widen_row(a->w, a->id[t], a->y + t * a->C);
}
