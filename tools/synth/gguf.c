/* GGUF v3, architecture qwen35, with the types llama.cpp's Q4_K_M gives. There is no tokenizer in it: the model is
 * for programs that feed it ids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/file.h"
#include "synth/synth.h"

enum { ALIGNMENT = 32, F32 = 0, Q4_K = 12, Q6_K = 14, Q4_K_M = 15 };
enum { U32 = 4, FLOAT = 6, STRING = 8, ARRAY = 9, I32 = 5 };

/* Writes little-endian numbers; errors stay in the stream until it is closed. */
static void put(FILE *f, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fputc((int)(value >> (8 * i) & 255), f);
}

static void put_text(FILE *f, const char *text)
{
    put(f, strlen(text), 8);
    fputs(text, f);
}

static void put_key(FILE *f, const char *key, int type)
{
    put_text(f, key);
    put(f, (uint64_t)type, 4);
}

static void put_string(FILE *f, const char *key, const char *value)
{
    put_key(f, key, STRING);
    put_text(f, value);
}

static void put_real(FILE *f, const char *key, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(f, key, FLOAT);
    put(f, bits, 4);
}

static void put_sections(FILE *f, const ts_synth_shape *s)
{
    int section[4] = {0};
    ts_synth_sections(s, section);
    put_key(f, "qwen35.rope.dimension_sections", ARRAY);
    put(f, I32, 4);
    put(f, 4, 8);
    for (int i = 0; i < 4; i++)
        put(f, (uint64_t)section[i], 4);
}

enum { METADATA = 25 };

static void put_metadata(FILE *f, const ts_synth_shape *s)
{
    const struct {
        const char *key;
        int64_t value;
    } number[METADATA - 6] = {
        {"general.alignment", ALIGNMENT},
        {"general.file_type", Q4_K_M},
        {"general.quantization_version", 2},
        {"qwen35.block_count", s->layers},
        {"qwen35.context_length", s->max_positions},
        {"qwen35.embedding_length", s->C},
        {"qwen35.feed_forward_length", s->I},
        {"qwen35.vocab_size", s->V},
        {"qwen35.attention.head_count", s->Hq},
        {"qwen35.attention.head_count_kv", s->Hkv},
        {"qwen35.attention.key_length", s->D},
        {"qwen35.attention.value_length", s->D},
        {"qwen35.rope.dimension_count", s->R},
        {"qwen35.full_attention_interval", s->interval},
        {"qwen35.ssm.conv_kernel", s->W},
        {"qwen35.ssm.state_size", s->Dk},
        {"qwen35.ssm.group_count", s->Hk},
        {"qwen35.ssm.time_step_rank", s->Hv},
        {"qwen35.ssm.inner_size", s->Hv * s->Dv},
    };
    put_string(f, "general.architecture", "qwen35");
    put_string(f, "general.name", s->name);
    put_string(f, "tokenizer.ggml.model", "none");
    put_real(f, "qwen35.attention.layer_norm_rms_epsilon", 1e-6f);
    put_real(f, "qwen35.rope.freq_base", 1e7f);
    put_sections(f, s);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        put_key(f, number[i].key, U32);
        put(f, (uint64_t)number[i].value, 4);
    }
}

static uint64_t padded(uint64_t n)
{
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_tensors(FILE *f, const ts_synth_plan *p)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < p->n; offset += padded(p->tensor[i++].t.size)) {
        const ts_synth_tensor *t = &p->tensor[i];
        put_text(f, t->name);
        put(f, (uint64_t)t->t.ndim, 4);
        for (int d = t->t.ndim - 1; d >= 0; d--) /* the fastest first */
            put(f, (uint64_t)t->t.dim[d], 8);
        put(f, t->make == TS_MAKE_Q4_K ? Q4_K : t->make == TS_MAKE_Q6_K ? Q6_K : F32, 4);
        put(f, offset, 8);
    }
}

/* malloc'd, up to the first tensor's data; NULL without memory. */
static char *header(const ts_synth_shape *s, const ts_synth_plan *p, size_t *size)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    if (!f)
        return NULL;
    fputs("GGUF", f);
    put(f, 3, 4);
    put(f, p->n, 8);
    put(f, METADATA, 8);
    put_metadata(f, s);
    put_tensors(f, p);
    for (uint64_t at = (uint64_t)ftell(f); at % ALIGNMENT; at++)
        fputc(0, f);
    bool failed = ferror(f) != 0;
    if (fclose(f) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

static ts_status write_tensor(ts_out *out, const ts_synth_tensor *t, uint64_t seed, unsigned char *piece,
                              ts_error *err)
{
    static const unsigned char zero[ALIGNMENT];
    ts_status status = TS_OK;
    for (size_t at = 0, n; at < t->t.size && !status; at += n) {
        n = t->t.size - at < TS_SYNTH_PIECE ? t->t.size - at : TS_SYNTH_PIECE;
        ts_synth_fill(t, seed, at, piece, n);
        status = ts_out_write(out, piece, n, err);
    }
    return status ? status : ts_out_write(out, zero, padded(t->t.size) - t->t.size, err);
}

static ts_status write_file(const char *path, const ts_synth_plan *p, uint64_t seed, const char *text, size_t size,
                            ts_error *err)
{
    ts_out out;
    unsigned char *piece = malloc(TS_SYNTH_PIECE);
    if (!piece)
        return ts_no_memory(err, TS_SYNTH_PIECE);
    ts_status status = ts_out_open(&out, path, err);
    if (!status) {
        status = ts_out_write(&out, text, size, err);
        for (size_t i = 0; i < p->n && !status; i++)
            status = write_tensor(&out, &p->tensor[i], seed, piece, err);
        status = ts_out_close(&out, status, err);
    }
    free(piece);
    return status;
}

ts_status ts_synth_gguf(const ts_synth_options *o, const ts_synth_plan *p, ts_staging *s, ts_error *err)
{
    char path[TS_STAGING_PATH + 128];
    size_t size = 0;
    char *text = header(o->shape, p, &size);
    if (!text)
        return ts_no_memory(err, p->n * sizeof *p->tensor);
    ts_status status = write_file(ts_staging_add(s, p->file[0], path), p, o->seed, text, size, err);
    free(text);
    return status;
}
