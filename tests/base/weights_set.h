/* A golden's tensors, changed one defect at a time and loaded again as a model folder. */
#ifndef TS_TESTS_BASE_WEIGHTS_SET_H
#define TS_TESTS_BASE_WEIGHTS_SET_H

#include "config/weights.h"
#include "folder.h"
#include "format/json.h"

enum { MAX_TENSORS = 96 };

#define DENSE "golden/external/rand-qwen35-dense"
#define ASYM "golden/external/rand-qwen35-asym"
#define EDGE "golden/external/rand-qwen35-edge"

static folder dir;
static char path[FOLDER_PATH], config[FOLDER_PATH];

static inline int make_dir(void **state)
{
    (void)state;
    folder_make(&dir);
    folder_file(&dir, "model.safetensors", path);
    folder_file(&dir, "config.json", config);
    return 0;
}

static inline int empty_dir(void **state)
{
    (void)state;
    folder_empty(&dir);
    return 0;
}

static inline int remove_dir(void **state)
{
    (void)state;
    folder_remove(&dir);
    return 0;
}

/* A golden's tensors, to be changed and written to `path`; its config is copied to `config`. */
typedef struct {
    ts_safetensors *source;
    ts_tensor t[MAX_TENSORS];
    char name[MAX_TENSORS][128];
    size_t n;
} set;

static inline void set_open(set *s, const char *stem)
{
    char file[FOLDER_PATH], *text;
    size_t size;
    snprintf(file, sizeof file, "%s-config.json", stem);
    assert_int_equal(ts_read_file(file, &text, &size, NULL), TS_OK);
    folder_write(&dir, "config.json", text, size);
    free(text);
    snprintf(file, sizeof file, "%s-weights.safetensors", stem);
    assert_int_equal(ts_safetensors_open(file, &s->source, NULL), TS_OK);
    s->n = ts_safetensors_count(s->source);
    assert_true(s->n + 8 < MAX_TENSORS);
    for (size_t i = 0; i < s->n; i++)
        s->t[i] = *ts_safetensors_at(s->source, i);
}

static inline ts_tensor *set_find(set *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->t[i].name, name) == 0)
            return &s->t[i];
    fail_msg("no %s", name);
    return NULL;
}

static inline void set_remove(set *s, const char *name)
{
    *set_find(s, name) = s->t[s->n - 1];
    s->n--;
}

static inline void set_add(set *s, const char *name, ts_dtype dtype, int64_t rows, int64_t columns,
                           const void *data, size_t size)
{
    s->t[s->n++] = (ts_tensor){name, dtype, 2, {rows, columns}, data, size};
}

/* Every name that begins with `from` begins with `to`. */
static inline void set_rename(set *s, const char *from, const char *to)
{
    for (size_t i = 0; i < s->n; i++)
        if (strncmp(s->t[i].name, from, strlen(from)) == 0) {
            char name[128];
            snprintf(name, sizeof name, "%.40s%.80s", to, s->t[i].name + strlen(from));
            memcpy(s->name[i], name, sizeof name);
            s->t[i].name = s->name[i];
        }
}

static inline ts_status set_load(const set *s, ts_weights **w, ts_error *err)
{
    assert_int_equal(ts_safetensors_write(path, s->t, s->n, NULL, 0, NULL), TS_OK);
    *w = NULL;
    return ts_weights_load(dir.path, w, err);
}

static inline void assert_loads(const set *s)
{
    ts_weights *w;
    ts_error err = {0};
    if (set_load(s, &w, &err) != TS_OK)
        fail_msg("%s: %s: %s", err.file, err.tensor, err.reason);
    ts_weights_free(w);
}

static inline void assert_refused(const set *s, const char *tensor, const char *reason)
{
    ts_weights *w;
    ts_error err = {0};
    assert_int_equal(set_load(s, &w, &err), TS_BAD);
    assert_null(w);
    assert_non_null(strstr(err.file, dir.path));
    if (strcmp(err.tensor, tensor) != 0 || strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s: %s\", want \"%s: %s\"", err.tensor, err.reason, tensor, reason);
}

static inline void config_set(const char *key, const char *value)
{
    cJSON *o;
    assert_int_equal(ts_json_load(config, &o, NULL), TS_OK);
    cJSON_DeleteItemFromObjectCaseSensitive(o, key);
    cJSON_AddItemToObject(o, key, cJSON_Parse(value));
    assert_int_equal(ts_json_save(config, o, NULL), TS_OK);
    cJSON_Delete(o);
}

static inline void assert_matrix(const ts_matrix *m, ts_checkpoint *c, const char *name, int64_t N, int64_t K)
{
    assert_int_equal(m->format, TS_W_BF16);
    assert_int_equal(m->N, N);
    assert_int_equal(m->K, K);
    assert_ptr_equal(m->data, ts_checkpoint_find(c, name, NULL)->data);
}

#endif
