/* GGUF files, version 2 and 3, mmapped read-only. Every rule of the format is
 * enforced on open: magic, version, counts, unique keys and names, value types,
 * shapes, block sizes, alignment, and that the tensors lie one after the other. */
#ifndef TS_FORMAT_GGUF_H
#define TS_FORMAT_GGUF_H

#include <stdbool.h>
#include "format/ggml_type.h"
#include "num/dtype.h"
#include "num/status.h"

typedef enum {
    TS_GGUF_U8,
    TS_GGUF_I8,
    TS_GGUF_U16,
    TS_GGUF_I16,
    TS_GGUF_U32,
    TS_GGUF_I32,
    TS_GGUF_F32,
    TS_GGUF_BOOL,
    TS_GGUF_STRING,
    TS_GGUF_ARRAY,
    TS_GGUF_U64,
    TS_GGUF_I64,
    TS_GGUF_F64,
    TS_GGUF_KINDS,
} ts_gguf_kind;

/* A metadata value as it lies in the file. */
typedef struct {
    const char *key;
    ts_gguf_kind kind; /* of the value, or of an array's elements */
    bool array;
    uint64_t count; /* 1, or of elements */
    const unsigned char *data;
} ts_gguf_value;

typedef struct ts_gguf ts_gguf;

/* Does the file begin with the magic of GGUF? False if it cannot be read. */
bool ts_gguf_is(const char *path);

ts_status ts_gguf_open(const char *path, ts_gguf **out, ts_error *err);
void ts_gguf_close(ts_gguf *g); /* NULL is fine */

const char *ts_gguf_path(const ts_gguf *g);
const void *ts_gguf_bytes(const ts_gguf *g, size_t *size); /* the whole file, for hashing */
int ts_gguf_version(const ts_gguf *g);
size_t ts_gguf_count(const ts_gguf *g);
/* Tensors in file order; the slowest dimension first, as elsewhere (GGUF has it last). A tensor of blocks has
 * dtype U8 and its shape in elements. Data are aligned to nothing. */
const ts_tensor *ts_gguf_at(const ts_gguf *g, size_t i);
const ts_tensor *ts_gguf_find(const ts_gguf *g, const char *name); /* or NULL */
const ts_ggml_type *ts_gguf_type(const ts_gguf *g, size_t i);

size_t ts_gguf_values(const ts_gguf *g);
const ts_gguf_value *ts_gguf_value_at(const ts_gguf *g, size_t i);
const ts_gguf_value *ts_gguf_get(const ts_gguf *g, const char *key); /* or NULL */

/* Element i of a value of numbers or bools. Integers are exact up to 2^53. */
double ts_gguf_number(const ts_gguf_value *v, uint64_t i);
/* The string at *at, which moves past it; start with v->data. Not NUL terminated. */
const char *ts_gguf_text(const unsigned char **at, size_t *size);
/* "u8" .. "f64". */
const char *ts_gguf_kind_name(ts_gguf_kind k);
/* Of one value; 0: strings and arrays. */
int ts_gguf_kind_bytes(ts_gguf_kind k);
/* The little-endian number of `bytes` bytes. */
uint64_t ts_gguf_unsigned(const unsigned char *p, int bytes);

#endif
