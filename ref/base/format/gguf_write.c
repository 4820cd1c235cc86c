#include "format/gguf_write.h"

#include <stdlib.h>
#include <string.h>

static void put(ts_gguf_out *o, ts_gguf_bytes_out *to, const void *data, size_t n)
{
    if (n > to->room - to->n) {
        size_t room = 2 * (to->n + n) + 4096;
        unsigned char *more = o->failed ? NULL : realloc(to->bytes, room);
        if (more == NULL) {
            o->failed = true;
            return;
        }
        to->bytes = more;
        to->room = room;
    }
    memcpy(to->bytes + to->n, data, n);
    to->n += n;
}

static void put_number(ts_gguf_out *o, ts_gguf_bytes_out *to, uint64_t x, int bytes)
{
    unsigned char text[8];
    for (int i = 0; i < bytes; i++)
        text[i] = (unsigned char)(x >> (8 * i) & 255);
    put(o, to, text, (size_t)bytes);
}

static void put_name(ts_gguf_out *o, ts_gguf_bytes_out *to, const char *name)
{
    put_number(o, to, strlen(name), 8);
    put(o, to, name, strlen(name));
}

static void put_key(ts_gguf_out *o, const char *key, ts_gguf_kind kind)
{
    put_name(o, &o->keys, key);
    put_number(o, &o->keys, (uint64_t)kind, 4);
    o->n_keys++;
}

void ts_gguf_put_u32(ts_gguf_out *o, const char *key, uint32_t x)
{
    put_key(o, key, TS_GGUF_U32);
    put_number(o, &o->keys, x, 4);
}

void ts_gguf_put_f32(ts_gguf_out *o, const char *key, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_key(o, key, TS_GGUF_F32);
    put_number(o, &o->keys, bits, 4);
}

void ts_gguf_put_bool(ts_gguf_out *o, const char *key, bool x)
{
    put_key(o, key, TS_GGUF_BOOL);
    put_number(o, &o->keys, x, 1);
}

void ts_gguf_put_text(ts_gguf_out *o, const char *key, const char *text)
{
    put_key(o, key, TS_GGUF_STRING);
    ts_gguf_put_string(o, text);
}

void ts_gguf_put_array(ts_gguf_out *o, const char *key, ts_gguf_kind kind, uint64_t count)
{
    put_key(o, key, TS_GGUF_ARRAY);
    put_number(o, &o->keys, (uint64_t)kind, 4);
    put_number(o, &o->keys, count, 8);
}

void ts_gguf_put_element(ts_gguf_out *o, ts_gguf_kind kind, uint64_t bits)
{
    put_number(o, &o->keys, bits, ts_gguf_kind_bytes(kind));
}

void ts_gguf_put_string(ts_gguf_out *o, const char *text)
{
    put_name(o, &o->keys, text);
}

static size_t padding(size_t size)
{
    return (TS_GGUF_ALIGNMENT - size % TS_GGUF_ALIGNMENT) % TS_GGUF_ALIGNMENT;
}

size_t ts_gguf_put_tensor(ts_gguf_out *o, const char *name, int ndim, const int64_t *dim, const ts_ggml_type *type)
{
    int64_t n = 1;
    put_name(o, &o->tensors, name);
    put_number(o, &o->tensors, (uint64_t)ndim, 4);
    for (int i = ndim - 1; i >= 0; i--) {
        put_number(o, &o->tensors, (uint64_t)dim[i], 8);
        n *= dim[i];
    }
    put_number(o, &o->tensors, (uint64_t)type->id, 4);
    put_number(o, &o->tensors, o->offset, 8);
    size_t size = (size_t)(n / type->elements * type->bytes);
    o->offset += size + padding(size);
    o->n_tensors++;
    return size;
}

ts_status ts_gguf_out_begin(const ts_gguf_out *o, ts_out *file, ts_error *err)
{
    ts_gguf_out head = {0};
    if (o->failed)
        return ts_no_memory(err, o->keys.n + o->tensors.n);
    put(&head, &head.keys, "GGUF", 4);
    put_number(&head, &head.keys, 3, 4);
    put_number(&head, &head.keys, o->n_tensors, 8);
    put_number(&head, &head.keys, o->n_keys, 8);
    ts_status status = head.failed ? ts_no_memory(err, 24) : ts_out_write(file, head.keys.bytes, head.keys.n, err);
    if (status == TS_OK && o->keys.n > 0)
        status = ts_out_write(file, o->keys.bytes, o->keys.n, err);
    if (status == TS_OK && o->tensors.n > 0)
        status = ts_out_write(file, o->tensors.bytes, o->tensors.n, err);
    if (status == TS_OK)
        status = ts_gguf_out_pad(file, head.keys.n + o->keys.n + o->tensors.n, err);
    ts_gguf_out_free(&head);
    return status;
}

ts_status ts_gguf_out_pad(ts_out *file, size_t size, ts_error *err)
{
    static const unsigned char zero[TS_GGUF_ALIGNMENT];
    return ts_out_write(file, zero, padding(size), err);
}

void ts_gguf_out_free(ts_gguf_out *o)
{
    free(o->keys.bytes);
    free(o->tensors.bytes);
    *o = (ts_gguf_out){0};
}
