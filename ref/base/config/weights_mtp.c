/* Where a head of multi-token prediction is found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "config/bind_mtp.h"
#include "config/draft.h"
#include "config/gguf_config.h"

enum { PATH = 4096 };

/* Names, and whether norms hold 1 + w. */
static const struct {
    const char *prefix;
    bool folded;
} naming[] = {{"mtp.", false}, {"language_model.mtp.", true}};

static ts_status bind_hf(ts_binder *b, const ts_weights *target, ts_weights *w)
{
    char name[64];
    for (size_t i = 0; i < sizeof naming / sizeof *naming; i++) {
        snprintf(name, sizeof name, "%slayers.1.input_layernorm.weight", naming[i].prefix);
        if (ts_checkpoint_find(b->ckpt, name, NULL) != NULL)
            return ts_fail(b->err, TS_BAD, b->path, name, "a head of more than one layer is not supported");
        snprintf(name, sizeof name, "%snorm.weight", naming[i].prefix);
        if (ts_checkpoint_find(b->ckpt, name, NULL) == NULL)
            continue;
        w->folded = naming[i].folded;
        ts_status status = ts_bind_mtp(b, naming[i].prefix, 0, target, w);
        return status == TS_OK ? ts_bind_leftover(b, naming[i].prefix) : status;
    }
    return ts_fail(b->err, TS_BAD, b->path, "mtp.norm.weight", "missing: no head of multi-token prediction");
}

static ts_status bind_gguf(ts_binder *b, const ts_gguf *g, const ts_weights *target, ts_weights *w)
{
    int64_t n = 0;
    char prefix[32];
    ts_status status = ts_gguf_opt_int(g, "nextn_predict_layers", &n, b->err);
    if (status == TS_OK && n != 1)
        status = ts_fail(b->err, TS_BAD, b->path, "nextn_predict_layers", "%lld heads; 1 is supported",
                         (long long)n);
    w->folded = true;
    snprintf(prefix, sizeof prefix, "blk.%lld.", (long long)target->cfg.layers);
    if (status == TS_OK)
        status = ts_bind_mtp(b, NULL, target->cfg.layers, target, w);
    return status == TS_OK ? ts_bind_leftover(b, prefix) : status;
}

static ts_status bind_checkpoint(ts_checkpoint *ckpt, const ts_weights *target, const ts_quant *quant,
                                 ts_weights *w, ts_error *err)
{
    const size_t n = (ts_checkpoint_count(ckpt) + 1) * sizeof(ts_tensor *);
    ts_binder b = {.ckpt = ckpt, .quant = *quant, .path = w->path, .read = true, .used = malloc(n), .err = err};
    if (b.used == NULL)
        return ts_no_memory(err, n);
    const ts_gguf *g = ts_checkpoint_gguf(ckpt);
    ts_status status = g != NULL ? bind_gguf(&b, g, target, w) : bind_hf(&b, target, w);
    free(b.used);
    return status;
}

/* Of a file or folder; without a config it is not quantised. */
static ts_status find_quant(const char *path, ts_quant *out, ts_error *err)
{
    char config[PATH];
    struct stat st;
    *out = (ts_quant){0};
    ts_status status = ts_draft_config(path, config, sizeof config, err);
    return status == TS_OK && lstat(config, &st) == 0 ? ts_quant_load(config, out, err) : status;
}

static ts_status load_file(const ts_weights *target, const char *path, ts_weights *w, ts_error *err)
{
    ts_quant quant;
    snprintf(w->path, sizeof w->path, "%s", path);
    ts_status status = find_quant(path, &quant, err);
    if (status == TS_OK)
        status = ts_checkpoint_open(path, &w->ckpt, err);
    if (status == TS_OK)
        status = bind_checkpoint(w->ckpt, target, &quant, w, err);
    ts_quant_free(&quant);
    return status;
}

static ts_status load_own(const ts_weights *target, ts_weights *w, ts_error *err)
{
    ts_quant quant = {0};
    snprintf(w->path, sizeof w->path, "%s", target->path);
    const bool gguf = ts_checkpoint_gguf(target->ckpt) != NULL;
    ts_status status = gguf ? TS_OK : find_quant(target->path, &quant, err);
    if (status == TS_OK)
        status = bind_checkpoint(target->ckpt, target, &quant, w, err);
    ts_quant_free(&quant);
    return status;
}

static ts_status load(const ts_weights *target, const char *path, ts_weights *w, ts_error *err)
{
    char beside[PATH];
    struct stat st;
    if (target->cfg.family == TS_FAMILY_KIMI)
        return ts_fail(err, TS_BAD, target->path, NULL, "%s has no head of multi-token prediction",
                       target->cfg.model_type);
    if (path != NULL)
        return load_file(target, path, w, err);
    ts_status status = ts_draft_beside(target, "mtp.safetensors", beside, sizeof beside, err);
    if (status != TS_OK)
        return status;
    return lstat(beside, &st) == 0 ? load_file(target, beside, w, err) : load_own(target, w, err);
}

ts_status ts_weights_load_mtp(const ts_weights *target, const char *path, ts_weights **out, ts_error *err)
{
    ts_weights *w = calloc(1, sizeof *w);
    if (w == NULL)
        return ts_no_memory(err, sizeof *w);
    ts_status status = load(target, path, w, err);
    if (status == TS_OK)
        *out = w;
    else
        ts_weights_free(w);
    return status;
}
