#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/check.h"
#include "convert.h"
#include "quantize.h"

/* Loaded models by (path, bits, type), until the end of the run. */
typedef struct ts_model_cache {
    struct ts_model_cache *next;
    char model[256];
    int bits;
    char type[8];     /* of a GGUF copy, "" if none */
    char folder[512]; /* of the quantised copy, "" if none */
    ts_weights *w;
} ts_model_cache;

static void remove_folder(const char *folder)
{
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json",
                                        "generation_config.json", "model.gguf"};
    for (int i = 0; i < 5; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

static ts_status make_folder(ts_model_cache *m, ts_error *err)
{
    const char *tmp = getenv("TMPDIR");
    int len = snprintf(m->folder, sizeof m->folder, "%s/touchstone-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (len < (int)sizeof m->folder && mkdtemp(m->folder))
        return TS_OK;
    ts_status s = ts_fail(err, TS_BAD, m->folder, NULL, "cannot make a temporary folder");
    m->folder[0] = 0;
    return s;
}

/* The copy is made by the same code as `touchstone quantize` and `convert`, then read back as a user's would be. */
static ts_status load_copy(ts_model_cache *m, const char *path, ts_error *err)
{
    char file[600];
    ts_convert_result result;
    ts_status s = make_folder(m, err);
    if (!s && m->bits) {
        s = ts_quantize(path, m->folder, &(ts_quantize_options){.bits = m->bits, .group = 64}, err);
        return s ? s : ts_weights_load(m->folder, &m->w, err);
    }
    snprintf(file, sizeof file, "%s/model.gguf", m->folder);
    if (!s)
        s = ts_convert_gguf(path, file, m->type, &result, err);
    return s ? s : ts_weights_load(file, &m->w, err);
}

static ts_status find_or_load(ts_check *k, const char *model, int bits, const char *type, const ts_weights **out,
                              ts_error *err)
{
    for (ts_model_cache *m = *k->models; m; m = m->next)
        if (m->bits == bits && strcmp(m->type, type) == 0 && strcmp(m->model, model) == 0 && m->w) {
            *out = m->w;
            return TS_OK;
        }
    ts_model_cache *m = calloc(1, sizeof *m);
    if (!m || strlen(model) >= sizeof m->model || strlen(type) >= sizeof m->type) {
        free(m);
        return ts_fail(err, TS_BAD, model, NULL, "cannot load this model: out of memory, or its path is too long");
    }
    m->next = *k->models;
    *k->models = m;
    strcpy(m->model, model);
    strcpy(m->type, type);
    m->bits = bits;
    char path[512];
    ts_check_path(k, model, path, sizeof path);
    ts_status s = bits || *type ? load_copy(m, path, err) : ts_weights_load(path, &m->w, err);
    if (!s)
        s = ts_weights_hash(m->w, err);
    if (!s)
        *out = m->w;
    return s;
}

ts_status ts_check_model(ts_check *k, const char *model, int bits, const ts_weights **out, ts_error *err)
{
    ts_status s;
#pragma omp critical(models)
    s = find_or_load(k, model, bits, "", out, err);
    return s;
}

ts_status ts_check_model_as(ts_check *k, const char *model, const char *type, const ts_weights **out, ts_error *err)
{
    ts_status s;
#pragma omp critical(models)
    s = find_or_load(k, model, 0, type, out, err);
    return s;
}

void ts_check_models_free(ts_check *k)
{
    while (*k->models) {
        ts_model_cache *m = *k->models;
        *k->models = m->next;
        ts_weights_free(m->w);
        if (m->folder[0])
            remove_folder(m->folder);
        free(m);
    }
}
