#include "inputs.h"

#include <stdlib.h>

#include "num/convert.h"

ts_status ts_inputs_open(const char *path, ts_inputs *in, ts_error *err)
{
    *in = (ts_inputs){.path = path};
    ts_status status = ts_safetensors_open(path, &in->file, err);
    if (status)
        return status;
    size_t n = ts_safetensors_count(in->file);
    in->asked = calloc(n + 1, sizeof *in->asked);
    return in->asked ? TS_OK : ts_no_memory(err, n);
}

void ts_inputs_close(ts_inputs *in)
{
    ts_safetensors_close(in->file);
    free(in->asked);
}

const ts_tensor *ts_inputs_find(ts_inputs *in, const char *name)
{
    const ts_tensor *t = ts_safetensors_find(in->file, name);
    if (t)
        in->asked[t - ts_safetensors_at(in->file, 0)] = true;
    return t;
}

ts_status ts_inputs_real(const ts_inputs *in, const ts_tensor *t, ts_real_as as, void *out, ts_error *err)
{
    if (t->dtype != TS_F32 && t->dtype != TS_BF16 && t->dtype != TS_F16 && t->dtype != TS_F64)
        return ts_fail(err, TS_BAD, in->path, t->name, "dtype %s; F32, BF16, F16 and F64 are read",
                       ts_dtype_table[t->dtype].name);
    int64_t n = ts_tensor_count(t);
    for (int64_t i = 0; i < n && as == TS_AS_F32; i++)
        ((float *)out)[i] = (float)ts_tensor_get(t, i);
    for (int64_t i = 0; i < n && as == TS_AS_F64; i++)
        ((double *)out)[i] = ts_tensor_get(t, i);
    for (int64_t i = 0; i < n && as == TS_AS_F32_IN_F64; i++)
        ((double *)out)[i] = (double)(float)ts_tensor_get(t, i);
    return TS_OK;
}

ts_status ts_inputs_int(const ts_inputs *in, const ts_tensor *t, int64_t lo, int64_t hi, int64_t *out,
                        ts_error *err)
{
    bool integer = t->dtype == TS_I8 || t->dtype == TS_U8 || t->dtype == TS_I16 || t->dtype == TS_I32 ||
                   t->dtype == TS_I64;
    if (!integer)
        return ts_fail(err, TS_BAD, in->path, t->name, "dtype %s; I8, U8, I16, I32 and I64 are read",
                       ts_dtype_table[t->dtype].name);
    for (int64_t i = 0; i < ts_tensor_count(t); i++) {
        double v = ts_tensor_get(t, i);
        if (!(v >= (double)lo && v <= (double)hi))
            return ts_fail(err, TS_BAD, in->path, t->name, "%.0f at element %lld is not in %lld..%lld", v,
                           (long long)i, (long long)lo, (long long)hi);
        out[i] = (int64_t)v;
    }
    return TS_OK;
}

void ts_inputs_narrow(const ts_tensor *t, ts_dtype to, uint16_t *out)
{
    for (int64_t i = 0; i < ts_tensor_count(t); i++) {
        double v = ts_tensor_get(t, i);
        out[i] = to == TS_BF16 ? ts_f64_to_bf16(v) : ts_f64_to_f16(v);
    }
}

ts_status ts_inputs_done(const ts_inputs *in, const char *known, ts_error *err)
{
    for (size_t i = 0; i < ts_safetensors_count(in->file); i++)
        if (!in->asked[i])
            return ts_fail(err, TS_BAD, in->path, ts_safetensors_at(in->file, i)->name, "not a tensor of %s",
                           known);
    return TS_OK;
}
