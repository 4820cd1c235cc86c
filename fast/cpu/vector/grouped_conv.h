/* The body of grouped_conv.c of every isa, whose header comes first. A group's deltas are one number a tap: a group
 * at a time, its channels VEC at a time. */

/* What the kernels of row t are made of: taps are C apart in base and G apart in delta. */
typedef struct {
    int64_t C, G, taps; /* taps: those whose row is in the block */
    const float *base, *delta, *x;
    float *y;
} row;

/* n channels from c on, all in group g. */
static inline void channels(const row *r, int64_t g, int64_t c, int64_t n)
{
    const vmask m = v_first(n);
    vec y = v_mul(v_add(v_load_some(r->base + c, m), v_all(r->delta[g])), v_load_some(r->x + c, m));
    for (int64_t w = 1; w < r->taps; w++) {
        vec k = v_add(v_load_some(r->base + w * r->C + c, m), v_all(r->delta[w * r->G + g]));
        y = v_add(y, v_mul(k, v_load_some(r->x - w * r->C + c, m)));
    }
    v_store_some(r->y + c, m, y);
}

static row row_of(const ts_grouped_conv_args *a, int64_t t)
{
    const int64_t G = a->C / a->group, old = t % a->block;
    return (row){.C = a->C,
                 .G = G,
                 .taps = old < a->W ? old + 1 : a->W,
                 .base = a->base + a->side * a->W * a->C,
                 .delta = a->delta + (2 * t + a->side) * a->W * G,
                 .x = a->x + t * a->C,
                 .y = a->y + t * a->C};
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_grouped_conv_args *a = args;
    for (int64_t t = begin; t < end; t++) {
        const row r = row_of(a, t);
        for (int64_t g = 0; g < r.G; g++)
            for (int64_t c = 0; c < a->group; c += VEC)
                channels(&r, g, g * a->group + c, a->group - c);
    }
}
