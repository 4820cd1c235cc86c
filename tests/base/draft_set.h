/* A drafter's files of the tiny model, changed one defect at a time and loaded again. */
#ifndef TS_TESTS_BASE_DRAFT_SET_H
#define TS_TESTS_BASE_DRAFT_SET_H

#include "base/weights_set.h"
#include "config/draft.h"

#define TINY "golden/models/tiny-qwen35"
#define GGUF TINY "/tiny-qwen35-mtp-q4_k_m.gguf"
#define OWN "dflash_config."

static ts_weights *target;
static char file[FOLDER_PATH], beside[FOLDER_PATH]; /* NAME.safetensors and its config */

static inline void must(ts_status status, const ts_error *err)
{
    if (status != TS_OK)
        fail_msg("%s: %s: %s", err->file, err->tensor, err->reason);
}

/* The tiny model's file of that name, to be changed and written to `file`. */
static inline void take(set *s, const char *name)
{
    char from[FOLDER_PATH];
    snprintf(from, sizeof from, TINY "/%s", name);
    assert_int_equal(ts_safetensors_open(from, &s->source, NULL), TS_OK);
    s->n = ts_safetensors_count(s->source);
    assert_true(s->n + 8 < MAX_TENSORS);
    for (size_t i = 0; i < s->n; i++)
        s->t[i] = *ts_safetensors_at(s->source, i);
}

static inline void put(const set *s)
{
    assert_int_equal(ts_safetensors_write(file, s->t, s->n, NULL, 0, NULL), TS_OK);
}

/* The tiny drafter's config with one member replaced (value NULL: removed), as `beside`. */
static inline void put_config(const char *key, const char *value)
{
    cJSON *o;
    assert_int_equal(ts_json_load(TINY "/dflash2-config.json", &o, NULL), TS_OK);
    const bool own = strncmp(key, OWN, strlen(OWN)) == 0;
    cJSON *holder = own ? cJSON_GetObjectItem(o, "dflash_config") : o;
    const char *name = own ? key + strlen(OWN) : key;
    cJSON_DeleteItemFromObjectCaseSensitive(holder, name);
    if (value != NULL)
        cJSON_AddItemToObject(holder, name, cJSON_Parse(value));
    assert_int_equal(ts_json_save(beside, o, NULL), TS_OK);
    cJSON_Delete(o);
}

static inline void assert_error(const ts_error *err, const char *where, const char *named, const char *reason)
{
    if (strcmp(err->file, where) != 0 || strcmp(err->tensor, named) != 0 || strstr(err->reason, reason) == NULL)
        fail_msg("got \"%s: %s: %s\", want \"%s: %s: %s\"", err->file, err->tensor, err->reason, where, named,
                 reason);
}

static inline void assert_dflash_refused(const char *where, const char *named, const char *reason)
{
    ts_weights *w = NULL;
    ts_error err = {0};
    assert_int_equal(ts_weights_load_dflash(target, file, &w, &err), TS_BAD);
    assert_null(w);
    assert_error(&err, where, named, reason);
}

static inline void assert_mtp_refused(const char *named, const char *reason)
{
    ts_weights *w = NULL;
    ts_error err = {0};
    assert_int_equal(ts_weights_load_mtp(target, file, &w, &err), TS_BAD);
    assert_null(w);
    assert_error(&err, file, named, reason);
}

static inline int setup(void **state)
{
    ts_error err = {0};
    make_dir(state);
    folder_file(&dir, "d.safetensors", file);
    folder_file(&dir, "d-config.json", beside);
    return ts_weights_load(TINY, &target, &err) == TS_OK ? 0 : -1;
}

static inline int teardown(void **state)
{
    ts_weights_free(target);
    return remove_dir(state);
}

#define CASE(name) cmocka_unit_test_setup(name, empty_dir)

#endif
