/* A round from JSON: every member is checked, and none is ignored. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "round.h"

typedef struct {
    const char *where;
    const cJSON *o;
    ts_error *err;
} reader;

static ts_status check_members(const reader *in)
{
    static const char *const known[] = {"schema",         "prompt",       "n",         "anchor",  "k",
                                        "draft",          "q_d",          "p_d",       "u",       "a",
                                        "final",          "final_u",      "cand",      "score",   "top",
                                        "min_margin",     "min_slack",    "emitted",   "hash",    "q_d_hex",
                                        "p_d_hex",        "u_hex",        "score_hex", "top_hex", "final_u_hex",
                                        "min_margin_hex", "min_slack_hex"};
    if (!cJSON_IsObject(in->o))
        return ts_fail(in->err, TS_BAD, in->where, NULL, "is no JSON object");
    for (const cJSON *m = in->o->child; m; m = m->next) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i], m->string) != 0)
            i++;
        if (i == sizeof known / sizeof *known)
            return ts_fail(in->err, TS_BAD, in->where, m->string, "is no member of a round");
    }
    return TS_OK;
}

static const cJSON *find(const reader *in, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(in->o, key);
}

static ts_status read_int(const reader *in, const char *key, int64_t lo, int64_t hi, int64_t *out)
{
    return ts_json_int(in->where, in->o, key, lo, hi, out, in->err);
}

/* An array of lo..hi entries. */
static ts_status check_array(const reader *in, const char *key, const cJSON *array, int lo, int hi)
{
    if (!cJSON_IsArray(array))
        return ts_fail(in->err, TS_BAD, in->where, key, "is %s", array ? "no array" : "missing");
    int n = cJSON_GetArraySize(array);
    if (n >= lo && n <= hi)
        return TS_OK;
    return lo == hi ? ts_fail(in->err, TS_BAD, in->where, key, "has %d entries, not %d", n, lo)
                    : ts_fail(in->err, TS_BAD, in->where, key, "has %d entries, not %d to %d", n, lo, hi);
}

static ts_status read_ids(const reader *in, const char *key, const cJSON *array, int lo, int hi, int32_t *out)
{
    ts_status status = check_array(in, key, array, lo, hi);
    const cJSON *x;
    if (status != TS_OK)
        return status;
    cJSON_ArrayForEach (x, array) {
        double id = cJSON_IsNumber(x) ? x->valuedouble : -1.0;
        if (!(id >= 0.0 && id <= INT32_MAX) || floor(id) != id)
            return ts_fail(in->err, TS_BAD, in->where, key, "an entry is no token id");
        *out++ = (int32_t)id;
    }
    return TS_OK;
}

/* 16 hex digits that are the bits of x. */
static bool is_bits(const cJSON *hex, double x)
{
    uint64_t u;
    char text[17];
    memcpy(&u, &x, sizeof u);
    snprintf(text, sizeof text, "%016" PRIx64, u);
    return cJSON_IsString(hex) && strcmp(hex->valuestring, text) == 0;
}

static ts_status check_number(const reader *in, const char *key, const cJSON *x, double lo, double hi)
{
    if (!cJSON_IsNumber(x) || !isfinite(x->valuedouble))
        return ts_fail(in->err, TS_BAD, in->where, key, "has what is no number");
    if (x->valuedouble < lo || x->valuedouble > hi)
        return ts_fail(in->err, TS_BAD, in->where, key, "%.17g is outside its range", x->valuedouble);
    return TS_OK;
}

/* The numbers of `array`; hex (may be NULL) must have the bits of each. */
static ts_status read_row(const reader *in, const char *key, const cJSON *array, const cJSON *hex, int n, double lo,
                          double hi, double *out)
{
    ts_status status = check_array(in, key, array, n, n);
    if (status == TS_OK && hex)
        status = check_array(in, key, hex, n, n);
    const cJSON *bits = hex ? hex->child : NULL, *x;
    if (status != TS_OK)
        return status;
    cJSON_ArrayForEach (x, array) {
        status = check_number(in, key, x, lo, hi);
        if (status != TS_OK)
            return status;
        if (hex && !is_bits(bits, x->valuedouble))
            return ts_fail(in->err, TS_BAD, in->where, key, "its bits are not those of %.17g", x->valuedouble);
        bits = hex ? bits->next : NULL;
        *out++ = x->valuedouble;
    }
    return TS_OK;
}

static const cJSON *find_bits(const reader *in, const char *key)
{
    char name[32];
    snprintf(name, sizeof name, "%s_hex", key);
    return find(in, name);
}

/* An array of n numbers, or absent: then *has is false. */
static ts_status read_numbers(const reader *in, const char *key, int n, double hi, double *out, bool *has)
{
    const cJSON *array = find(in, key), *hex = find_bits(in, key);
    *has = array != NULL;
    if (!array && hex)
        return ts_fail(in->err, TS_BAD, in->where, key, "is missing beside its bits");
    return array ? read_row(in, key, array, hex, n, 0.0, hi, out) : TS_OK;
}

/* k arrays of n numbers. */
static ts_status read_rows(const reader *in, const char *key, int k, int stride, int n, double *out, bool *has)
{
    const cJSON *array = find(in, key), *hex = find_bits(in, key);
    *has = array != NULL;
    if (!array)
        return hex ? ts_fail(in->err, TS_BAD, in->where, key, "is missing beside its bits") : TS_OK;
    ts_status status = check_array(in, key, array, k, k);
    if (status == TS_OK && hex)
        status = check_array(in, key, hex, k, k);
    for (int i = 0; status == TS_OK && i < k; i++)
        status = read_row(in, key, cJSON_GetArrayItem(array, i), hex ? cJSON_GetArrayItem(hex, i) : NULL, n,
                          -DBL_MAX, DBL_MAX, out + i * stride);
    return status;
}

static ts_status read_scalar(const reader *in, const char *key, double hi, double *out, bool *has)
{
    const cJSON *x = find(in, key), *hex = find_bits(in, key);
    *has = x != NULL;
    if (!x)
        return hex ? ts_fail(in->err, TS_BAD, in->where, key, "is missing beside its bits") : TS_OK;
    ts_status status = check_number(in, key, x, 0.0, hi);
    if (status == TS_OK && hex && !is_bits(hex, x->valuedouble))
        status = ts_fail(in->err, TS_BAD, in->where, key, "its bits are not those of %.17g", x->valuedouble);
    *out = x->valuedouble;
    return status;
}

/* It will be printed: a terminal must not take it for a command. */
ts_status ts_round_name(const char *where, const char *name, ts_round *out, ts_error *err)
{
    if (strlen(name) >= sizeof out->prompt)
        return ts_fail(err, TS_BAD, where, "prompt", "a name of more than %d bytes", TS_ROUND_NAME - 1);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return ts_fail(err, TS_BAD, where, "prompt", "has a control character");
    memcpy(out->prompt, name, strlen(name) + 1);
    return TS_OK;
}

static ts_status read_head(const reader *in, bool need_schema, ts_round *out)
{
    int64_t schema = TS_ROUND_SCHEMA, anchor = 0;
    const char *prompt = "";
    ts_status status = TS_OK;
    if (need_schema || find(in, "schema"))
        status = read_int(in, "schema", TS_ROUND_SCHEMA, TS_ROUND_SCHEMA, &schema);
    if (status == TS_OK && find(in, "prompt"))
        status = ts_json_string(in->where, in->o, "prompt", &prompt, in->err);
    if (status == TS_OK)
        status = ts_round_name(in->where, prompt, out, in->err);
    if (status == TS_OK)
        status = read_int(in, "n", 0, (int64_t)1 << 52, &out->n);
    if (status == TS_OK)
        status = read_int(in, "anchor", 0, INT32_MAX, &anchor);
    out->anchor = (int32_t)anchor;
    return status;
}

static ts_status read_outcome(const reader *in, ts_round *out)
{
    int64_t k = 0, a = 0, final = 0;
    const cJSON *draft = find(in, "draft");
    ts_status status = read_ids(in, "draft", draft, 0, TS_MAX_DRAFT, out->draft);
    if (status != TS_OK)
        return status;
    out->k = cJSON_GetArraySize(draft);
    if (find(in, "k"))
        status = read_int(in, "k", out->k, out->k, &k);
    if (status == TS_OK)
        status = read_int(in, "a", 0, out->k, &a);
    if (status == TS_OK)
        status = read_int(in, "final", 0, INT32_MAX, &final);
    out->a = (int)a;
    out->final = (int32_t) final;
    return status;
}

/* u and p_d have an entry for every tested draft: up to the first that was not kept, or, for block, all. */
static ts_status read_judgement(const reader *in, ts_round *out)
{
    static const double below_1 = 1.0 - 0x1p-53;
    const cJSON *u = find(in, "u");
    int least = out->a < out->k ? out->a + 1 : out->k;
    bool has_u, has_p_d, has;
    ts_status status = u ? check_array(in, "u", u, least, out->k) : TS_OK;
    out->tested = u && status == TS_OK ? cJSON_GetArraySize(u) : 0;
    if (status == TS_OK && out->tested != 0 && out->tested != least && out->tested != out->k)
        status = ts_fail(in->err, TS_BAD, in->where, "u", "has %d entries, not %d or %d", out->tested, least,
                         out->k);
    if (status == TS_OK)
        status = read_numbers(in, "u", out->tested, below_1, out->u, &has_u);
    if (status == TS_OK)
        status = read_numbers(in, "p_d", out->tested, 1.0, out->p_d, &has_p_d);
    if (status == TS_OK && has_u != has_p_d)
        status = ts_fail(in->err, TS_BAD, in->where, has_u ? "p_d" : "u", "is missing");
    if (status == TS_OK)
        status = read_numbers(in, "q_d", out->k, 1.0, out->q_d, &out->has_q_d);
    if (status == TS_OK)
        status = read_scalar(in, "final_u", below_1, &out->final_u, &out->has_final_u);
    if (status == TS_OK)
        status = read_scalar(in, "min_margin", DBL_MAX, &out->min_margin, &has);
    if (status == TS_OK)
        status = read_scalar(in, "min_slack", 1.0, &out->min_slack, &has);
    return status;
}

static ts_status read_candidates(const reader *in, ts_round *out)
{
    const cJSON *cand = find(in, "cand");
    ts_status status = cand ? check_array(in, "cand", cand, out->k, out->k) : TS_OK;
    if (status == TS_OK && cand && out->k > 0) {
        status = check_array(in, "cand", cand->child, 1, TS_MAX_SLOTS);
        out->slots = status ? 0 : cJSON_GetArraySize(cand->child);
    }
    for (int i = 0; status == TS_OK && out->slots > 0 && i < out->k; i++)
        status = read_ids(in, "cand", cJSON_GetArrayItem(cand, i), out->slots, out->slots, out->cand[i]);
    if (status == TS_OK)
        status = read_rows(in, "score", out->k, TS_MAX_SLOTS, out->slots, out->score[0], &out->has_score);
    if (status == TS_OK && out->has_score && !cand)
        status = ts_fail(in->err, TS_BAD, in->where, "cand", "is missing beside score");
    out->has_score = out->has_score && out->slots > 0;
    if (status == TS_OK)
        status = read_rows(in, "top", out->k, TS_ROUND_TOP, TS_ROUND_TOP, out->top[0], &out->has_top);
    return status;
}

static ts_status read_emitted(const reader *in, ts_round *out)
{
    const cJSON *emitted = find(in, "emitted");
    int32_t all[TS_MAX_DRAFT + 1];
    memcpy(all, out->draft, (size_t)out->a * sizeof *all);
    all[out->a] = out->final;
    out->n_emitted = out->a + 1;
    memcpy(out->emitted, all, (size_t)out->n_emitted * sizeof *all);
    if (!emitted)
        return TS_OK;
    ts_status status = read_ids(in, "emitted", emitted, 0, out->a + 1, out->emitted);
    if (status != TS_OK)
        return status;
    out->n_emitted = cJSON_GetArraySize(emitted);
    if (memcmp(out->emitted, all, (size_t)out->n_emitted * sizeof *all) != 0)
        return ts_fail(in->err, TS_BAD, in->where, "emitted", "is not how d_1..d_a and final begin");
    return TS_OK;
}

static ts_status read_hash(const reader *in, const cJSON *x, ts_round *out)
{
    const struct {
        const char *key;
        char *to;
    } kinds[] = {{"S", out->hash_S}, {"conv", out->hash_conv}, {"kv", out->hash_kv}, {"ctx", out->hash_ctx}};
    size_t i = 0;
    while (i < 4 && strcmp(x->string, kinds[i].key) != 0)
        i++;
    if (i == 4)
        return ts_fail(in->err, TS_BAD, in->where, "hash", "'%.40s' is not S, conv, kv or ctx", x->string);
    const char *hex = cJSON_IsString(x) ? x->valuestring : "";
    if (strlen(hex) != TS_SHA256_HEX - 1 || strspn(hex, "0123456789abcdef") != TS_SHA256_HEX - 1)
        return ts_fail(in->err, TS_BAD, in->where, "hash", "%s is no sha256", x->string);
    memcpy(kinds[i].to, hex, TS_SHA256_HEX);
    return TS_OK;
}

static ts_status read_hashes(const reader *in, ts_round *out)
{
    const cJSON *hash = find(in, "hash"), *x;
    ts_status status = TS_OK;
    if (hash && !cJSON_IsObject(hash))
        return ts_fail(in->err, TS_BAD, in->where, "hash", "is no object");
    cJSON_ArrayForEach (x, hash)
        status = status ? status : read_hash(in, x, out);
    return status;
}

ts_status ts_round_parse(const char *where, const cJSON *o, bool need_schema, ts_round *out, ts_error *err)
{
    reader in = {where, o, err};
    *out = (ts_round){.min_margin = (double)INFINITY, .min_slack = (double)INFINITY};
    ts_status status = check_members(&in);
    if (status == TS_OK)
        status = read_head(&in, need_schema, out);
    if (status == TS_OK)
        status = read_outcome(&in, out);
    if (status == TS_OK)
        status = read_judgement(&in, out);
    if (status == TS_OK)
        status = read_candidates(&in, out);
    if (status == TS_OK)
        status = read_emitted(&in, out);
    if (status == TS_OK)
        status = read_hashes(&in, out);
    return status;
}
