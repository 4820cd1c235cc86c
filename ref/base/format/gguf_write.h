/* Puts a GGUF file together: keys, then tensors, then the file with a place for the
 * data of each, which the caller writes in order. */
#ifndef TS_FORMAT_GGUF_WRITE_H
#define TS_FORMAT_GGUF_WRITE_H

#include "format/file.h"
#include "format/gguf.h"

enum { TS_GGUF_ALIGNMENT = 32 };

typedef struct {
    unsigned char *bytes;
    size_t n, room;
} ts_gguf_bytes_out;

/* Zero to begin with. Out of memory is remembered and reported by ts_gguf_out_begin. */
typedef struct {
    ts_gguf_bytes_out keys, tensors;
    uint64_t n_keys, n_tensors;
    uint64_t offset; /* of the next tensor's data */
    bool failed;
} ts_gguf_out;

void ts_gguf_put_u32(ts_gguf_out *o, const char *key, uint32_t x);
void ts_gguf_put_f32(ts_gguf_out *o, const char *key, float x);
void ts_gguf_put_bool(ts_gguf_out *o, const char *key, bool x);
void ts_gguf_put_text(ts_gguf_out *o, const char *key, const char *text);
/* An array's head; then its `count` elements, one call each. */
void ts_gguf_put_array(ts_gguf_out *o, const char *key, ts_gguf_kind kind, uint64_t count);
void ts_gguf_put_element(ts_gguf_out *o, ts_gguf_kind kind, uint64_t bits);
void ts_gguf_put_string(ts_gguf_out *o, const char *text);
/* dim[0] is the slowest. Returns the bytes of its data. */
size_t ts_gguf_put_tensor(ts_gguf_out *o, const char *name, int ndim, const int64_t *dim, const ts_ggml_type *type);

/* Writes all that comes before the data. After the data of each tensor: ts_gguf_out_pad. */
ts_status ts_gguf_out_begin(const ts_gguf_out *o, ts_out *file, ts_error *err);
ts_status ts_gguf_out_pad(ts_out *file, size_t size, ts_error *err);
void ts_gguf_out_free(ts_gguf_out *o);

#endif
