/* The body of top_slots.c of every isa, whose header comes first. Once all slots are taken, few vectors have a
 * number that is larger than the last slot's, or a NaN: the others are left behind with one comparison. */
#include "cpu/portable/slots.h"

enum { AT_ONCE = 4 };

/* Numbers v .. end-1 one by one. */
static bool some(const float *x, int64_t v, int64_t end, ts_slots *s)
{
    bool number = true;
    for (; v < end && number; v++)
        if (s->kept < s->K || !(x[v] <= ts_slots_least(s)))
            number = ts_slots_take(s, x[v], v);
    return number;
}

static bool none_enters(const float *x, vec least)
{
    bool none = true;
    for (int i = 0; i < AT_ONCE; i++)
        none &= v_every(v_less_equal(v_load(x + i * VEC), least));
    return none;
}

static void row(const float *x, int64_t V, ts_slots *s)
{
    int64_t v = s->K;
    bool number = some(x, 0, v, s);
    for (; v + AT_ONCE * VEC <= V && number; v += AT_ONCE * VEC)
        if (!none_enters(x + v, v_all(ts_slots_least(s))))
            number = some(x, v, v + AT_ONCE * VEC, s);
    if (!number || !some(x, v, V, s))
        ts_slots_spoil(s);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_top_slots_args *a = args;
    for (int64_t t = begin; t < end; t++) {
        ts_slots s = {.K = a->K, .value = a->value + t * a->K, .id = a->id + t * a->K};
        row(a->logits + t * a->V, a->V, &s);
    }
}
