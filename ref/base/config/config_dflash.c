/* The config of a DFlash drafter. What z-lab's code reads is read (a key in "dflash_config", else at the top), what
 * would change the function and is not known here is refused. */
#include <string.h>
#include "case/args.h"
#include "config/config_source.h"
#include "config/draft.h"

static const struct {
    const char *name;
    bool selects;
} architectures[] = {{"DFlash2DraftModel", true}, {"DFlashDraftModel", false}};

/* Where the key is. */
static const cJSON *holder(const source *s, const char *key)
{
    const cJSON *own = item(s->root, "dflash_config");
    return item(own, key) != NULL ? own : s->root;
}

static ts_status read_int(const source *s, const char *key, int64_t most, int64_t *out)
{
    return ts_json_int(s->file, holder(s, key), key, 1, most, out, s->err);
}

static ts_status read_architecture(const source *s, bool *selects)
{
    const cJSON *list = item(s->root, "architectures");
    const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(list, 0));
    for (size_t i = 0; name != NULL && i < sizeof architectures / sizeof *architectures; i++)
        if (strcmp(name, architectures[i].name) == 0) {
            *selects = architectures[i].selects;
            return TS_OK;
        }
    return ts_fail(s->err, TS_BAD, s->file, "architectures",
                   "\"%.60s\" is not supported; DFlash2DraftModel and DFlashDraftModel are",
                   name != NULL ? name : "(not a list of names)");
}

static ts_status read_dims(const source *s, ts_config *c)
{
    const ts_config_dim dim[] = {
        {"vocab_size", MAX_DIM, &c->V},
        {"hidden_size", MAX_DIM, &c->C},
        {"intermediate_size", MAX_DIM, &c->I},
        {"num_hidden_layers", TS_MAX_LAYERS, &c->layers},
        {"num_attention_heads", MAX_DIM, &c->Hq},
        {"num_key_value_heads", MAX_DIM, &c->Hkv},
        {"head_dim", MAX_DIM, &c->D},
    };
    ts_status status = ts_config_dims(s, dim, sizeof dim / sizeof *dim);
    if (status != TS_OK)
        return status;
    if (c->Hq % c->Hkv != 0)
        return bad(s, "num_attention_heads", "must be a multiple of num_key_value_heads");
    if (c->Hq * c->D > INT32_MAX)
        return bad(s, "head_dim", "num_attention_heads * head_dim exceeds 2^31");
    return c->D % 2 == 0 ? TS_OK : bad(s, "head_dim", "must be even");
}

/* Only multipliers of one, no cap, no sinks, no windows of the older kind. */
static ts_status check_switches(const source *s)
{
    static const char *const one[] = {"input_embedding_scale", "output_multiplier"};
    static const char *const absent[] = {"final_logit_softcapping", "use_swa", "swa_window_size",
                                         "attention_sink_bias"};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        double value = 1;
        ts_status status = ts_json_opt_double(s->file, holder(s, one[i]), one[i], &value, s->err);
        if (status != TS_OK)
            return status;
        if (value < 1 || value > 1)
            return bad(s, one[i], "other than 1 is not supported");
    }
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        const cJSON *o = item(holder(s, absent[i]), absent[i]);
        if (o != NULL && !cJSON_IsFalse(o))
            return bad(s, absent[i], "is not supported");
    }
    return ts_config_name(s, "hidden_act", "silu", "silu");
}

static ts_status read_rope(const source *s, ts_config *c)
{
    const cJSON *rope;
    double partial = 1;
    ts_status status = ts_config_rope(s, &rope);
    if (status != TS_OK)
        return status;
    const cJSON *from = item(rope, "partial_rotary_factor") != NULL ? rope : s->root;
    status = ts_json_opt_double(s->file, from, "partial_rotary_factor", &partial, s->err);
    if (status == TS_OK && (partial < 1 || partial > 1))
        return bad(s, "partial_rotary_factor", "other than 1 is not supported");
    from = item(rope, "rope_theta") != NULL ? rope : s->root;
    if (status == TS_OK)
        status = ts_json_double(s->file, from, "rope_theta", &c->theta, s->err);
    if (status == TS_OK && !(c->theta > 1))
        return bad(s, "rope_theta", "must be greater than 1");
    c->R = c->D;
    return status;
}

/* layer_types -> windows. */
static ts_status read_windows(const source *s, ts_config *c, bool *sliding)
{
    const cJSON *list = item(s->root, "layer_types");
    int64_t window = 0, n = 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != c->layers)
        return bad(s, "layer_types", "must be a list of one entry a layer");
    for (const cJSON *i = list->child; i != NULL; i = i->next, n++) {
        const char *type = cJSON_GetStringValue(i);
        const bool slides = type != NULL && strcmp(type, "sliding_attention") == 0;
        if (!slides && (type == NULL || strcmp(type, "full_attention") != 0))
            return bad(s, "layer_types", "sliding_attention and full_attention are known");
        ts_status status = slides
                               ? ts_json_int(s->file, s->root, "sliding_window", 1, MAX_POSITIONS, &window, s->err)
                               : TS_OK;
        if (status != TS_OK)
            return status;
        c->dflash.window[n] = slides ? window : 0;
        c->full[n] = true;
        *sliding |= slides;
    }
    return TS_OK;
}

/* Without a word on it a sliding block would be causal, which has been missed more often than meant: refused. */
static ts_status read_causal(const source *s, bool sliding, ts_config *c)
{
    const cJSON *own = item(s->root, "dflash_config");
    const bool top = item(s->root, "is_causal") != NULL;
    if (!top && item(own, "causal") == NULL)
        return sliding ? bad(s, "is_causal", "missing, and the layers slide") : TS_OK;
    return ts_json_opt_bool(s->file, top ? s->root : own, top ? "is_causal" : "causal", &c->dflash.causal, s->err);
}

static ts_status read_taps(const source *s, const ts_config *target, ts_dflash_config *d)
{
    const cJSON *list = item(holder(s, "target_layer_ids"), "target_layer_ids");
    if (!cJSON_IsArray(list) || list->child == NULL)
        return bad(s, "target_layer_ids", "must be a list of layers");
    for (const cJSON *i = list->child; i != NULL; i = i->next) {
        const double id = cJSON_IsNumber(i) ? i->valuedouble : -1;
        if (!(id >= 0 && id < (double)target->layers) || id != (double)(int64_t)id)
            return ts_fail(s->err, TS_BAD, s->file, "target_layer_ids", "must hold layers 0..%lld of the target",
                           (long long)target->layers - 1);
        if (d->taps == target->layers)
            return bad(s, "target_layer_ids", "has more entries than the target has layers");
        d->tap[d->taps++] = (int64_t)id;
    }
    return TS_OK;
}

static ts_status read_block(const source *s, const ts_config *c, ts_dflash_config *d)
{
    ts_status status = read_int(s, "block_size", TS_MOST_BLOCK, &d->block);
    if (status == TS_OK)
        status = ts_json_int(s->file, holder(s, "mask_token_id"), "mask_token_id", 0, c->V - 1, &d->mask, s->err);
    if (status == TS_OK && d->block < 2)
        return bad(s, "block_size", "must be at least 2");
    return status;
}

static ts_status read_selector(const source *s, const ts_config *c, ts_dflash_config *d)
{
    ts_status status = read_int(s, "conv_kernel_size", TS_MOST_BLOCK, &d->conv_taps);
    if (status == TS_OK)
        status = read_int(s, "conv_group_size", MAX_DIM, &d->conv_group);
    if (status == TS_OK)
        status = read_int(s, "selector_rank", MAX_DIM, &d->rank);
    if (status == TS_OK)
        status = read_int(s, "selector_top_k", TS_MOST_SLOTS, &d->slots);
    if (status == TS_OK && c->C % d->conv_group != 0)
        return bad(s, "conv_group_size", "must divide hidden_size");
    return status == TS_OK && d->slots > c->V ? bad(s, "selector_top_k", "exceeds the vocabulary") : status;
}

static ts_status check_target(const source *s, const ts_config *c, const ts_config *target)
{
    int64_t layers = target->layers;
    if (c->C != target->C)
        return ts_fail(s->err, TS_BAD, s->file, "hidden_size", "%lld, the target's is %lld", (long long)c->C,
                       (long long)target->C);
    if (c->V != target->V)
        return ts_fail(s->err, TS_BAD, s->file, "vocab_size", "%lld, the target's is %lld", (long long)c->V,
                       (long long)target->V);
    ts_status status = ts_json_opt_int(s->file, holder(s, "num_target_layers"), "num_target_layers", 1,
                                       TS_MAX_LAYERS, &layers, s->err);
    if (status == TS_OK && layers != target->layers)
        return ts_fail(s->err, TS_BAD, s->file, "num_target_layers", "%lld, the target has %lld", (long long)layers,
                       (long long)target->layers);
    return status;
}

static ts_status read_eps(const source *s, ts_config *c)
{
    ts_status status = ts_json_double(s->file, s->root, "rms_norm_eps", &c->eps, s->err);
    if (status == TS_OK && !(c->eps >= 1e-30 && c->eps <= 1))
        return bad(s, "rms_norm_eps", "must be positive, within 1e-30..1");
    return status;
}

static ts_status read_config(const source *s, const ts_config *target, ts_config *c)
{
    bool selects = false, sliding = false;
    const cJSON *own = item(s->root, "dflash_config");
    if (own != NULL && !cJSON_IsObject(own))
        return bad(s, "dflash_config", "must be an object");
    ts_status status = read_architecture(s, &selects);
    if (status == TS_OK)
        status = read_dims(s, c);
    if (status == TS_OK)
        status = check_target(s, c, target);
    if (status == TS_OK)
        status = check_switches(s);
    if (status == TS_OK)
        status = read_rope(s, c);
    if (status == TS_OK)
        status = read_eps(s, c);
    if (status == TS_OK)
        status = read_windows(s, c, &sliding);
    if (status == TS_OK)
        status = read_causal(s, sliding, c);
    if (status == TS_OK)
        status = read_taps(s, target, &c->dflash);
    if (status == TS_OK)
        status = read_block(s, c, &c->dflash);
    return status == TS_OK && selects ? read_selector(s, c, &c->dflash) : status;
}

ts_status ts_config_take_dflash(const char *file, const cJSON *json, const ts_config *target, ts_config *out,
                                ts_error *err)
{
    const source s = {.file = file, .root = json, .text = json, .err = err};
    *out = (ts_config){.draft = TS_DRAFT_DFLASH, .max_positions = target->max_positions, .moe = {.groups = 1}};
    strcpy(out->model_type, "dflash");
    return cJSON_IsObject(json) ? read_config(&s, target, out) : bad(&s, NULL, "must be a JSON object");
}

ts_status ts_config_load_dflash(const char *path, const ts_config *target, ts_config *out, ts_error *err)
{
    cJSON *json;
    ts_status status = ts_json_load(path, &json, err);
    if (status != TS_OK)
        return status;
    status = ts_config_take_dflash(path, json, target, out, err);
    cJSON_Delete(json);
    return status;
}
