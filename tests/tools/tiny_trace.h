/* What a forward pass of the tiny model computes, to feed single operations with. */
#ifndef TS_TESTS_TOOLS_TINY_TRACE_H
#define TS_TESTS_TOOLS_TINY_TRACE_H

#include "ref.h"

#define TINY "golden/models/tiny-qwen35"

enum { T = 9 };

/* Of ref32, profile ts, from position 0. */
static inline ts_trace *make_trace(const char *model)
{
    static const int32_t ids[T] = {47, 42, 10, 300, 7, 1000, 2047, 5, 99};
    ts_weights *w = NULL;
    ts_ref_model *m = NULL;
    ts_ref_state *s = NULL;
    ts_trace *t = ts_trace_new();
    assert_int_equal(ts_weights_load(model, &w, NULL), TS_OK);
    assert_int_equal(ts_ref32.model_new(w, ts_profile_find("ts"), &m, NULL), TS_OK);
    assert_int_equal(ts_ref32.state_new(m, T, &s, NULL), TS_OK);
    assert_int_equal(ts_ref32.forward(m, s, ids, T, 0, NULL, t, NULL), TS_OK);
    ts_ref32.state_trace(m, s, "", t);
    ts_ref32.state_free(s);
    ts_ref32.model_free(m);
    ts_weights_free(w);
    return t;
}

#endif
