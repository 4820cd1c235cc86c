/* GGUF: magic, version, counts; key-value pairs; tensor descriptions; padding;
 * data that the tensors fill one after the other. All little-endian. */
#include "format/gguf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "format/file.h"

enum {
    FILE_HEADER = 24,
    LEAST_VALUE = 14,  /* bytes of a pair: 1 of the key, 1 of the value */
    LEAST_TENSOR = 25, /* of a scalar with a name of 1 */
    MAX_NAME = 63,
    MAX_KEY = 65535,
    MAX_NAMES = 1 << 26, /* bytes of all names */
    MAX_ENTRIES = 1 << 20,
    MAX_RANK = 4,
    DEFAULT_ALIGNMENT = 32,
};

#define ALIGNMENT "general.alignment"

typedef struct {
    ts_tensor t;
    const ts_ggml_type *type;
} entry;

struct ts_gguf {
    char *path;
    unsigned char *map;
    size_t size;
    int version;
    char *names; /* of keys and tensors, NUL terminated */
    size_t used, room;
    ts_gguf_value *value;
    const ts_gguf_value **by_key;
    size_t values, tensors;
    entry *entry;
    const ts_tensor **by_name;
};

/* What is being read: from `at` on, up to the end of the file. */
typedef struct {
    ts_gguf *g;
    const unsigned char *at, *end;
    ts_error *err;
} reader;

static ts_status bad(const reader *r, const char *name, const char *what)
{
    return ts_fail(r->err, TS_BAD, r->g->path, name, "%s", what);
}

static size_t left(const reader *r)
{
    return (size_t)(r->end - r->at);
}

static ts_status read_number(reader *r, const char *name, int bytes, uint64_t *out)
{
    if (left(r) < (size_t)bytes)
        return bad(r, name, "truncated");
    *out = ts_gguf_unsigned(r->at, bytes);
    r->at += bytes;
    return TS_OK;
}

/* The bytes of a string, still in the file. */
static ts_status read_text(reader *r, const char *name, const char **text, size_t *size)
{
    uint64_t n = 0;
    ts_status status = read_number(r, name, 8, &n);
    if (status != TS_OK)
        return status;
    if (n > left(r))
        return ts_fail(r->err, TS_BAD, r->g->path, name,
                       "a string of %llu bytes, but the file has only %zu after it: truncated",
                       (unsigned long long)n, left(r));
    *text = (const char *)r->at;
    *size = (size_t)n;
    r->at += n;
    return TS_OK;
}

/* A key or a name, copied so that it ends with NUL. */
static ts_status read_name(reader *r, const char *what, size_t most, size_t index, const char **out)
{
    const char *text = NULL;
    size_t n = 0;
    ts_status status = read_text(r, NULL, &text, &n);
    if (status != TS_OK)
        return status;
    if (n == 0 || n > most)
        return ts_fail(r->err, TS_BAD, r->g->path, NULL, "%s %zu has a name of %zu bytes, wants 1 to %zu", what,
                       index, n, most);
    if (n >= r->g->room - r->g->used)
        return ts_fail(r->err, TS_BAD, r->g->path, NULL, "%s %zu: the names exceed %d bytes", what, index,
                       MAX_NAMES);
    char *copy = r->g->names + r->g->used;
    memcpy(copy, text, n);
    copy[n] = '\0';
    r->g->used += n + 1;
    *out = copy;
    if (memchr(copy, '\0', n) != NULL)
        return ts_fail(r->err, TS_BAD, r->g->path, copy, "the name of %s %zu holds a NUL", what, index);
    return TS_OK;
}

static ts_status read_kind(reader *r, const char *key, ts_gguf_kind *out)
{
    uint64_t n = 0;
    ts_status status = read_number(r, key, 4, &n);
    if (status == TS_OK && n >= TS_GGUF_KINDS)
        return ts_fail(r->err, TS_BAD, r->g->path, key, "value type %llu is none of 0..%d", (unsigned long long)n,
                       TS_GGUF_KINDS - 1);
    *out = (ts_gguf_kind)n;
    return status;
}

static ts_status read_strings(reader *r, const ts_gguf_value *v)
{
    const char *text = NULL;
    size_t n = 0;
    ts_status status = TS_OK;
    for (uint64_t i = 0; i < v->count && status == TS_OK; i++)
        status = read_text(r, v->key, &text, &n);
    return status;
}

/* Elements of a fixed size. */
static ts_status read_elements(reader *r, const ts_gguf_value *v)
{
    const size_t bytes = (size_t)ts_gguf_kind_bytes(v->kind);
    if (v->count > left(r) / bytes)
        return ts_fail(r->err, TS_BAD, r->g->path, v->key,
                       "%llu values of %zu bytes, but the file has only %zu bytes after it: truncated",
                       (unsigned long long)v->count, bytes, left(r));
    for (uint64_t i = 0; v->kind == TS_GGUF_BOOL && i < v->count; i++)
        if (r->at[i] > 1)
            return ts_fail(r->err, TS_BAD, r->g->path, v->key, "a bool of %d, wants 0 or 1", r->at[i]);
    r->at += v->count * bytes;
    return TS_OK;
}

static ts_status read_value(reader *r, size_t index, ts_gguf_value *v)
{
    ts_status status = read_name(r, "key", MAX_KEY, index, &v->key);
    v->count = 1;
    if (status == TS_OK)
        status = read_kind(r, v->key, &v->kind);
    if (status != TS_OK)
        return status;
    v->array = v->kind == TS_GGUF_ARRAY;
    if (v->array)
        status = read_kind(r, v->key, &v->kind);
    if (status == TS_OK && v->array)
        status = read_number(r, v->key, 8, &v->count);
    if (status != TS_OK)
        return status;
    if (v->kind == TS_GGUF_ARRAY)
        return bad(r, v->key, "an array of arrays, which is not supported");
    v->data = r->at;
    return v->kind == TS_GGUF_STRING ? read_strings(r, v) : read_elements(r, v);
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const ts_gguf_value *const *)a)->key, (*(const ts_gguf_value *const *)b)->key);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const ts_tensor *const *)a)->name, (*(const ts_tensor *const *)b)->name);
}

static ts_status read_values(reader *r)
{
    ts_gguf *g = r->g;
    for (size_t i = 0; i < g->values; i++) {
        ts_status status = read_value(r, i, &g->value[i]);
        if (status != TS_OK)
            return status;
        g->by_key[i] = &g->value[i];
    }
    qsort(g->by_key, g->values, sizeof *g->by_key, by_key);
    for (size_t i = 1; i < g->values; i++)
        if (strcmp(g->by_key[i - 1]->key, g->by_key[i]->key) == 0)
            return bad(r, g->by_key[i]->key, "the key is there twice");
    return TS_OK;
}

static ts_status find_alignment(const reader *r, uint64_t *out)
{
    const ts_gguf_value *v = ts_gguf_get(r->g, ALIGNMENT);
    *out = DEFAULT_ALIGNMENT;
    if (v == NULL)
        return TS_OK;
    if (v->kind != TS_GGUF_U32 || v->array)
        return bad(r, ALIGNMENT, "must be a u32");
    *out = ts_gguf_unsigned(v->data, 4);
    if (*out < 8 || (*out & (*out - 1)) != 0)
        return ts_fail(r->err, TS_BAD, r->g->path, ALIGNMENT, "%llu is not a power of two of at least 8",
                       (unsigned long long)*out);
    return TS_OK;
}

/* The slowest dim first. Zero dims count as one towards overflow, so that every partial product fits. */
static ts_status read_shape(reader *r, ts_tensor *t, int64_t *count)
{
    uint64_t n = 0;
    ts_status status = read_number(r, t->name, 4, &n);
    if (status == TS_OK && n > MAX_RANK)
        return ts_fail(r->err, TS_BAD, r->g->path, t->name, "%llu dims, at most %d are allowed",
                       (unsigned long long)n, MAX_RANK);
    t->ndim = (int)n;
    int64_t product = 1;
    bool empty = false;
    for (int i = t->ndim - 1; i >= 0 && status == TS_OK; i--) {
        status = read_number(r, t->name, 8, &n);
        if (status != TS_OK)
            return status;
        if (n > INT64_MAX)
            return bad(r, t->name, "a dim is negative");
        t->dim[i] = (int64_t)n;
        if (n > 0 && product > INT64_MAX / t->dim[i])
            return bad(r, t->name, "the size of its shape overflows");
        product *= n > 0 ? t->dim[i] : 1;
        empty = empty || n == 0;
    }
    *count = empty ? 0 : product;
    return status;
}

static ts_status read_type(reader *r, entry *e, int64_t count)
{
    uint64_t id = 0;
    ts_status status = read_number(r, e->t.name, 4, &id);
    if (status != TS_OK)
        return status;
    e->type = ts_ggml_type_of((int64_t)id);
    if (e->type == NULL)
        return ts_fail(r->err, TS_BAD, r->g->path, e->t.name, "tensor type %llu is not known",
                       (unsigned long long)id);
    int64_t row = e->t.ndim > 0 ? e->t.dim[e->t.ndim - 1] : 1;
    if (row % e->type->elements != 0)
        return ts_fail(r->err, TS_BAD, r->g->path, e->t.name, "rows of %lld are not whole blocks of %d (%s)",
                       (long long)row, e->type->elements, e->type->name);
    int64_t blocks = count / e->type->elements;
    if (blocks > INT64_MAX / e->type->bytes)
        return bad(r, e->t.name, "the size of its shape overflows");
    e->t.size = (size_t)(blocks * e->type->bytes);
    e->t.dtype = e->type->dtype == TS_DTYPE_COUNT ? TS_U8 : e->type->dtype;
    return TS_OK;
}

/* *offset is where it must lie in the data section; it moves past the tensor. */
static ts_status read_tensor(reader *r, size_t index, uint64_t alignment, uint64_t *offset, entry *e)
{
    int64_t count = 0;
    uint64_t at = 0;
    ts_status status = read_name(r, "tensor", MAX_NAME, index, &e->t.name);
    if (status == TS_OK)
        status = read_shape(r, &e->t, &count);
    if (status == TS_OK)
        status = read_type(r, e, count);
    if (status == TS_OK)
        status = read_number(r, e->t.name, 8, &at);
    if (status != TS_OK)
        return status;
    if (at != *offset)
        return ts_fail(r->err, TS_BAD, r->g->path, e->t.name, "lies at byte %llu of the data, wants %llu: %s",
                       (unsigned long long)at, (unsigned long long)*offset, at > *offset ? "gap" : "overlap");
    if (e->t.size > r->g->size - at)
        return ts_fail(r->err, TS_BAD, r->g->path, e->t.name,
                       "%zu bytes at byte %llu of the data, more than the whole file: truncated", e->t.size,
                       (unsigned long long)at);
    uint64_t pad = (alignment - e->t.size % alignment) % alignment;
    *offset = at + e->t.size + pad;
    return *offset <= r->g->size || index + 1 == r->g->tensors ? TS_OK : bad(r, e->t.name, "truncated");
}

static ts_status check_names(const reader *r)
{
    ts_gguf *g = r->g;
    for (size_t i = 0; i < g->tensors; i++)
        g->by_name[i] = &g->entry[i].t;
    qsort(g->by_name, g->tensors, sizeof *g->by_name, by_name);
    for (size_t i = 1; i < g->tensors; i++)
        if (strcmp(g->by_name[i - 1]->name, g->by_name[i]->name) == 0)
            return bad(r, g->by_name[i]->name, "the tensor is there twice");
    return TS_OK;
}

/* r->at is the end of the descriptions, `total` the padded size of the data. The last tensor's padding may be
 * missing. */
static ts_status place_data(reader *r, uint64_t alignment, uint64_t total)
{
    ts_gguf *g = r->g;
    const size_t head = (size_t)(r->at - g->map), pad = (size_t)((alignment - head % alignment) % alignment);
    const entry *last = g->tensors > 0 ? &g->entry[g->tensors - 1] : NULL;
    if (last == NULL && left(r) <= pad)
        return TS_OK;
    if (pad > left(r))
        return bad(r, NULL, "truncated: no data section");
    for (size_t i = 0; i < pad; i++)
        if (r->at[i] != 0)
            return bad(r, NULL, "the padding before the data is not zero");
    r->at += pad;
    uint64_t at = 0, end = 0;
    for (size_t i = 0; i < g->tensors; i++) {
        ts_tensor *t = &g->entry[i].t;
        end = at + t->size;
        t->data = end <= left(r) ? r->at + at : NULL;
        if (t->data == NULL)
            return ts_fail(r->err, TS_BAD, g->path, t->name,
                           "ends at byte %llu of the data, the file at %zu: truncated", (unsigned long long)end,
                           left(r));
        at = end + (alignment - end % alignment) % alignment;
    }
    if (left(r) > total)
        return ts_fail(r->err, TS_BAD, g->path, NULL,
                       "the tensors end at byte %llu of the data, the file at %zu: "
                       "trailing bytes",
                       (unsigned long long)total, left(r));
    return TS_OK;
}

static ts_status read_tensors(reader *r)
{
    uint64_t alignment = 0, offset = 0;
    ts_status status = find_alignment(r, &alignment);
    for (size_t i = 0; i < r->g->tensors && status == TS_OK; i++)
        status = read_tensor(r, i, alignment, &offset, &r->g->entry[i]);
    if (status == TS_OK)
        status = check_names(r);
    return status == TS_OK ? place_data(r, alignment, offset) : status;
}

static ts_status read_count(reader *r, const char *what, size_t least, size_t *out)
{
    uint64_t n = 0;
    ts_status status = read_number(r, NULL, 8, &n);
    if (status != TS_OK)
        return status;
    if (n > INT64_MAX)
        return ts_fail(r->err, TS_BAD, r->g->path, NULL, "the number of %s is negative", what);
    if (n > left(r) / least || n > MAX_ENTRIES)
        return ts_fail(r->err, TS_BAD, r->g->path, NULL, "%llu %s do not fit in a file of %zu bytes",
                       (unsigned long long)n, what, r->g->size);
    *out = (size_t)n;
    return TS_OK;
}

static ts_status read_header(reader *r)
{
    uint64_t version = 0;
    if (left(r) < FILE_HEADER)
        return ts_fail(r->err, TS_BAD, r->g->path, NULL, "%zu bytes, too few for a GGUF file", left(r));
    if (memcmp(r->at, "GGUF", 4) != 0)
        return bad(r, NULL, "does not begin with GGUF");
    r->at += 4;
    ts_status status = read_number(r, NULL, 4, &version);
    if (status == TS_OK && version != 0 && (version & 0xFFFF) == 0)
        return bad(r, NULL, "big-endian; little-endian files are read");
    if (status == TS_OK && version != 2 && version != 3)
        return ts_fail(r->err, TS_BAD, r->g->path, NULL, "GGUF version %llu; 2 and 3 are read",
                       (unsigned long long)version);
    r->g->version = (int)version;
    if (status == TS_OK)
        status = read_count(r, "tensors", LEAST_TENSOR, &r->g->tensors);
    return status == TS_OK ? read_count(r, "keys", LEAST_VALUE, &r->g->values) : status;
}

/* All of it is bounded by the size of the file: the counts have been checked against it. */
static ts_status allocate(reader *r)
{
    ts_gguf *g = r->g;
    g->room = left(r) < MAX_NAMES ? left(r) + 1 : MAX_NAMES;
    g->names = malloc(g->room);
    g->value = calloc(g->values + 1, sizeof *g->value);
    g->by_key = calloc(g->values + 1, sizeof *g->by_key);
    g->entry = calloc(g->tensors + 1, sizeof *g->entry);
    g->by_name = calloc(g->tensors + 1, sizeof *g->by_name);
    if (g->names != NULL && g->value != NULL && g->by_key != NULL && g->entry != NULL && g->by_name != NULL)
        return TS_OK;
    return ts_no_memory(r->err, g->room + g->values * sizeof *g->value + g->tensors * sizeof *g->entry);
}

static ts_status read_map(ts_gguf *g, ts_error *err)
{
    if (g->map == NULL)
        return ts_fail(err, TS_BAD, g->path, NULL, "0 bytes, too few for a GGUF file");
    reader r = {.g = g, .at = g->map, .end = g->map + g->size, .err = err};
    ts_status status = read_header(&r);
    if (status == TS_OK)
        status = allocate(&r);
    if (status == TS_OK)
        status = read_values(&r);
    return status == TS_OK ? read_tensors(&r) : status;
}

ts_status ts_gguf_open(const char *path, ts_gguf **out, ts_error *err)
{
    ts_gguf *g = calloc(1, sizeof *g);
    if (g == NULL || (g->path = strdup(path)) == NULL) {
        free(g);
        return ts_no_memory(err, sizeof *g + strlen(path) + 1);
    }
    ts_status status = ts_file_map(g->path, &g->map, &g->size, err);
    if (status == TS_OK)
        status = read_map(g, err);
    if (status == TS_OK)
        *out = g;
    else
        ts_gguf_close(g);
    return status;
}

void ts_gguf_close(ts_gguf *g)
{
    if (g == NULL)
        return;
    if (g->map != NULL)
        munmap(g->map, g->size);
    free(g->path);
    free(g->names);
    free(g->value);
    free(g->by_key);
    free(g->entry);
    free(g->by_name);
    free(g);
}

const char *ts_gguf_path(const ts_gguf *g)
{
    return g->path;
}

const void *ts_gguf_bytes(const ts_gguf *g, size_t *size)
{
    *size = g->size;
    return g->map;
}

int ts_gguf_version(const ts_gguf *g)
{
    return g->version;
}

size_t ts_gguf_count(const ts_gguf *g)
{
    return g->tensors;
}

const ts_tensor *ts_gguf_at(const ts_gguf *g, size_t i)
{
    return &g->entry[i].t;
}

const ts_ggml_type *ts_gguf_type(const ts_gguf *g, size_t i)
{
    return g->entry[i].type;
}

const ts_tensor *ts_gguf_find(const ts_gguf *g, const char *name)
{
    const ts_tensor wanted = {.name = name}, *key = &wanted;
    const ts_tensor *const *hit = bsearch(&key, g->by_name, g->tensors, sizeof *g->by_name, by_name);
    return hit != NULL ? *hit : NULL;
}

size_t ts_gguf_values(const ts_gguf *g)
{
    return g->values;
}

const ts_gguf_value *ts_gguf_value_at(const ts_gguf *g, size_t i)
{
    return &g->value[i];
}

const ts_gguf_value *ts_gguf_get(const ts_gguf *g, const char *name)
{
    const ts_gguf_value wanted = {.key = name}, *key = &wanted;
    const ts_gguf_value *const *hit = bsearch(&key, g->by_key, g->values, sizeof *g->by_key, by_key);
    return hit != NULL ? *hit : NULL;
}
