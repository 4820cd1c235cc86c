/* A scratch folder with a file of input tensors and one for what a command writes. */
#ifndef TS_TESTS_TOOLS_INOUT_H
#define TS_TESTS_TOOLS_INOUT_H

#include "base/scratch.h"
#include "format/safetensors.h"

static char in[FOLDER_PATH], out[FOLDER_PATH];

static inline void inout_make(void)
{
    folder_make(&dir);
    folder_file(&dir, "in.safetensors", in);
    folder_file(&dir, "out.safetensors", out);
}

static inline void write_in(const ts_tensor *t, size_t n)
{
    assert_int_equal(ts_safetensors_write(in, t, n, NULL, 0, NULL), TS_OK);
}

/* A tensor under another name; NULL, as a search for `name` gave it, fails the test. */
static inline ts_tensor renamed(const ts_tensor *t, const char *name, const char *as)
{
    if (t == NULL)
        fail_msg("no %s", name);
    ts_tensor y = *t;
    y.name = as;
    return y;
}

static inline ts_tensor floats(const char *name, const float *x, int ndim, int64_t a, int64_t b, int64_t c)
{
    ts_tensor t = {name, TS_F32, ndim, {a, b, c}, x, 0};
    t.size = (size_t)ts_tensor_count(&t) * sizeof *x;
    return t;
}

#endif
