#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/check.h"
#include "quantize.h"

/* Loaded models by (path, bits), until the end of the run. */
typedef struct ts_model_cache {
    struct ts_model_cache *next;
    char model[256];
    int bits;
    char folder[512]; /* of the quantised copy, "" if none */
    ts_weights *w;
} ts_model_cache;

static void remove_folder(const char *folder)
{
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json",
                                        "generation_config.json"};
    for (int i = 0; i < 4; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* The quantised checkpoint is made by the same code as `touchstone quantize`, then read back as a user's would be.
 */
static ts_status load_quantised(ts_model_cache *m, const char *path, ts_error *err)
{
    const char *tmp = getenv("TMPDIR");
    int len = snprintf(m->folder, sizeof m->folder, "%s/touchstone-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (len >= (int)sizeof m->folder || !mkdtemp(m->folder)) {
        ts_status s = ts_fail(err, TS_BAD, m->folder, NULL, "cannot make a temporary folder");
        m->folder[0] = 0;
        return s;
    }
    ts_status s = ts_quantize(path, m->folder, &(ts_quantize_options){.bits = m->bits, .group = 64}, err);
    return s ? s : ts_weights_load(m->folder, &m->w, err);
}

static ts_status find_or_load(ts_check *k, const char *model, int bits, const ts_weights **out, ts_error *err)
{
    for (ts_model_cache *m = *k->models; m; m = m->next)
        if (m->bits == bits && strcmp(m->model, model) == 0 && m->w) {
            *out = m->w;
            return TS_OK;
        }
    ts_model_cache *m = calloc(1, sizeof *m);
    if (!m || strlen(model) >= sizeof m->model) {
        free(m);
        return ts_fail(err, TS_BAD, model, NULL, "cannot load this model: out of memory, or its path is too long");
    }
    m->next = *k->models;
    *k->models = m;
    strcpy(m->model, model);
    m->bits = bits;
    char path[512];
    ts_check_path(k, model, path, sizeof path);
    ts_status s = bits ? load_quantised(m, path, err) : ts_weights_load(path, &m->w, err);
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
    s = find_or_load(k, model, bits, out, err);
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
