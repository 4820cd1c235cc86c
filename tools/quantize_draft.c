#include "quantize_draft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/quant.h"
#include "format/json.h"
#include "format/matrix.h"
#include "format/safetensors.h"
#include "mlx.h"

enum { PATH = TS_STAGING_PATH + 128 };

typedef struct {
    const char *file, *config;
} drafter;

static const drafter drafters[] = {{"mtp.safetensors", "mtp-config.json"},
                                   {"dflash2.safetensors", "dflash2-config.json"}};

typedef struct {
    ts_mlx_encoder *encode;
    int bits, group;
    const ts_safetensors *from;
    ts_tensor *tensor; /* of the new file; names and data that are not the old file's are owned */
    size_t n;
    ts_error *err;
} job;

static bool is_linear(const ts_tensor *t)
{
    const size_t n = strlen(t->name), end = strlen(".weight");
    return t->ndim == 2 && n > end && strcmp(t->name + n - end, ".weight") == 0;
}

/* MODULE.weight -> MODULE.part, with room for its data. */
static void *add(job *q, const ts_tensor *t, const char *part, ts_dtype dtype, int64_t columns)
{
    const size_t module = strlen(t->name) - strlen(".weight"), room = module + strlen(part) + 1;
    ts_tensor *y = &q->tensor[q->n];
    const size_t size = (size_t)(t->dim[0] * columns) * (size_t)ts_dtype_table[dtype].bits / 8;
    char *name = malloc(room);
    void *data = malloc(size + 1);
    if (!name || !data) {
        free(name);
        free(data);
        ts_no_memory(q->err, size);
        return NULL;
    }
    snprintf(name, room, "%.*s%s", (int)module, t->name, part);
    *y = (ts_tensor){
        .name = name, .dtype = dtype, .ndim = 2, .dim = {t->dim[0], columns}, .size = size, .data = data};
    q->n++;
    return data;
}

static ts_status encode_matrix(job *q, const ts_tensor *t)
{
    const char *file = ts_safetensors_path(q->from);
    const int64_t K = t->dim[1], groups = K / q->group;
    if (t->dtype != TS_BF16 && t->dtype != TS_F16 && t->dtype != TS_F32)
        return ts_fail(q->err, TS_BAD, file, t->name, "dtype %s cannot be quantised",
                       ts_dtype_table[t->dtype].name);
    if (K % q->group != 0)
        return ts_fail(q->err, TS_BAD, file, t->name, "%lld columns are not a multiple of the group %d",
                       (long long)K, q->group);
    const ts_matrix m = {
        .format = t->dtype == TS_BF16  ? TS_W_BF16
                  : t->dtype == TS_F16 ? TS_W_F16
                                       : TS_W_F32,
        .N = t->dim[0],
        .K = K,
        .data = t->data,
    };
    uint32_t *words = add(q, t, ".weight", TS_U32, K * q->bits / 32);
    uint16_t *scales = words ? add(q, t, ".scales", TS_BF16, groups) : NULL;
    uint16_t *biases = scales ? add(q, t, ".biases", TS_BF16, groups) : NULL;
    if (!biases)
        return TS_BAD;
    const int64_t bad = ts_mlx_quantize(q->encode, &m, q->bits, q->group, words, scales, biases);
    if (bad == -2)
        return ts_no_memory(q->err, (size_t)K * sizeof(float));
    return bad < 0 ? TS_OK
                   : ts_fail(q->err, TS_BAD, file, t->name, "row %lld: bf16 cannot hold a group's scale or bias",
                             (long long)bad);
}

static ts_status keep(job *q, const ts_tensor *t)
{
    char *name = strdup(t->name);
    if (!name)
        return ts_no_memory(q->err, strlen(t->name));
    q->tensor[q->n] = *t;
    q->tensor[q->n++].name = name;
    return TS_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ts_tensor *)a)->name, ((const ts_tensor *)b)->name);
}

static ts_status encode_all(job *q)
{
    const size_t n = ts_safetensors_count(q->from);
    q->tensor = calloc(3 * n + 1, sizeof *q->tensor);
    ts_status status = q->tensor ? TS_OK : ts_no_memory(q->err, 3 * n * sizeof *q->tensor);
    for (size_t i = 0; i < n && !status; i++) {
        const ts_tensor *t = ts_safetensors_at(q->from, i);
        status = is_linear(t) ? encode_matrix(q, t) : keep(q, t);
    }
    if (!status)
        qsort(q->tensor, q->n, sizeof *q->tensor, by_name);
    return status;
}

/* Data of the old file lies in its mapping. */
static void free_tensors(job *q)
{
    for (size_t i = 0; i < q->n; i++) {
        const ts_tensor *old = ts_safetensors_find(q->from, q->tensor[i].name);
        if (!old || old->data != q->tensor[i].data)
            free((void *)(uintptr_t)q->tensor[i].data);
        free((void *)(uintptr_t)q->tensor[i].name);
    }
    free(q->tensor);
}

/* The old config, or none of it, and how the matrices are quantised. */
static ts_status write_config(const job *q, const char *from, const char *to)
{
    struct stat st;
    cJSON *config = NULL;
    ts_status status = stat(from, &st) == 0 ? ts_json_load(from, &config, q->err) : TS_OK;
    if (status)
        return status;
    config = config ? config : cJSON_CreateObject();
    if (!cJSON_IsObject(config)) {
        status = config ? ts_fail(q->err, TS_BAD, from, NULL, "must be a JSON object")
                        : ts_no_memory(q->err, sizeof(cJSON));
        cJSON_Delete(config);
        return status;
    }
    if (cJSON_GetObjectItemCaseSensitive(config, "quantization")) {
        cJSON_Delete(config);
        return ts_fail(q->err, TS_BAD, from, "quantization", "the drafter is quantised already");
    }
    cJSON *o = cJSON_AddObjectToObject(config, "quantization");
    cJSON_AddNumberToObject(o, "group_size", (double)q->group);
    cJSON_AddNumberToObject(o, "bits", (double)q->bits);
    status = cJSON_AddStringToObject(o, "mode", "affine") ? ts_json_save(to, config, q->err)
                                                          : ts_no_memory(q->err, sizeof(cJSON));
    cJSON_Delete(config);
    return status;
}

static ts_status write_drafter(job *q, const char *model, const drafter *d, ts_staging *s)
{
    static const ts_meta meta = {"format", "mlx"};
    char from[PATH], to[PATH];
    ts_safetensors *f = NULL;
    snprintf(from, sizeof from, "%s/%s", model, d->config);
    ts_status status = write_config(q, from, ts_staging_add(s, d->config, to));
    snprintf(from, sizeof from, "%s/%s", model, d->file);
    if (!status)
        status = ts_safetensors_open(from, &f, q->err);
    if (status)
        return status;
    q->from = f;
    status = encode_all(q);
    if (!status)
        status = ts_safetensors_write(ts_staging_add(s, d->file, to), q->tensor, q->n, &meta, 1, q->err);
    free_tensors(q);
    ts_safetensors_close(f);
    return status;
}

ts_status ts_quantize_drafters(const char *model, ts_mlx_encoder *encode, int bits, int group, ts_staging *s,
                               ts_error *err)
{
    ts_status status = ts_quant_bits_ok(bits)
                           ? TS_OK
                           : ts_fail(err, TS_USAGE, NULL, "--draft-bits", "%d is none of 2, 3, 4, 5, 6, 8", bits);
    for (size_t i = 0; i < sizeof drafters / sizeof *drafters && !status; i++) {
        job q = {.encode = encode, .bits = bits, .group = group, .err = err};
        char path[PATH];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", model, drafters[i].file);
        if (stat(path, &st) == 0)
            status = write_drafter(&q, model, &drafters[i], s);
    }
    return status;
}
