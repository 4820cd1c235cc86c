/* One .safetensors or GGUF file, or the shards that model.safetensors.index.json names,
 * as one set of tensors in name order. */
#include "format/checkpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "format/json.h"
#include "num/sha256.h"

#define SINGLE "model.safetensors"
#define INDEX "model.safetensors.index.json"

typedef struct {
    ts_tensor t;
    size_t shard;
    void *copy;               /* t.data when the file has it unaligned, else NULL */
    const ts_ggml_type *type; /* NULL: of safetensors */
} entry;

struct ts_checkpoint {
    char **name; /* shards' file names, sorted and unique */
    ts_safetensors **shard;
    size_t shards;
    ts_gguf *gguf; /* or NULL; then it is the one file, and there are no shards */
    entry *entry;  /* sorted by tensor name */
    size_t count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_tensor(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->t.name, ((const entry *)b)->t.name);
}

/* malloc'd "folder/name". */
static char *join(const char *folder, const char *name)
{
    size_t n = strlen(folder), m = strlen(name);
    char *path = malloc(n + m + 2);
    if (path != NULL) {
        memcpy(path, folder, n);
        path[n] = '/';
        memcpy(path + n + 1, name, m + 1);
    }
    return path;
}

static bool allocate(ts_checkpoint *c, size_t shards)
{
    c->name = calloc(shards, sizeof *c->name);
    c->shard = calloc(shards, sizeof *c->shard);
    return c->name != NULL && c->shard != NULL;
}

static ts_status open_single(ts_checkpoint *c, const char *path, ts_error *err)
{
    const char *slash = strrchr(path, '/');
    if (!allocate(c, 1) || (c->name[0] = strdup(slash != NULL ? slash + 1 : path)) == NULL)
        return ts_no_memory(err, strlen(path));
    if (ts_gguf_is(path))
        return ts_gguf_open(path, &c->gguf, err);
    c->shards = 1;
    return ts_safetensors_open(path, &c->shard[0], err);
}

/* A shard is a file of the same folder, whatever the index says. */
static bool plain_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static ts_status check_map(const char *file, const cJSON *map, ts_error *err)
{
    if (!cJSON_IsObject(map) || map->child == NULL)
        return ts_fail(err, TS_BAD, file, "weight_map", "must be a non-empty object");
    for (const cJSON *i = map->child; i != NULL; i = i->next) {
        if (!cJSON_IsString(i))
            return ts_fail(err, TS_BAD, file, i->string, "its shard must be a string");
        if (!plain_name(i->valuestring))
            return ts_fail(err, TS_BAD, file, i->string, "shard \"%.100s\" is not a plain file name",
                           i->valuestring);
    }
    return TS_OK;
}

/* Fills c->name with the distinct shard names of the map. */
static ts_status name_shards(ts_checkpoint *c, const cJSON *map, ts_error *err)
{
    size_t n = 0;
    for (const cJSON *i = map->child; i != NULL; i = i->next)
        n++;
    const char **all = malloc(n * sizeof *all);
    if (all == NULL || !allocate(c, n)) {
        free(all);
        return ts_no_memory(err, n * sizeof *all);
    }
    n = 0;
    for (const cJSON *i = map->child; i != NULL; i = i->next)
        all[n++] = i->valuestring;
    qsort(all, n, sizeof *all, by_text);
    ts_status status = TS_OK;
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        if (i > 0 && strcmp(all[i - 1], all[i]) == 0)
            continue;
        c->name[c->shards] = strdup(all[i]);
        if (c->name[c->shards++] == NULL)
            status = ts_no_memory(err, strlen(all[i]) + 1);
    }
    free(all);
    return status;
}

static ts_status open_shards(ts_checkpoint *c, const char *folder, ts_error *err)
{
    for (size_t i = 0; i < c->shards; i++) {
        char *path = join(folder, c->name[i]);
        if (path == NULL)
            return ts_no_memory(err, strlen(folder) + strlen(c->name[i]) + 2);
        ts_status status = ts_safetensors_open(path, &c->shard[i], err);
        free(path);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

/* The shards hold more tensors than the n of the map: names one that the map does not place there. */
static ts_status name_stranger(const ts_checkpoint *c, const cJSON *map, size_t n, ts_error *err)
{
    const cJSON **sorted = malloc(n * sizeof *sorted);
    if (sorted == NULL)
        return ts_no_memory(err, n * sizeof *sorted);
    n = 0;
    for (const cJSON *i = map->child; i != NULL; i = i->next)
        sorted[n++] = i;
    qsort(sorted, n, sizeof *sorted, by_key);
    ts_status status = TS_OK;
    for (size_t s = 0; s < c->shards; s++)
        for (size_t i = 0; i < ts_safetensors_count(c->shard[s]) && status == TS_OK; i++) {
            cJSON wanted = {.string = (char *)(uintptr_t)ts_safetensors_at(c->shard[s], i)->name}, *key = &wanted;
            const cJSON **hit = bsearch(&key, sorted, n, sizeof *sorted, by_key);
            const char *where = hit != NULL ? (*hit)->valuestring : "no shard";
            if (strcmp(where, c->name[s]) != 0)
                status = ts_fail(err, TS_BAD, ts_safetensors_path(c->shard[s]), wanted.string,
                                 "the index maps it to %.200s", where);
        }
    free(sorted);
    return status;
}

/* Every mapped tensor is in its shard, every tensor of a shard is mapped to it. */
static ts_status check_shards(const ts_checkpoint *c, const char *file, const cJSON *map, ts_error *err)
{
    size_t mapped = 0, present = 0;
    for (const cJSON *i = map->child; i != NULL; i = i->next, mapped++) {
        char **hit = bsearch(&i->valuestring, c->name, c->shards, sizeof *c->name, by_text);
        if (hit == NULL || ts_safetensors_find(c->shard[hit - c->name], i->string) == NULL)
            return ts_fail(err, TS_BAD, file, i->string, "not in its shard %.200s", i->valuestring);
    }
    for (size_t s = 0; s < c->shards; s++)
        present += ts_safetensors_count(c->shard[s]);
    return present == mapped ? TS_OK : name_stranger(c, map, mapped, err);
}

static ts_status open_index(ts_checkpoint *c, const char *folder, const char *file, ts_error *err)
{
    cJSON *json;
    ts_status status = ts_json_load(file, &json, err);
    if (status != TS_OK)
        return status;
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(json, "weight_map");
    status = check_map(file, map, err);
    if (status == TS_OK)
        status = name_shards(c, map, err);
    if (status == TS_OK)
        status = open_shards(c, folder, err);
    if (status == TS_OK)
        status = check_shards(c, file, map, err);
    cJSON_Delete(json);
    return status;
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* With both present the single file wins, as it does in transformers. */
static ts_status open_folder(ts_checkpoint *c, const char *folder, ts_error *err)
{
    ts_status status;
    char *single = join(folder, SINGLE), *index = join(folder, INDEX);
    if (single == NULL || index == NULL)
        status = ts_no_memory(err, strlen(folder) + sizeof INDEX);
    else if (exists(single))
        status = open_single(c, single, err);
    else if (exists(index))
        status = open_index(c, folder, index, err);
    else
        status = ts_fail(err, TS_BAD, folder, NULL, "holds neither %s nor %s", SINGLE, INDEX);
    free(single);
    free(index);
    return status;
}

static ts_status gather(ts_checkpoint *c, ts_error *err)
{
    size_t n = c->gguf != NULL ? ts_gguf_count(c->gguf) : 0;
    for (size_t s = 0; s < c->shards; s++)
        n += ts_safetensors_count(c->shard[s]);
    c->entry = calloc(n + 1, sizeof *c->entry);
    if (c->entry == NULL)
        return ts_no_memory(err, (n + 1) * sizeof *c->entry);
    for (size_t s = 0; s < c->shards; s++)
        for (size_t i = 0; i < ts_safetensors_count(c->shard[s]); i++)
            c->entry[c->count++] = (entry){.t = *ts_safetensors_at(c->shard[s], i), .shard = s};
    for (; c->gguf != NULL && c->count < n; c->count++)
        c->entry[c->count] = (entry){.t = *ts_gguf_at(c->gguf, c->count), .type = ts_gguf_type(c->gguf, c->count)};
    qsort(c->entry, c->count, sizeof *c->entry, by_tensor);
    return TS_OK;
}

ts_status ts_checkpoint_open(const char *path, ts_checkpoint **out, ts_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return ts_fail(err, TS_BAD, path, NULL, "cannot open: %s", strerror(errno));
    ts_checkpoint *c = calloc(1, sizeof *c);
    if (c == NULL)
        return ts_no_memory(err, sizeof *c);
    ts_status status = S_ISDIR(st.st_mode) ? open_folder(c, path, err) : open_single(c, path, err);
    if (status == TS_OK)
        status = gather(c, err);
    if (status == TS_OK)
        *out = c;
    else
        ts_checkpoint_close(c);
    return status;
}

void ts_checkpoint_close(ts_checkpoint *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->count; i++)
        free(c->entry[i].copy);
    for (size_t s = 0; s < c->shards; s++) {
        free(c->name[s]);
        ts_safetensors_close(c->shard[s]);
    }
    if (c->gguf != NULL)
        free(c->name[0]);
    ts_gguf_close(c->gguf);
    free(c->name);
    free(c->shard);
    free(c->entry);
    free(c);
}

size_t ts_checkpoint_count(const ts_checkpoint *c)
{
    return c->count;
}

const ts_tensor *ts_checkpoint_at(const ts_checkpoint *c, size_t i)
{
    return &c->entry[i].t;
}

const ts_tensor *ts_checkpoint_find(ts_checkpoint *c, const char *name, const char **file)
{
    const entry wanted = {.t.name = name};
    const entry *hit = bsearch(&wanted, c->entry, c->count, sizeof *c->entry, by_tensor);
    if (hit == NULL)
        return NULL;
    if (file != NULL)
        *file = c->gguf != NULL ? ts_gguf_path(c->gguf) : ts_safetensors_path(c->shard[hit->shard]);
    return &hit->t;
}

const ts_gguf *ts_checkpoint_gguf(const ts_checkpoint *c)
{
    return c->gguf;
}

const ts_ggml_type *ts_checkpoint_type(const ts_checkpoint *c, const ts_tensor *t)
{
    return c->entry[(const entry *)(const void *)t - c->entry].type;
}

/* Safetensors promise no alignment; whoever reads weights through a typed pointer needs it. */
ts_status ts_checkpoint_align(ts_checkpoint *c, const ts_tensor *t, ts_error *err)
{
    entry *e = c->entry + ((const entry *)(const void *)t - c->entry);
    const bool blocks = e->type != NULL && e->type->dtype == TS_DTYPE_COUNT;
    size_t width = blocks ? 2 : (size_t)(ts_dtype_table[t->dtype].bits + 7) / 8;
    if (t->size == 0 || (uintptr_t)t->data % width == 0)
        return TS_OK;
    e->copy = malloc(t->size);
    if (e->copy == NULL)
        return ts_no_memory(err, t->size);
    memcpy(e->copy, t->data, t->size);
    e->t.data = e->copy;
    return TS_OK;
}

ts_status ts_checkpoint_sha256(const ts_checkpoint *c, char hex[65], ts_error *err)
{
    ts_sha256_ctx *sha = ts_sha256_new();
    if (sha == NULL)
        return ts_no_memory(err, 0);
    for (size_t s = 0; s < c->shards + (c->gguf != NULL); s++) {
        size_t size;
        const void *bytes = c->gguf != NULL ? ts_gguf_bytes(c->gguf, &size)
                                            : ts_safetensors_bytes(c->shard[s], &size);
        ts_sha256_add(sha, c->name[s], strlen(c->name[s]));
        ts_sha256_add(sha, "\n", 1);
        ts_sha256_add(sha, bytes, size);
    }
    ts_sha256_end(sha, hex);
    return TS_OK;
}
