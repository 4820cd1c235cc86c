/* safetensors: u64 length, JSON header, data that the tensors tile exactly. */
#include "format/safetensors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "format/file.h"
#include "format/json.h"

enum { MAX_HEADER = 100000000 };

#define METADATA "__metadata__"

/* A tensor and where the header says it lies in the data section. */
typedef struct {
    ts_tensor t;
    int64_t begin, end;
    size_t position; /* in the header */
} entry;

/* A checked header: tensors in offset order, data pointers not yet set. */
typedef struct {
    cJSON *json; /* owns the names */
    const cJSON *meta;
    ts_tensor *tensor;
    const ts_tensor **by_name;
    size_t count;
} header;

struct ts_safetensors {
    char *path;
    void *map;
    size_t size;
    header h;
};

static ts_status read_dtype(const char *path, const char *name, const cJSON *item, ts_dtype *out, ts_error *err)
{
    const char *text;
    ts_error inner = {0};
    if (ts_json_string(path, item, "dtype", &text, &inner) != TS_OK)
        return ts_fail(err, TS_BAD, path, name, "dtype: %s", inner.reason);
    *out = ts_dtype_find(text);
    if (*out == TS_DTYPE_COUNT)
        return ts_fail(err, TS_BAD, path, name, "unknown dtype \"%.40s\"", text);
    return TS_OK;
}

/* A list of at most `max` integers of 0..2^53-1. */
static ts_status read_list(const char *path, const char *name, const cJSON *item, const char *key, int max,
                           int64_t *out, int *n, ts_error *err)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(item, key);
    if (!cJSON_IsArray(list))
        return ts_fail(err, TS_BAD, path, name, "%s must be a list", key);
    *n = 0;
    for (const cJSON *i = list->child; i != NULL; i = i->next) {
        double x = i->valuedouble;
        if (!cJSON_IsNumber(i) || !(x >= 0 && x < 9007199254740992.0) || (double)(int64_t)x < x)
            return ts_fail(err, TS_BAD, path, name, "%s[%d] must be an integer of 0..2^53-1", key, *n);
        if (*n == max)
            return ts_fail(err, TS_BAD, path, name, "%s has more than %d entries", key, max);
        out[(*n)++] = (int64_t)x;
    }
    return TS_OK;
}

/* Bytes of a tensor. Zero dims count as one towards overflow, so that every partial product of
 * the dims fits too. */
static ts_status byte_size(const char *path, const ts_tensor *t, int64_t *out, ts_error *err)
{
    int64_t bits = ts_dtype_table[t->dtype].bits;
    bool empty = false;
    for (int i = 0; i < t->ndim; i++) {
        if (t->dim[i] > 0 && bits > INT64_MAX / t->dim[i])
            return ts_fail(err, TS_BAD, path, t->name, "the size of its shape overflows");
        bits *= t->dim[i] > 0 ? t->dim[i] : 1;
        empty = empty || t->dim[i] == 0;
    }
    if (!empty && bits % 8 != 0)
        return ts_fail(err, TS_BAD, path, t->name, "%lld bits are not whole bytes", (long long)bits);
    *out = empty ? 0 : bits / 8;
    return TS_OK;
}

static ts_status only_known_keys(const char *path, const cJSON *item, ts_error *err)
{
    for (const cJSON *i = item->child; i != NULL; i = i->next)
        if (strcmp(i->string, "dtype") != 0 && strcmp(i->string, "shape") != 0 &&
            strcmp(i->string, "data_offsets") != 0)
            return ts_fail(err, TS_BAD, path, item->string, "unknown key \"%.40s\"", i->string);
    return TS_OK;
}

static ts_status read_entry(const char *path, const cJSON *item, entry *e, ts_error *err)
{
    const char *name = item->string;
    int64_t offset[2], want = 0;
    int n = 0;
    if (!cJSON_IsObject(item))
        return ts_fail(err, TS_BAD, path, name, "its header entry must be an object");
    e->t.name = name;
    ts_status status = only_known_keys(path, item, err);
    if (status == TS_OK)
        status = read_dtype(path, name, item, &e->t.dtype, err);
    if (status == TS_OK)
        status = read_list(path, name, item, "shape", TS_MAX_DIMS, e->t.dim, &e->t.ndim, err);
    if (status == TS_OK)
        status = byte_size(path, &e->t, &want, err);
    if (status == TS_OK)
        status = read_list(path, name, item, "data_offsets", 2, offset, &n, err);
    if (status != TS_OK)
        return status;
    if (n != 2)
        return ts_fail(err, TS_BAD, path, name, "data_offsets must have 2 entries, has %d", n);
    if (offset[1] < offset[0] || offset[1] - offset[0] != want)
        return ts_fail(err, TS_BAD, path, name, "data_offsets [%lld, %lld] do not hold the %lld bytes of its shape",
                       (long long)offset[0], (long long)offset[1], (long long)want);
    e->begin = offset[0];
    e->end = offset[1];
    e->t.size = (size_t)want;
    return TS_OK;
}

static int by_offset(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const ts_tensor *const *)a)->name, (*(const ts_tensor *const *)b)->name);
}

static ts_status check_tiling(const char *path, const entry *e, size_t n, size_t data_size, ts_error *err)
{
    int64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (e[i].begin != at)
            return ts_fail(err, TS_BAD, path, e[i].t.name,
                           "starts at byte %lld of the data, what precedes it ends at %lld: %s",
                           (long long)e[i].begin, (long long)at, e[i].begin > at ? "gap" : "overlap");
        at = e[i].end;
    }
    if ((uint64_t)at == data_size)
        return TS_OK;
    return ts_fail(err, TS_BAD, path, n > 0 ? e[n - 1].t.name : NULL,
                   "the tensors end at byte %lld of the data, the file at %zu: %s", (long long)at, data_size,
                   (uint64_t)at > data_size ? "truncated" : "trailing bytes");
}

static ts_status check_meta(const char *path, const cJSON *meta, ts_error *err)
{
    if (meta == NULL)
        return TS_OK;
    if (!cJSON_IsObject(meta))
        return ts_fail(err, TS_BAD, path, METADATA, "must be an object");
    for (const cJSON *i = meta->child; i != NULL; i = i->next)
        if (!cJSON_IsString(i))
            return ts_fail(err, TS_BAD, path, METADATA, "the value of \"%.60s\" must be a string", i->string);
    return TS_OK;
}

static ts_status read_entries(const char *path, const header *h, entry *e, size_t data_size, ts_error *err)
{
    size_t n = 0;
    for (const cJSON *i = h->json->child; i != NULL; i = i->next) {
        if (i == h->meta)
            continue;
        e[n].position = n;
        ts_status status = read_entry(path, i, &e[n++], err);
        if (status != TS_OK)
            return status;
    }
    qsort(e, n, sizeof *e, by_offset);
    return check_tiling(path, e, n, data_size, err);
}

static ts_status index_entries(header *h, const entry *e, ts_error *err)
{
    size_t n = h->count + (h->count == 0);
    h->tensor = malloc(n * sizeof *h->tensor);
    h->by_name = malloc(n * sizeof *h->by_name);
    if (h->tensor == NULL || h->by_name == NULL)
        return ts_no_memory(err, n * sizeof *h->tensor);
    for (size_t i = 0; i < h->count; i++) {
        h->tensor[i] = e[i].t;
        h->by_name[i] = &h->tensor[i];
    }
    qsort(h->by_name, h->count, sizeof *h->by_name, by_name);
    return TS_OK;
}

static void header_free(header *h)
{
    cJSON_Delete(h->json);
    free(h->tensor);
    free(h->by_name);
}

/* text[size] is the header of a file whose data section has data_size bytes. The caller frees h,
 * also after an error. */
static ts_status header_read(const char *path, const char *text, size_t size, size_t data_size, header *h,
                             ts_error *err)
{
    *h = (header){0};
    if (size == 0 || text[0] != '{')
        return ts_fail(err, TS_BAD, path, NULL, "the header does not begin with '{'");
    ts_status status = ts_json_parse(path, text, size, &h->json, err);
    if (status != TS_OK)
        return status;
    h->meta = cJSON_GetObjectItemCaseSensitive(h->json, METADATA);
    status = check_meta(path, h->meta, err);
    if (status != TS_OK)
        return status;
    for (const cJSON *i = h->json->child; i != NULL; i = i->next)
        h->count += i != h->meta;
    entry *e = calloc(h->count + 1, sizeof *e);
    if (e == NULL)
        return ts_no_memory(err, (h->count + 1) * sizeof *e);
    status = read_entries(path, h, e, data_size, err);
    if (status == TS_OK)
        status = index_entries(h, e, err);
    free(e);
    return status;
}

static ts_status read_map(ts_safetensors *f, ts_error *err)
{
    const unsigned char *bytes = f->map;
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | bytes[i];
    if (n > MAX_HEADER)
        return ts_fail(err, TS_BAD, f->path, NULL, "header length %llu, more than 100,000,000",
                       (unsigned long long)n);
    if (n > f->size - 8)
        return ts_fail(err, TS_BAD, f->path, NULL,
                       "header length %llu, but the file has only %zu bytes after it: truncated",
                       (unsigned long long)n, f->size - 8);
    ts_status status = header_read(f->path, (const char *)bytes + 8, n, f->size - 8 - n, &f->h, err);
    if (status != TS_OK)
        return status;
    const unsigned char *data = bytes + 8 + n;
    for (size_t i = 0; i < f->h.count; i++) {
        f->h.tensor[i].data = data;
        data += f->h.tensor[i].size;
    }
    return TS_OK;
}

static ts_status map_file(ts_safetensors *f, ts_error *err)
{
    int fd;
    ts_status status = ts_file_open(f->path, &fd, &f->size, err);
    if (status != TS_OK)
        return status;
    if (f->size < 8)
        status = ts_fail(err, TS_BAD, f->path, NULL, "%zu bytes, too few for a safetensors file", f->size);
    else
        f->map = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (f->map == MAP_FAILED) {
        f->map = NULL;
        status = ts_fail(err, TS_BAD, f->path, NULL, "cannot map: %s", strerror(errno));
    }
    close(fd);
    return status;
}

ts_status ts_safetensors_open(const char *path, ts_safetensors **out, ts_error *err)
{
    ts_safetensors *f = calloc(1, sizeof *f);
    if (f == NULL || (f->path = strdup(path)) == NULL) {
        free(f);
        return ts_no_memory(err, sizeof *f + strlen(path) + 1);
    }
    ts_status status = map_file(f, err);
    if (status == TS_OK)
        status = read_map(f, err);
    if (status == TS_OK)
        *out = f;
    else
        ts_safetensors_close(f);
    return status;
}

void ts_safetensors_close(ts_safetensors *f)
{
    if (f == NULL)
        return;
    header_free(&f->h);
    if (f->map != NULL)
        munmap(f->map, f->size);
    free(f->path);
    free(f);
}

const char *ts_safetensors_path(const ts_safetensors *f)
{
    return f->path;
}

const void *ts_safetensors_bytes(const ts_safetensors *f, size_t *size)
{
    *size = f->size;
    return f->map;
}

size_t ts_safetensors_count(const ts_safetensors *f)
{
    return f->h.count;
}

const ts_tensor *ts_safetensors_at(const ts_safetensors *f, size_t i)
{
    return &f->h.tensor[i];
}

const ts_tensor *ts_safetensors_find(const ts_safetensors *f, const char *name)
{
    const ts_tensor wanted = {.name = name}, *key = &wanted;
    const ts_tensor *const *hit = bsearch(&key, f->h.by_name, f->h.count, sizeof *f->h.by_name, by_name);
    return hit != NULL ? *hit : NULL;
}

const char *ts_safetensors_meta(const ts_safetensors *f, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(f->h.meta, key));
}

bool ts_safetensors_meta_at(const ts_safetensors *f, size_t i, const char **key, const char **value)
{
    const cJSON *m = f->h.meta != NULL ? f->h.meta->child : NULL;
    for (; m != NULL && i > 0; i--)
        m = m->next;
    if (m == NULL)
        return false;
    *key = m->string;
    *value = m->valuestring;
    return true;
}

static bool add_meta(cJSON *json, const ts_meta *meta, size_t n)
{
    cJSON *o = n > 0 ? cJSON_AddObjectToObject(json, METADATA) : NULL;
    bool ok = n == 0 || o != NULL;
    for (size_t i = 0; i < n && ok; i++)
        ok = cJSON_AddStringToObject(o, meta[i].key, meta[i].value) != NULL;
    return ok;
}

static bool add_number(cJSON *list, double x)
{
    cJSON *i = list != NULL ? cJSON_CreateNumber(x) : NULL;
    return i != NULL && cJSON_AddItemToArray(list, i);
}

static bool add_entry(cJSON *json, const ts_tensor *t, size_t begin)
{
    cJSON *o = cJSON_AddObjectToObject(json, t->name);
    bool ok = o != NULL && cJSON_AddStringToObject(o, "dtype", ts_dtype_table[t->dtype].name) != NULL;
    cJSON *shape = ok ? cJSON_AddArrayToObject(o, "shape") : NULL;
    cJSON *offsets = ok ? cJSON_AddArrayToObject(o, "data_offsets") : NULL;
    for (int i = 0; i < t->ndim && ok; i++)
        ok = add_number(shape, (double)t->dim[i]);
    return ok && add_number(offsets, (double)begin) && add_number(offsets, (double)(begin + t->size));
}

/* malloc'd header text, padded with spaces to a multiple of 8 bytes; NULL without memory. */
static char *header_text(const ts_tensor *tensors, size_t count, const ts_meta *meta, size_t n_meta, size_t *size)
{
    cJSON *json = cJSON_CreateObject();
    bool ok = json != NULL && add_meta(json, meta, n_meta);
    size_t begin = 0;
    for (size_t i = 0; i < count && ok; begin += tensors[i++].size)
        ok = add_entry(json, &tensors[i], begin);
    char *printed = ok ? cJSON_PrintUnformatted(json) : NULL;
    cJSON_Delete(json);
    size_t n = printed != NULL ? strlen(printed) : 0;
    *size = (n + 7) / 8 * 8;
    char *text = printed != NULL ? malloc(*size) : NULL;
    if (text != NULL) {
        memset(text, ' ', *size);
        memcpy(text, printed, n);
    }
    cJSON_free(printed);
    return text;
}

/* Where the data of tensors come from: themselves, or a source. */
typedef struct {
    const ts_tensor *tensors;
    size_t count;
    ts_tensor_source *source; /* or NULL */
    void *context;
    size_t piece;
} payload;

/* What the header's own text could not show. */
static ts_status check_tensors(const char *path, const payload *p, size_t *data_size, ts_error *err)
{
    *data_size = 0;
    for (size_t i = 0; i < p->count; i++) {
        const ts_tensor *t = &p->tensors[i];
        if ((unsigned)t->dtype >= TS_DTYPE_COUNT || t->ndim < 0 || t->ndim > TS_MAX_DIMS)
            return ts_fail(err, TS_BAD, path, t->name, "cannot be written: dtype %d, %d dims", (int)t->dtype,
                           t->ndim);
        if (t->size > 0 && t->data == NULL && p->source == NULL)
            return ts_fail(err, TS_BAD, path, t->name, "cannot be written: no data");
        *data_size += t->size;
    }
    return TS_OK;
}

static ts_status write_data(ts_out *out, const payload *p, ts_error *err)
{
    ts_status status = TS_OK;
    for (size_t i = 0; i < p->count && status == TS_OK; i++)
        status = ts_out_write(out, p->tensors[i].data, p->tensors[i].size, err);
    return status;
}

static ts_status write_pieces(ts_out *out, const payload *p, ts_error *err)
{
    ts_status status = TS_OK;
    unsigned char *buffer = malloc(p->piece);
    if (buffer == NULL)
        return ts_no_memory(err, p->piece);
    for (size_t i = 0; i < p->count; i++)
        for (size_t at = 0, size = p->tensors[i].size, n; at < size && status == TS_OK; at += n) {
            n = size - at < p->piece ? size - at : p->piece;
            p->source(p->context, i, at, buffer, n);
            status = ts_out_write(out, buffer, n, err);
        }
    free(buffer);
    return status;
}

static ts_status write_all(const char *path, const payload *p, const char *text, size_t size, ts_error *err)
{
    ts_out out;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)size >> (8 * i) & 255);
    ts_status status = ts_out_open(&out, path, err);
    if (status != TS_OK)
        return status;
    status = ts_out_write(&out, length, sizeof length, err);
    if (status == TS_OK)
        status = ts_out_write(&out, text, size, err);
    if (status == TS_OK)
        status = p->source != NULL ? write_pieces(&out, p, err) : write_data(&out, p, err);
    return ts_out_close(&out, status, err);
}

static ts_status write_file(const char *path, const payload *p, const ts_meta *meta, size_t n_meta, ts_error *err)
{
    size_t size, data_size;
    header h;
    ts_status status = check_tensors(path, p, &data_size, err);
    if (status != TS_OK)
        return status;
    char *text = header_text(p->tensors, p->count, meta, n_meta, &size);
    if (text == NULL)
        return ts_fail(err, TS_BAD, path, NULL, "cannot build the header: out of memory");
    /* The reader's rules are the writer's: sizes, duplicate names, UTF-8, header length. */
    status = header_read(path, text, size, data_size, &h, err);
    header_free(&h);
    if (status == TS_OK)
        status = write_all(path, p, text, size, err);
    free(text);
    return status;
}

ts_status ts_safetensors_write(const char *path, const ts_tensor *tensors, size_t count, const ts_meta *meta,
                               size_t n_meta, ts_error *err)
{
    return write_file(path, &(payload){.tensors = tensors, .count = count}, meta, n_meta, err);
}

ts_status ts_safetensors_stream(const char *path, const ts_tensor *tensors, size_t count, const ts_meta *meta,
                                size_t n_meta, ts_tensor_source *source, void *context, size_t piece, ts_error *err)
{
    return write_file(path, &(payload){tensors, count, source, context, piece}, meta, n_meta, err);
}
