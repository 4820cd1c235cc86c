/* The sampler and the tokenizer against their goldens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/external.h"
#include "format/json.h"
#include "format/tokenizer.h"
#include "num/convert.h"
#include "sample.h"

static const cJSON *get(const cJSON *o, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

static uint64_t hex(const cJSON *s)
{
    return cJSON_IsString(s) ? strtoull(s->valuestring, NULL, 16) : 0;
}

static float f32_of(const cJSON *one, const char *key)
{
    return ts_float((uint32_t)hex(get(one, key)));
}

static int64_t int_of(const cJSON *one, const char *key)
{
    const cJSON *x = get(one, key);
    return x ? (int64_t)x->valuedouble : 0;
}

static ts_sampling sampling_of(const cJSON *one)
{
    return (ts_sampling){.temperature = f32_of(one, "temperature_hex"),
                         .top_k = int_of(one, "top_k"),
                         .top_p = f32_of(one, "top_p_hex"),
                         .min_p = f32_of(one, "min_p_hex"),
                         .repetition = f32_of(one, "repetition_hex"),
                         .frequency = f32_of(one, "frequency_hex"),
                         .presence = f32_of(one, "presence_hex"),
                         .window = int_of(one, "window"),
                         .seed = hex(get(one, "seed_hex"))};
}

/* Our reasons start with the golden's words: "nan", "+inf" or "all -inf". */
static bool same_error(const cJSON *error, const ts_error *err)
{
    const char *want = cJSON_GetStringValue(error);
    return want && *want && strncmp(err->reason, want, strlen(want)) == 0;
}

/* The golden token, or the error the golden expects. */
static void compare_token(ts_check *k, const char *name, ts_status s, const ts_sample *got, const cJSON *result,
                          const ts_error *err)
{
    const cJSON *token = get(result, "token"), *error = get(result, "error");
    bool same = error ? s != TS_OK && same_error(error, err) : s == TS_OK && token && token->valueint == got->token;
    char detail[640];
    snprintf(detail, sizeof detail, "token %d, golden %d; %s\n", s ? -1 : got->token, token ? token->valueint : -1,
             s ? err->reason : "");
    ts_report_add(k->report, "sampler = golden", name, same ? TS_SAME : TS_FAIL, 0, same ? NULL : detail);
}

static void sampler_one(ts_check *k, const cJSON *one)
{
    const cJSON *logits = get(one, "logits_hex"), *history = get(one, "history"), *x;
    int V = cJSON_GetArraySize(logits), n = 0, H = cJSON_GetArraySize(history), h = 0;
    float *z = calloc((size_t)V + 1, sizeof *z);
    int32_t *past = calloc((size_t)H + 1, sizeof *past);
    cJSON_ArrayForEach (x, logits)
        if (z)
            z[n++] = ts_float((uint32_t)hex(x));
    cJSON_ArrayForEach (x, history)
        if (past)
            past[h++] = x->valueint;
    ts_sampling p = sampling_of(one);
    ts_sample got = {0};
    ts_error err = {0};
    ts_status s = z && past ? ts_sample_token(&p, z, V, past, (size_t)H, hex(get(one, "position_hex")), &got, &err)
                            : ts_no_memory(&err, (unsigned long)V * 4);
    const char *name = cJSON_GetStringValue(get(one, "name"));
    compare_token(k, name ? name : "?", s, &got, get(one, "result"), &err);
    free(z);
    free(past);
}

static ts_status load_json(ts_check *k, const ts_case *c, cJSON **out, ts_error *err)
{
    char path[512];
    const char *golden = ts_case_string(c, "golden");
    ts_check_path(k, golden ? golden : "", path, sizeof path);
    return ts_json_load(path, out, err);
}

void ts_external_sampler(ts_check *k, const ts_case *c)
{
    cJSON *all = NULL;
    const cJSON *one;
    ts_error err = {0};
    ts_status s = load_json(k, c, &all, &err);
    if (s)
        ts_report_error(k->report, "sampler = golden", s, &err);
    cJSON_ArrayForEach (one, get(all, "cases"))
        sampler_one(k, one);
    cJSON_Delete(all);
}

static bool same_ids(const int32_t *ids, size_t n, const cJSON *want)
{
    const cJSON *x = want ? want->child : NULL;
    size_t i = 0;
    for (; i < n && x && x->valueint == ids[i]; i++)
        x = x->next;
    return want && i == n && !x;
}

/* decode(encode(text)) == NFC(text) */
static bool round_trip(const ts_tokenizer *tok, const int32_t *ids, size_t n, const char *text, size_t text_size,
                       ts_error *err)
{
    char *nfc = NULL;
    size_t size = 0, at = 0;
    if (ts_nfc(text, text_size, &nfc, &size, err))
        return false;
    bool same = true;
    for (size_t i = 0; same && i < n; i++) {
        size_t len = 0;
        const char *bytes = ts_tokenizer_bytes(tok, ids[i], &len);
        same = bytes && at + len <= size && memcmp(nfc + at, bytes, len) == 0;
        at += len;
    }
    free(nfc);
    return same && at == size;
}

/* Our JSON reader refuses an escaped NUL, and one golden text has one: it travels as U+E000, which no text uses. */
static const char NUL_ESCAPE[] = "\\u0000", STAND_IN[] = "\\ue000", STAND_IN_UTF8[] = "\xee\x80\x80";

static size_t restore_nul(char *text)
{
    size_t size = strlen(text);
    char *p = text;
    while (p < text + size && (p = strstr(p, STAND_IN_UTF8)) != NULL) {
        *p++ = 0;
        memmove(p, p + 2, size - (size_t)(p + 2 - text) + 1);
        size -= 2;
    }
    return size;
}

static ts_status load_texts(ts_check *k, const ts_case *c, cJSON **out, ts_error *err)
{
    char path[512], *text = NULL;
    const char *golden = ts_case_string(c, "golden");
    size_t size;
    ts_check_path(k, golden ? golden : "", path, sizeof path);
    ts_status s = ts_read_file(path, &text, &size, err);
    for (char *p = text; !s && (p = strstr(p, NUL_ESCAPE)) != NULL;)
        memcpy(p, STAND_IN, strlen(STAND_IN));
    if (!s)
        s = ts_json_parse(path, text, size, out, err);
    free(text);
    return s;
}

static void tokenizer_one(ts_check *k, const ts_tokenizer *tok, const cJSON *one, int number)
{
    char *text = cJSON_GetStringValue(get(one, "text"));
    size_t size = text ? restore_nul(text) : 0;
    int32_t *ids = NULL;
    size_t n = 0;
    ts_error err = {0};
    char name[32], detail[640];
    snprintf(name, sizeof name, "text %d", number);
    ts_status s = text ? ts_tokenizer_encode(tok, text, size, &ids, &n, &err) : TS_BAD;
    bool ids_ok = !s && same_ids(ids, n, get(one, "ids")),
         trip = ids_ok && round_trip(tok, ids, n, text, size, &err);
    snprintf(detail, sizeof detail, "%s; %s\n", ids_ok ? "decode(encode(s)) is not NFC(s)" : "ids differ",
             err.reason);
    ts_report_add(k->report, "tokenizer = golden", name, trip ? TS_SAME : TS_FAIL, 0, trip ? NULL : detail);
    free(ids);
}

void ts_external_tokenizer(ts_check *k, const ts_case *c)
{
    cJSON *all = NULL;
    const cJSON *one;
    ts_tokenizer *tok = NULL;
    char path[512];
    const char *tokenizer = ts_case_string(c, "tokenizer");
    ts_error err = {0};
    ts_check_path(k, tokenizer ? tokenizer : "", path, sizeof path);
    ts_status s = load_texts(k, c, &all, &err);
    if (!s)
        s = ts_tokenizer_open(path, &tok, &err);
    if (s)
        ts_report_error(k->report, "tokenizer = golden", s, &err);
    int number = 0;
    cJSON_ArrayForEach (one, all)
        if (!s)
            tokenizer_one(k, tok, one, number++);
    ts_tokenizer_close(tok);
    cJSON_Delete(all);
}
