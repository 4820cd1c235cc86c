/* A GGUF file put together piece by piece, with any mistake a test wants. */
#ifndef TS_TESTS_BASE_GGUF_BUILD_H
#define TS_TESTS_BASE_GGUF_BUILD_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "format/gguf.h"

typedef struct {
    unsigned char bytes[1 << 16];
    size_t n;
} build;

static inline void put_bytes(build *b, const void *data, size_t n)
{
    assert_true(n <= sizeof b->bytes - b->n);
    memcpy(b->bytes + b->n, data, n);
    b->n += n;
}

static inline void put_number(build *b, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        put_bytes(b, &(unsigned char){(unsigned char)(i < 8 ? x >> (8 * i) & 255 : 0)}, 1);
}

static inline void put_string(build *b, const char *text)
{
    put_number(b, strlen(text), 8);
    put_bytes(b, text, strlen(text));
}

static inline void put_header(build *b, uint64_t version, uint64_t tensors, uint64_t keys)
{
    b->n = 0;
    put_bytes(b, "GGUF", 4);
    put_number(b, version, 4);
    put_number(b, tensors, 8);
    put_number(b, keys, 8);
}

static inline void put_u32(build *b, const char *key, uint32_t x)
{
    put_string(b, key);
    put_number(b, TS_GGUF_U32, 4);
    put_number(b, x, 4);
}

static inline void put_f32(build *b, const char *key, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_string(b, key);
    put_number(b, TS_GGUF_F32, 4);
    put_number(b, bits, 4);
}

static inline void put_text(build *b, const char *key, const char *text)
{
    put_string(b, key);
    put_number(b, TS_GGUF_STRING, 4);
    put_string(b, text);
}

static inline void put_array(build *b, const char *key, ts_gguf_kind kind, uint64_t count)
{
    put_string(b, key);
    put_number(b, TS_GGUF_ARRAY, 4);
    put_number(b, kind, 4);
    put_number(b, count, 8);
}

/* rank 1 or 2; ne[0] first, as in the file. */
static inline void put_tensor(build *b, const char *name, int rank, int64_t n0, int64_t n1, int type,
                              uint64_t offset)
{
    put_string(b, name);
    put_number(b, (uint64_t)rank, 4);
    put_number(b, (uint64_t)n0, 8);
    if (rank > 1)
        put_number(b, (uint64_t)n1, 8);
    put_number(b, (uint64_t)type, 4);
    put_number(b, offset, 8);
}

static inline void put_padding(build *b, size_t alignment)
{
    while (b->n % alignment != 0)
        put_number(b, 0, 1);
}

#endif
