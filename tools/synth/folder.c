/* The folder: weights, config.json, and a tokenizer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "format/safetensors.h"
#include "synth/synth.h"
#include "verify.h"

typedef struct {
    const ts_synth_tensor *tensor;
    uint64_t seed;
} source;

static void fill(void *context, size_t i, uint64_t offset, void *piece, size_t size)
{
    const source *s = context;
    ts_synth_fill(&s->tensor[i], s->seed, offset, piece, size);
}

static ts_status write_shard(const ts_synth_options *o, const ts_synth_plan *p, int shard, const char *path,
                             ts_error *err)
{
    const ts_meta meta = {"format", o->format == TS_SYNTH_MLX ? "mlx" : "pt"};
    const size_t n = p->first[shard + 1] - p->first[shard];
    source s = {&p->tensor[p->first[shard]], o->seed};
    ts_tensor *view = malloc((n + 1) * sizeof *view);
    if (!view)
        return ts_no_memory(err, (n + 1) * sizeof *view);
    for (size_t i = 0; i < n; i++)
        view[i] = s.tensor[i].t;
    ts_status status = ts_safetensors_stream(path, view, n, &meta, 1, fill, &s, TS_SYNTH_PIECE, err);
    free(view);
    return status;
}

static ts_status write_index(const ts_synth_plan *p, const char *path, ts_error *err)
{
    cJSON *root = cJSON_CreateObject(), *meta = cJSON_AddObjectToObject(root, "metadata");
    cJSON *map = cJSON_AddObjectToObject(root, "weight_map");
    bool whole = map && cJSON_AddNumberToObject(meta, "total_size", (double)p->bytes);
    for (int s = 0; s < p->files; s++)
        for (size_t i = p->first[s]; i < p->first[s + 1] && whole; i++)
            whole = cJSON_AddStringToObject(map, p->tensor[i].name, p->file[s]) != NULL;
    ts_status status = whole ? ts_json_save(path, root, err) : ts_no_memory(err, p->n * sizeof(cJSON));
    cJSON_Delete(root);
    return status;
}

static ts_status write_shards(const ts_synth_options *o, const ts_synth_plan *p, ts_staging *s, ts_error *err)
{
    char path[TS_STAGING_PATH + 128];
    ts_status status = TS_OK;
    for (int i = 0; i < p->files && !status; i++)
        status = write_shard(o, p, i, ts_staging_add(s, p->file[i], path), err);
    if (status || p->files == 1)
        return status;
    return write_index(p, ts_staging_add(s, "model.safetensors.index.json", path), err);
}

static bool add_sizes(cJSON *o, const ts_synth_shape *s)
{
    const struct {
        const char *key;
        int64_t value;
    } size[] = {
        {"vocab_size", s->V},
        {"hidden_size", s->C},
        {"intermediate_size", s->I},
        {"num_hidden_layers", s->layers},
        {"num_attention_heads", s->Hq},
        {"num_key_value_heads", s->Hkv},
        {"head_dim", s->D},
        {"linear_num_key_heads", s->Hk},
        {"linear_num_value_heads", s->Hv},
        {"linear_key_head_dim", s->Dk},
        {"linear_value_head_dim", s->Dv},
        {"linear_conv_kernel_dim", s->W},
        {"max_position_embeddings", s->max_positions},
        {"eos_token_id", 2042}, /* of the tokenizer that is copied */
    };
    bool whole = true;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        whole &= cJSON_AddNumberToObject(o, size[i].key, (double)size[i].value) != NULL;
    return whole;
}

static bool add_rope(cJSON *o, const ts_synth_shape *s)
{
    int section[3];
    ts_synth_sections(s, section);
    cJSON *rope = cJSON_AddObjectToObject(o, "rope_parameters");
    cJSON_AddStringToObject(rope, "rope_type", "default");
    cJSON_AddNumberToObject(rope, "rope_theta", 1e7);
    cJSON_AddNumberToObject(rope, "partial_rotary_factor", (double)s->R / (double)s->D);
    return cJSON_AddItemToObject(rope, "mrope_section", cJSON_CreateIntArray(section, 3)) &&
           cJSON_AddTrueToObject(rope, "mrope_interleaved");
}

static bool add_layer_types(cJSON *o, const ts_synth_shape *s)
{
    cJSON *types = cJSON_AddArrayToObject(o, "layer_types");
    bool whole = types != NULL;
    for (int64_t i = 0; i < s->layers && whole; i++)
        whole = cJSON_AddItemToArray(
            types, cJSON_CreateString(ts_synth_is_full(s, i) ? "full_attention" : "linear_attention"));
    return whole;
}

static bool add_quantization(cJSON *o, const ts_synth_options *p)
{
    if (p->format != TS_SYNTH_MLX)
        return true;
    cJSON *q = cJSON_AddObjectToObject(o, "quantization");
    cJSON_AddNumberToObject(q, "group_size", p->group);
    cJSON_AddNumberToObject(q, "bits", p->bits);
    return cJSON_AddStringToObject(q, "mode", "affine") != NULL;
}

static ts_status write_config(const ts_synth_options *p, const char *path, ts_error *err)
{
    cJSON *o = cJSON_CreateObject(), *names = cJSON_AddArrayToObject(o, "architectures");
    bool whole = names && cJSON_AddItemToArray(names, cJSON_CreateString("Qwen3_5ForCausalLM"));
    cJSON_AddStringToObject(o, "model_type", "qwen3_5_text");
    cJSON_AddStringToObject(o, "touchstone_synth", p->shape->name);
    cJSON_AddNumberToObject(o, "rms_norm_eps", 1e-6);
    whole = whole && cJSON_AddBoolToObject(o, "tie_word_embeddings", p->shape->tied) && add_sizes(o, p->shape) &&
            add_rope(o, p->shape) && add_layer_types(o, p->shape) && add_quantization(o, p);
    ts_status status = whole ? ts_json_save(path, o, err) : ts_no_memory(err, sizeof(cJSON));
    cJSON_Delete(o);
    return status;
}

/* A placeholder: that of the tiny model, whose ids are the first of a bigger vocabulary; the others have no text.
 */
static ts_status copy_tokenizer(const char *to, ts_error *err)
{
    char from[TS_STAGING_PATH], *text = NULL;
    size_t size = 0;
    snprintf(from, sizeof from, "%s/models/tiny-qwen35/tokenizer.json", ts_golden_folder(NULL));
    ts_status status = ts_read_file(from, &text, &size, err);
    if (!status)
        status = ts_write_file(to, text, size, err);
    free(text);
    return status;
}

static ts_status write_others(const ts_synth_options *o, ts_staging *s, ts_error *err)
{
    char path[TS_STAGING_PATH + 128];
    ts_status status = write_config(o, ts_staging_add(s, "config.json", path), err);
    return status ? status : copy_tokenizer(ts_staging_add(s, "tokenizer.json", path), err);
}

static ts_status write_files(const ts_synth_options *o, const ts_synth_plan *p, ts_staging *s, ts_error *err)
{
    if (o->format == TS_SYNTH_GGUF)
        return ts_synth_gguf(o, p, s, err);
    ts_status status = write_others(o, s, err);
    return status ? status : write_shards(o, p, s, err);
}

ts_status ts_synth(const ts_synth_options *o, const char *out, ts_synth_result *result, ts_error *err)
{
    ts_synth_plan p = {0}; /* its file names are needed until the end */
    ts_staging s;
    bool holds = false;
    ts_status status = ts_folder_holds_files(out, &holds, err);
    if (!status && holds)
        status = ts_fail(err, TS_USAGE, out, NULL, "is not empty");
    if (!status)
        status = ts_staging_open(&s, out, err);
    if (status)
        return status;
    status = ts_synth_plan_new(o, &p, err);
    *result = (ts_synth_result){p.n, p.bytes, p.files};
    if (!status)
        status = write_files(o, &p, &s, err);
    if (!status)
        status = ts_staging_commit(&s, NULL, err);
    if (status)
        ts_staging_abort(&s);
    ts_synth_plan_free(&p);
    return status;
}
