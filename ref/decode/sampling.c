#include "sampling.h"

#include <math.h>
#include <stddef.h>

ts_sampling ts_sampling_default(void)
{
    return (ts_sampling){.temperature = 0.0f, .top_p = 1.0f, .repetition = 1.0f, .window = 64};
}

ts_status ts_sampling_check(const ts_sampling *s, ts_error *err)
{
    if (!isfinite(s->temperature))
        return ts_fail(err, TS_BAD, NULL, "temperature", "must be finite");
    if (s->temperature > 0.0f && isinf(1.0f / s->temperature))
        return ts_fail(err, TS_BAD, NULL, "temperature", "%g is so small that 1/T is infinite",
                       (double)s->temperature);
    if (isnan(s->top_p))
        return ts_fail(err, TS_BAD, NULL, "top_p", "must not be NaN");
    if (isnan(s->min_p) || s->min_p > 1.0f)
        return ts_fail(err, TS_BAD, NULL, "min_p", "must be at most 1, got %g", (double)s->min_p);
    if (!isfinite(s->repetition) || s->repetition <= 0.0f)
        return ts_fail(err, TS_BAD, NULL, "repetition", "must be finite and above 0, got %g",
                       (double)s->repetition);
    if (!isfinite(s->frequency))
        return ts_fail(err, TS_BAD, NULL, "frequency", "must be finite");
    if (!isfinite(s->presence))
        return ts_fail(err, TS_BAD, NULL, "presence", "must be finite");
    if (s->window < 0)
        return ts_fail(err, TS_BAD, NULL, "window", "must not be negative, got %lld", (long long)s->window);
    return TS_OK;
}
