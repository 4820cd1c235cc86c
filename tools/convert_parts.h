/* Private to tools/convert*.c: a tensor of the file to be, where its rows come from, and what they become. */
#ifndef TS_TOOLS_CONVERT_PARTS_H
#define TS_TOOLS_CONVERT_PARTS_H

#include "config/names.h"
#include "config/weights.h"
#include "format/gguf_write.h"

enum { TS_CONVERT_NAME = 64 };

/* What of the source's slot the tensor is. */
typedef enum {
    TS_FROM_WHOLE,
    TS_FROM_QKV,    /* of in_qkvz, by key head [q,k,v,z]: all q, all k, all v */
    TS_FROM_Z,      /* and all z */
    TS_FROM_KEYS,   /* of kv_b, by head [keys,values]: [Hq][rank][Dn], every head's turned */
    TS_FROM_VALUES, /* and [Hq][Dm][rank] */
    TS_FROM_FIRST,  /* a third of a vector */
    TS_FROM_SECOND,
    TS_FROM_THIRD,
} ts_convert_source;

/* E matrices [N,K] made of m, of which a stack of experts has E; or v. Neither: nothing. */
typedef struct {
    const ts_name *name;
    ts_convert_source from;
    bool stack; /* three dims in the file, however many E */
    int64_t E, N, K;
    const ts_matrix *m;
    const ts_ggml_type *type; /* of the matrices */
    const ts_vector *v;
    size_t size; /* of its data in the file */
    char full[TS_CONVERT_NAME];
} ts_convert_item;

/* convert_items.c: what the name stands for in that layer (-1: of the ends). type: of matrices, but for those that
 * stay f32. */
ts_convert_item ts_convert_find(const ts_weights *w, const ts_name *name, int64_t layer, const ts_ggml_type *type);

/* convert_values.c: row n of E*N, widened to f32; and element i of a vector, of n that are written. */
void ts_convert_row(const ts_weights *w, const ts_convert_item *i, int64_t n, float *row);
float ts_convert_value(const ts_weights *w, const ts_convert_item *i, int64_t j, int64_t n);

/* convert_type.c: the type of that name in small letters, of TS_CONVERT_TYPES; or NULL. */
const ts_ggml_type *ts_convert_type(const char *name);
/* llama.cpp's number of a file that is mostly of that type. */
uint32_t ts_convert_file_type(const ts_ggml_type *type);
/* K elements; false: the type cannot hold one of them. */
bool ts_convert_pack(const ts_ggml_type *type, const float *row, int64_t K, unsigned char *packed);

/* convert_tiktoken.c: the tokenizer's keys of a tiktoken.model, as llama.cpp's converter has them. */
ts_status ts_convert_tiktoken(const char *path, const ts_config *c, ts_gguf_out *out, ts_error *err);

#endif
