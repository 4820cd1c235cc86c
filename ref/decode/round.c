#include "round.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void ts_round_of(const ts_verify_input *in, const ts_round_verdict *v, int32_t anchor, ts_round *out)
{
    size_t k = (size_t)in->k, tested = (size_t)v->tested, a = (size_t)v->a;
    *out = (ts_round){.n = (int64_t)in->n,
                      .anchor = anchor,
                      .k = in->k,
                      .tested = v->tested,
                      .has_q_d = v->drawn,
                      .has_final_u = v->drawn,
                      .a = v->a,
                      .final = v->final,
                      .final_u = v->final_u,
                      .min_margin = v->min_margin,
                      .min_slack = v->min_slack,
                      .n_emitted = v->a + 1};
    for (size_t i = 0; i < k; i++)
        out->draft[i] = in->draft[i];
    memcpy(out->q_d, v->q_d, k * sizeof *v->q_d);
    memcpy(out->u, v->u, tested * sizeof *v->u);
    memcpy(out->p_d, v->p_d, tested * sizeof *v->p_d);
    memcpy(out->emitted, out->draft, a * sizeof *out->emitted);
    out->emitted[a] = v->final;
}

static cJSON *bits(double x)
{
    char hex[17];
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    snprintf(hex, sizeof hex, "%016" PRIx64, u);
    return cJSON_CreateString(hex);
}

/* Digits enough for every bit: cJSON stops at 15 when these are within an epsilon. */
static cJSON *number(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", x);
    return cJSON_CreateRaw(text);
}

/* KEY and KEY_hex. */
static void name_of_bits(const char *key, char name[32])
{
    snprintf(name, 32, "%s_hex", key);
}

static void add_number(cJSON *o, const char *key, double x)
{
    char hex[32];
    name_of_bits(key, hex);
    cJSON_AddItemToObject(o, key, number(x));
    cJSON_AddItemToObject(o, hex, bits(x));
}

static cJSON *row(const double *x, int n, cJSON *(*as)(double))
{
    cJSON *array = cJSON_CreateArray();
    for (int i = 0; i < n; i++)
        cJSON_AddItemToArray(array, as(x[i]));
    return array;
}

static void add_numbers(cJSON *o, const char *key, const double *x, int n)
{
    char hex[32];
    name_of_bits(key, hex);
    cJSON_AddItemToObject(o, key, row(x, n, number));
    cJSON_AddItemToObject(o, hex, row(x, n, bits));
}

/* k rows of n, `stride` apart. */
static cJSON *rows(const double *x, int k, int stride, int n, cJSON *(*as)(double))
{
    cJSON *array = cJSON_CreateArray();
    for (int i = 0; i < k; i++)
        cJSON_AddItemToArray(array, row(x + i * stride, n, as));
    return array;
}

static void add_rows(cJSON *o, const char *key, const double *x, int k, int stride, int n)
{
    char hex[32];
    name_of_bits(key, hex);
    cJSON_AddItemToObject(o, key, rows(x, k, stride, n, number));
    cJSON_AddItemToObject(o, hex, rows(x, k, stride, n, bits));
}

static cJSON *ids(const int32_t *id, int n)
{
    cJSON *array = cJSON_CreateArray();
    for (int i = 0; i < n; i++)
        cJSON_AddItemToArray(array, cJSON_CreateNumber(id[i]));
    return array;
}

static void add_candidates(cJSON *o, const ts_round *r)
{
    if (r->slots > 0) {
        cJSON *cand = cJSON_AddArrayToObject(o, "cand");
        for (int i = 0; i < r->k; i++)
            cJSON_AddItemToArray(cand, ids(r->cand[i], r->slots));
    }
    if (r->slots > 0 && r->has_score)
        add_rows(o, "score", r->score[0], r->k, TS_MAX_SLOTS, r->slots);
    if (r->has_top)
        add_rows(o, "top", r->top[0], r->k, TS_ROUND_TOP, TS_ROUND_TOP);
}

static void add_hash(cJSON *o, const char *key, const char *hex)
{
    if (hex[0])
        cJSON_AddStringToObject(o, key, hex);
}

static void add_hashes(cJSON *o, const ts_round *r)
{
    if (!r->hash_S[0] && !r->hash_conv[0] && !r->hash_kv[0] && !r->hash_ctx[0])
        return;
    cJSON *h = cJSON_AddObjectToObject(o, "hash");
    add_hash(h, "S", r->hash_S);
    add_hash(h, "conv", r->hash_conv);
    add_hash(h, "kv", r->hash_kv);
    add_hash(h, "ctx", r->hash_ctx);
}

static void add_judgement(cJSON *o, const ts_round *r)
{
    if (r->has_q_d)
        add_numbers(o, "q_d", r->q_d, r->k);
    if (r->tested > 0) {
        add_numbers(o, "p_d", r->p_d, r->tested);
        add_numbers(o, "u", r->u, r->tested);
    }
    cJSON_AddNumberToObject(o, "a", r->a);
    cJSON_AddNumberToObject(o, "final", r->final);
    if (r->has_final_u)
        add_number(o, "final_u", r->final_u);
    if (isfinite(r->min_margin))
        add_number(o, "min_margin", r->min_margin);
    if (isfinite(r->min_slack))
        add_number(o, "min_slack", r->min_slack);
}

cJSON *ts_round_json(const ts_round *r)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "schema", TS_ROUND_SCHEMA);
    if (r->prompt[0])
        cJSON_AddStringToObject(o, "prompt", r->prompt);
    cJSON_AddNumberToObject(o, "n", (double)r->n);
    cJSON_AddNumberToObject(o, "anchor", r->anchor);
    cJSON_AddNumberToObject(o, "k", r->k);
    cJSON_AddItemToObject(o, "draft", ids(r->draft, r->k));
    add_judgement(o, r);
    add_candidates(o, r);
    cJSON_AddItemToObject(o, "emitted", ids(r->emitted, r->n_emitted));
    add_hashes(o, r);
    return o;
}

ts_status ts_round_write(FILE *f, const char *file, const ts_round *r, ts_error *err)
{
    cJSON *o = ts_round_json(r);
    char *text = o ? cJSON_PrintUnformatted(o) : NULL;
    cJSON_Delete(o);
    if (!text)
        return ts_no_memory(err, sizeof *r);
    bool written = fputs(text, f) >= 0 && fputc('\n', f) != EOF;
    cJSON_free(text);
    return written ? TS_OK : ts_fail(err, TS_BAD, file, NULL, "cannot be written");
}
