#include "uniforms.h"

#include <stdbool.h>
#include <stddef.h>

#include "num/coef.h"

enum { PURPOSE_BITS = 8 };

uint32_t ts_draw_in_block(uint32_t purpose, int i)
{
    return purpose | (uint32_t)(i - 1) << PURPOSE_BITS;
}

static uint32_t plain(uint32_t purpose)
{
    return purpose & (((uint32_t)1 << PURPOSE_BITS) - 1);
}

static ts_status draw_philox(void *ctx, uint64_t position, uint32_t purpose, double *u, ts_error *err)
{
    (void)err;
    const uint64_t *seed = ctx;
    *u = ts_uniform(*seed, position, purpose);
    return TS_OK;
}

ts_uniforms ts_uniforms_philox(const uint64_t *seed)
{
    return (ts_uniforms){.draw = draw_philox, .ctx = (void *)(uintptr_t)seed};
}

static ts_status check_unit(double u, uint64_t position, ts_error *err)
{
    if (u >= 0.0 && u < 1.0)
        return TS_OK;
    return ts_fail(err, TS_BAD, NULL, "u", "%g for position %llu is outside [0,1)", u,
                   (unsigned long long)position);
}

/* Residual numbers of positions that were accepted are not in a record: they were drawn and never used. */
static ts_status draw_recorded(void *ctx, uint64_t position, uint32_t purpose, double *u, ts_error *err)
{
    const ts_recorded_uniforms *r = ctx;
    purpose = plain(purpose);
    bool tested = position >= r->first && position - r->first < (uint64_t)r->n_u;
    if (tested && (purpose == TS_DRAW_ACCEPT || purpose == TS_DRAW_SAMPLE)) {
        *u = r->u[position - r->first];
        return check_unit(*u, position, err);
    }
    if (purpose == TS_DRAW_ACCEPT)
        return ts_fail(err, TS_BAD, NULL, "u", "position %llu was not tested in the record",
                       (unsigned long long)position);
    if (purpose == TS_DRAW_DRAFT || !r->final_u)
        return ts_fail(err, TS_BAD, NULL, purpose == TS_DRAW_DRAFT ? "draft" : "final_u",
                       "the number of position %llu is not in the record", (unsigned long long)position);
    *u = *r->final_u;
    return check_unit(*u, position, err);
}

ts_uniforms ts_uniforms_recorded(ts_recorded_uniforms *record)
{
    return (ts_uniforms){.draw = draw_recorded, .ctx = record};
}

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014): Weyl step, then the mix. */
static uint64_t splitmix64(uint64_t *state)
{
    *state += ts_coef_splitmix[0];
    uint64_t z = *state;
    z = (z ^ z >> 30) * ts_coef_splitmix[1];
    z = (z ^ z >> 27) * ts_coef_splitmix[2];
    return z ^ z >> 31;
}

ts_lse_streams ts_lse_streams_of(uint64_t seed)
{
    ts_lse_streams s = {seed ^ ts_coef_lse_salt[0], seed ^ ts_coef_lse_salt[1], seed ^ ts_coef_lse_salt[2]};
    splitmix64(&s.draft);
    splitmix64(&s.accept);
    splitmix64(&s.residual);
    return s;
}

/* ((x >> 12) + 0.5) * 2^-52: inside (0,1). */
static ts_status draw_lse(void *ctx, uint64_t position, uint32_t purpose, double *u, ts_error *err)
{
    ts_lse_streams *s = ctx;
    (void)position;
    (void)err;
    purpose = plain(purpose);
    uint64_t *state = purpose == TS_DRAW_DRAFT ? &s->draft : purpose == TS_DRAW_ACCEPT ? &s->accept : &s->residual;
    *u = ((double)(splitmix64(state) >> 12) + 0.5) * 0x1p-52;
    return TS_OK;
}

ts_uniforms ts_uniforms_lse(ts_lse_streams *streams)
{
    return (ts_uniforms){.draw = draw_lse, .ctx = streams};
}
