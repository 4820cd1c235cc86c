/* Tensors in execution order, growing by rows. */
#include "trace/trace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "format/json.h"

typedef struct {
    ts_tensor t; /* name and data are this entry's own */
    char *name;
    unsigned char *data;
    size_t capacity;
} entry;

struct ts_trace {
    entry **entry; /* execution order; each keeps its address while the list grows */
    size_t count, capacity;
    size_t *slot; /* hash table of index + 1, 0 is free; twice as many slots as capacity */
    ts_status status;
    ts_error err; /* the first error */
};

ts_trace *ts_trace_new(void)
{
    return calloc(1, sizeof(ts_trace));
}

void ts_trace_free(ts_trace *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->count; i++) {
        free(t->entry[i]->name);
        free(t->entry[i]->data);
        free(t->entry[i]);
    }
    free(t->entry);
    free(t->slot);
    free(t);
}

/* FNV-1a. */
static size_t hash(const char *name)
{
    uint64_t h = 14695981039346656037u;
    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return (size_t)(h ^ h >> 32);
}

/* The slot that holds `name`, or the free one where it belongs. The table is never full. */
static size_t *find_slot(const ts_trace *t, const char *name)
{
    size_t mask = 2 * t->capacity - 1, i = hash(name) & mask;
    while (t->slot[i] != 0 && strcmp(t->entry[t->slot[i] - 1]->name, name) != 0)
        i = (i + 1) & mask;
    return &t->slot[i];
}

static ts_status grow_list(ts_trace *t)
{
    size_t n = t->capacity == 0 ? 64 : 2 * t->capacity;
    entry **list = realloc(t->entry, n * sizeof *list);
    if (list == NULL)
        return ts_no_memory(&t->err, n * sizeof *list);
    t->entry = list;
    size_t *slot = calloc(2 * n, sizeof *slot);
    if (slot == NULL)
        return ts_no_memory(&t->err, 2 * n * sizeof *slot);
    free(t->slot);
    t->slot = slot;
    t->capacity = n;
    for (size_t i = 0; i < t->count; i++)
        *find_slot(t, t->entry[i]->name) = i + 1;
    return TS_OK;
}

static ts_status measure(ts_trace *t, const char *name, ts_dtype dtype, int ndim, const int64_t *dim, size_t *size)
{
    if ((unsigned)dtype >= TS_DTYPE_COUNT || ndim < 0 || ndim > TS_MAX_DIMS)
        return ts_fail(&t->err, TS_BAD, NULL, name, "cannot be traced: dtype %d, %d dims", (int)dtype, ndim);
    int64_t bits = ts_dtype_table[dtype].bits;
    for (int i = 0; i < ndim; i++) {
        if (dim[i] < 0 || (dim[i] > 0 && bits > INT64_MAX / dim[i]))
            return ts_fail(&t->err, TS_BAD, NULL, name, "cannot be traced: dim %d is %lld", i, (long long)dim[i]);
        bits *= dim[i];
    }
    if (bits % 8 != 0)
        return ts_fail(&t->err, TS_BAD, NULL, name, "cannot be traced: %lld bits are not whole bytes",
                       (long long)bits);
    *size = (size_t)bits / 8;
    return TS_OK;
}

static ts_status append_bytes(ts_trace *t, entry *e, const void *data, size_t size)
{
    size_t need = e->t.size + size;
    if (need > e->capacity) {
        size_t capacity = need > 2 * e->capacity ? need : 2 * e->capacity;
        unsigned char *grown = realloc(e->data, capacity);
        if (grown == NULL)
            return ts_no_memory(&t->err, capacity);
        e->data = grown;
        e->capacity = capacity;
        e->t.data = grown;
    }
    if (size > 0)
        memcpy(e->data + e->t.size, data, size);
    e->t.size = need;
    return TS_OK;
}

static ts_status put_new(ts_trace *t, const char *name, ts_dtype dtype, int ndim, const int64_t *dim,
                         const void *data, size_t size)
{
    if (t->count == t->capacity && grow_list(t) != TS_OK)
        return TS_BAD;
    entry *e = calloc(1, sizeof *e);
    if (e == NULL || (e->name = strdup(name)) == NULL) {
        free(e);
        return ts_no_memory(&t->err, sizeof *e + strlen(name));
    }
    e->t = (ts_tensor){.name = e->name, .dtype = dtype, .ndim = ndim};
    for (int i = 0; i < ndim; i++)
        e->t.dim[i] = dim[i];
    t->entry[t->count++] = e;
    *find_slot(t, name) = t->count;
    return append_bytes(t, e, data, size);
}

static ts_status put_rows(ts_trace *t, entry *e, ts_dtype dtype, int ndim, const int64_t *dim, const void *data,
                          size_t size)
{
    bool same = e->t.dtype == dtype && e->t.ndim == ndim && ndim > 0;
    for (int i = 1; i < ndim && same; i++)
        same = e->t.dim[i] == dim[i];
    if (!same)
        return ts_fail(&t->err, TS_BAD, NULL, e->name, "put again with another dtype or row shape");
    if (dim[0] > INT64_MAX - e->t.dim[0])
        return ts_fail(&t->err, TS_BAD, NULL, e->name, "too many rows");
    e->t.dim[0] += dim[0];
    return append_bytes(t, e, data, size);
}

void ts_trace_put(ts_trace *t, const char *name, ts_dtype dtype, int ndim, const int64_t *dim, const void *data)
{
    size_t size = 0;
    if (t == NULL || t->status != TS_OK)
        return;
    t->status = measure(t, name, dtype, ndim, dim, &size);
    if (t->status == TS_OK && size > 0 && !data)
        t->status = ts_no_memory(&t->err, size);
    if (t->status != TS_OK)
        return;
    size_t *slot = t->capacity > 0 ? find_slot(t, name) : NULL;
    if (slot != NULL && *slot != 0)
        t->status = put_rows(t, t->entry[*slot - 1], dtype, ndim, dim, data, size);
    else
        t->status = put_new(t, name, dtype, ndim, dim, data, size);
}

ts_status ts_trace_status(const ts_trace *t, ts_error *err)
{
    if (t->status != TS_OK && err != NULL)
        *err = t->err;
    return t->status;
}

size_t ts_trace_count(const ts_trace *t)
{
    return t->count;
}

const ts_tensor *ts_trace_at(const ts_trace *t, size_t i)
{
    return &t->entry[i]->t;
}

const ts_tensor *ts_trace_find(const ts_trace *t, const char *name)
{
    size_t *slot = t->capacity > 0 ? find_slot(t, name) : NULL;
    return slot != NULL && *slot != 0 ? &t->entry[*slot - 1]->t : NULL;
}

/* The names as a JSON list, malloc'd by cJSON; NULL without memory. */
static char *order_text(const ts_trace *t)
{
    cJSON *list = cJSON_CreateArray();
    bool ok = list != NULL;
    for (size_t i = 0; i < t->count && ok; i++) {
        cJSON *name = cJSON_CreateString(t->entry[i]->name);
        ok = name != NULL && cJSON_AddItemToArray(list, name);
    }
    char *text = ok ? cJSON_PrintUnformatted(list) : NULL;
    cJSON_Delete(list);
    return text;
}

ts_status ts_trace_write(const ts_trace *t, const char *path, const ts_meta *meta, size_t n_meta, ts_error *err)
{
    if (t->status != TS_OK)
        return ts_fail(err, t->status, path, t->err.tensor, "%s", t->err.reason);
    char *order = order_text(t);
    ts_tensor *tensors = calloc(t->count + 1, sizeof *tensors);
    ts_meta *all = calloc(n_meta + 1, sizeof *all);
    ts_status status;
    if (order == NULL || tensors == NULL || all == NULL) {
        status = ts_no_memory(err, (t->count + 1) * sizeof *tensors);
    } else {
        for (size_t i = 0; i < t->count; i++)
            tensors[i] = t->entry[i]->t;
        for (size_t i = 0; i < n_meta; i++)
            all[i] = meta[i];
        all[n_meta] = (ts_meta){"order", order};
        status = ts_safetensors_write(path, tensors, t->count, all, n_meta + 1, err);
    }
    cJSON_free(order);
    free(tensors);
    free(all);
    return status;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const char *const *)a, y = (uintptr_t) * (const char *const *)b;
    return (x > y) - (x < y);
}

/* n names, each known to be a tensor of f: are they n different ones? */
static ts_status check_distinct(const ts_safetensors *f, const char **names, size_t n, ts_error *err)
{
    const char **sorted = malloc((n + 1) * sizeof *sorted);
    if (sorted == NULL)
        return ts_no_memory(err, n * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = names[i];
    qsort(sorted, n, sizeof *sorted, by_address);
    ts_status status = TS_OK;
    for (size_t i = 1; i < n && status == TS_OK; i++)
        if (sorted[i] == sorted[i - 1])
            status = ts_fail(err, TS_BAD, ts_safetensors_path(f), sorted[i], "twice in the metadata's order");
    free(sorted);
    return status;
}

static ts_status read_order(const ts_safetensors *f, const cJSON *list, const char **names, size_t count,
                            ts_error *err)
{
    const char *path = ts_safetensors_path(f);
    size_t n = 0;
    if (!cJSON_IsArray(list))
        return ts_fail(err, TS_BAD, path, "order", "must be a list");
    for (const cJSON *i = list->child; i != NULL; i = i->next) {
        const ts_tensor *t = cJSON_IsString(i) ? ts_safetensors_find(f, i->valuestring) : NULL;
        if (t == NULL)
            return ts_fail(err, TS_BAD, path, "order", "entry %zu, \"%.100s\", is not a tensor of the file", n,
                           cJSON_IsString(i) ? i->valuestring : "(not a string)");
        if (n == count)
            return ts_fail(err, TS_BAD, path, "order", "lists more than the %zu tensors of the file", count);
        names[n++] = t->name;
    }
    if (n != count)
        return ts_fail(err, TS_BAD, path, "order", "lists %zu of the %zu tensors of the file", n, count);
    return check_distinct(f, names, n, err);
}

ts_status ts_trace_order(const ts_safetensors *f, const char ***names, size_t *n, ts_error *err)
{
    size_t count = ts_safetensors_count(f);
    const char *text = ts_safetensors_meta(f, "order");
    const char **list = malloc((count + 1) * sizeof *list);
    if (list == NULL)
        return ts_no_memory(err, count * sizeof *list);
    cJSON *json = NULL;
    ts_status status = TS_OK;
    if (text == NULL) {
        for (size_t i = 0; i < count; i++)
            list[i] = ts_safetensors_at(f, i)->name;
    } else {
        status = ts_json_parse(ts_safetensors_path(f), text, strlen(text), &json, err);
        if (status == TS_OK)
            status = read_order(f, json, list, count, err);
        cJSON_Delete(json);
    }
    if (status != TS_OK) {
        free(list);
        return status;
    }
    *names = list;
    *n = count;
    return TS_OK;
}
