#include "check/external.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*run)(ts_check *k, const ts_case *c);
} checks[] = {
    {"trace", ts_external_trace},         {"nll", ts_external_nll},
    {"sample", ts_external_sample},       {"sampler", ts_external_sampler},
    {"tokenizer", ts_external_tokenizer}, {"delta_rule", ts_external_delta_rule},
    {"attention", ts_external_attention}, {"mlx", ts_external_mlx},
    {"blocks", ts_external_blocks},       {"w4a8", ts_external_w4a8},
    {"dgemm", ts_external_dgemm},         {"peer", ts_external_peer},
    {"w8a8", ts_external_w8a8},           {"rounds", ts_external_rounds},
};

void ts_check_external_case(ts_check *k, ts_case *c)
{
    const char *name = ts_case_string(c, "check");
    for (size_t i = 0; name && i < sizeof checks / sizeof *checks; i++)
        if (strcmp(name, checks[i].name) == 0) {
            char group[24];
            snprintf(group, sizeof group, "outside %s", name);
            ts_report_begin(k->report, group, c->name);
            size_t before = k->report->n;
            checks[i].run(k, c);
            if (k->report->n == before)
                ts_report_add(k->report, name, "", TS_FAIL, 0,
                              "the golden was read but nothing in it was compared\n");
            return;
        }
    ts_report_begin(k->report, "external", c->name);
    ts_report_add(k->report, "case", "check", TS_FAIL, 0, "no such check\n");
}

ts_status ts_external_open(ts_check *k, const ts_case *c, const char *key, ts_safetensors **out, ts_error *err)
{
    char path[512];
    const char *name = ts_case_string(c, key);
    if (!name)
        return ts_fail(err, TS_BAD, c->path, key, "missing");
    ts_check_path(k, name, path, sizeof path);
    return ts_safetensors_open(path, out, err);
}

ts_status ts_external_tensor(const ts_safetensors *f, const char *name, ts_dtype dtype, const ts_tensor **out,
                             ts_error *err)
{
    *out = ts_safetensors_find(f, name);
    if (!*out || (*out)->dtype != dtype)
        return ts_fail(err, TS_BAD, ts_safetensors_path(f), name, *out ? "not of dtype %s" : "missing (%s)",
                       ts_dtype_table[dtype].name);
    return TS_OK;
}

void *ts_external_copy(const ts_tensor *t)
{
    void *copy = malloc(t->size + 1);
    if (copy)
        memcpy(copy, t->data, t->size);
    return copy;
}
