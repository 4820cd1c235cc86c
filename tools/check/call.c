#include "format/block.h"
#include "check/call.h"

#include <stdlib.h>
#include <string.h>

#include "check/call_parts.h"
#include "check/inputs.h"

void *ts_call_member(const ts_call *c, size_t offset)
{
    return (char *)c->args + offset;
}

/* Which of the call's matrices field i is. */
int ts_call_matrix_at(const ts_call *c, int i)
{
    int n = 0;
    for (int j = 0; j < i; j++)
        n += c->op->field[j].kind == TS_FIELD_MATRIX;
    return n;
}

static size_t kv_element_size(const ts_kv *kv, bool wide)
{
    if (kv->dtype == TS_KV_REAL)
        return wide ? sizeof(double) : sizeof(float);
    return kv->dtype < TS_KV_E4M3 ? sizeof(uint16_t) : sizeof(uint8_t);
}

/* Rows of a pool of codes: each has a scale, and those of k and of v lie in front of the codes. 0 for other pools.
 */
static int64_t scale_count(const ts_call *c, const ts_field *f)
{
    if (f->kind != TS_FIELD_KV || !ts_call_kv_codes(c))
        return 0;
    const ts_kv *kv = ts_call_member(c, f->offset);
    return kv->pages * kv->page * ts_op_dim(c->op, c->args, f->dim[0]);
}

bool ts_call_kv_codes(const ts_call *c)
{
    for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name; i++)
        if (c->op->field[i].kind == TS_FIELD_KV)
            return ((const ts_kv *)ts_call_member(c, c->op->field[i].offset))->dtype >= TS_KV_E4M3;
    return false;
}

size_t ts_call_element_size(const ts_call *c, const ts_field *f)
{
    if (f->kind == TS_FIELD_KV)
        return kv_element_size(ts_call_member(c, f->offset), c->wide);
    if (f->kind == TS_FIELD_I8)
        return 1;
    return f->kind == TS_FIELD_I32 ? sizeof(int32_t) : c->wide ? sizeof(double) : sizeof(float);
}

static int64_t element_count(const ts_call *c, const ts_field *f)
{
    int64_t n = ts_field_count(c->op, f, c->args);
    if (f->kind == TS_FIELD_KV) {
        const ts_kv *kv = ts_call_member(c, f->offset);
        int64_t slots = 2 * kv->pages * kv->page;
        n = n > INT64_MAX / slots ? INT64_MAX : n * slots;
    }
    return n;
}

static void attach_kv(ts_call *c, const ts_field *f, int i)
{
    ts_kv *kv = ts_call_member(c, f->offset);
    int64_t scales = scale_count(c, f);
    size_t half = (c->size[i] - 2 * (size_t)scales * sizeof(float)) / 2;
    kv->table = c->table;
    kv->k_scale = scales ? c->data[i] : NULL;
    kv->v_scale = scales ? (float *)c->data[i] + scales : NULL;
    kv->width = ts_op_dim(c->op, c->args, f->dim[1]);
    kv->k = (float *)c->data[i] + 2 * scales;
    kv->v = c->v_pool ? c->v_pool : (char *)kv->k + half;
}

/* Points the args struct at array i. */
void ts_call_attach(ts_call *c, int i)
{
    const ts_field *f = &c->op->field[i];
    if (f->kind == TS_FIELD_KV) {
        attach_kv(c, f, i);
    } else if (f->kind == TS_FIELD_MATRIX) {
        const ts_matrix *first = c->guarded ? (const void *)c->guard[TS_GUARD_STRUCTS].data : c->matrix;
        *(const ts_matrix **)ts_call_member(c, f->offset) = first + ts_call_matrix_at(c, i);
    } else {
        memcpy(ts_call_member(c, f->offset), &c->data[i], sizeof c->data[i]);
    }
}

ts_status ts_call_allocate(ts_call *c, int i, ts_error *err)
{
    const ts_field *f = &c->op->field[i];
    int64_t n = element_count(c, f);
    if (n < 0 || n > (int64_t)1 << 26)
        return ts_fail(err, TS_BAD, NULL, f->name, "%lld elements are too many for a case", (long long)n);
    c->size[i] = (size_t)n * ts_call_element_size(c, f) + 2 * (size_t)scale_count(c, f) * sizeof(float);
    if (c->guarded)
        c->data[i] = ts_guard_new(&c->guard[i], c->size[i]) ? c->guard[i].data : NULL;
    else
        c->data[i] = malloc(c->size[i] ? c->size[i] : 1);
    if (!c->data[i])
        return ts_no_memory(err, c->size[i]);
    ts_call_fill(c, i);
    return TS_OK;
}

static void set_dims(const ts_case *k, ts_call *c)
{
    const cJSON *dims = cJSON_GetObjectItemCaseSensitive(k->json, "dims");
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(k->json, "params");
    for (int i = 0; i < TS_MAX_OP_DIMS && c->op->dim[i].name; i++) {
        const cJSON *d = cJSON_GetObjectItemCaseSensitive(dims, c->op->dim[i].name);
        *(int64_t *)ts_call_member(c, c->op->dim[i].offset) = cJSON_IsNumber(d) ? (int64_t)d->valuedouble : 0;
    }
    for (int i = 0; i < TS_MAX_PARAMS && c->op->param[i].name; i++) {
        const cJSON *p = cJSON_GetObjectItemCaseSensitive(params, c->op->param[i].name);
        *(double *)ts_call_member(c, c->op->param[i].offset) = p ? p->valuedouble : 0.0;
    }
}

static ts_status generate(const ts_case *k, ts_call *c, int i, ts_error *err)
{
    const ts_field *f = &c->op->field[i];
    const char *spec = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(k->json, "inputs"), f->name));
    ts_input in = {.case_file = k->path, .field = f->name, .spec = spec, .seed = k->seed, .stream = (uint32_t)i};
    if (f->kind == TS_FIELD_MATRIX)
        return ts_input_matrix(&in, ts_op_dim(c->op, c->args, f->dim[0]), ts_op_dim(c->op, c->args, f->dim[1]),
                               &c->matrix[ts_call_matrix_at(c, i)], c->matrix_data[ts_call_matrix_at(c, i)], err);
    if (f->kind == TS_FIELD_KV) {
        ts_status s = ts_input_kv_shape(&in, ts_call_member(c, f->offset), &c->table, &c->kv_filled,
                                        &c->kv_capacity, err);
        if (!s)
            s = ts_call_allocate(c, i, err);
        return s ? s
                 : ts_input_kv_fill(&in, ts_call_member(c, f->offset), ts_op_dim(c->op, c->args, f->dim[0]),
                                    ts_op_dim(c->op, c->args, f->dim[1]), c->data[i], err);
    }
    ts_status s = ts_call_allocate(c, i, err);
    if (s || f->role > TS_INOUT)
        return s;
    int64_t n = element_count(c, f), row = f->dim[1] ? ts_op_dim(c->op, c->args, f->dim[1]) : 1;
    if (f->kind == TS_FIELD_REAL)
        return ts_input_real(&in, n, row, c->data[i], err);
    return f->kind == TS_FIELD_I8 ? ts_input_i8(&in, n, c->data[i], err) : ts_input_i32(&in, n, c->data[i], err);
}

static bool all_in(const int32_t *x, int64_t n, int64_t lo, int64_t hi)
{
    bool in = true;
    for (int64_t i = 0; i < n; i++)
        in &= x[i] >= lo && x[i] <= hi;
    return in;
}

/* Rows of attention that see only keys the case has filled, in partitions it has. */
static const char *rows_in(const ts_call *c, int64_t T, int64_t parts, const int32_t *pos, const int32_t *len)
{
    int64_t most = c->kv_filled < 128 * parts ? c->kv_filled : 128 * parts;
    return all_in(pos, T, 0, 1 << 24) && all_in(len, T, 0, most) ? NULL
                                                                 : "keys past those in the cache, or past parts";
}

static bool is_attention(ts_op_id id)
{
    return id == TS_OP_ATTENTION || id == TS_OP_ATTENTION_PARTIAL || id == TS_OP_ATTENTION_BF16 ||
           id == TS_OP_ATTENTION_FLASH_GGML || id == TS_OP_ATTENTION_TILED_GGML ||
           id == TS_OP_ATTENTION_SOFTMAX_GGML || id == TS_OP_ATTENTION_WMMA;
}

/* A pool that this form of attention is not defined for. */
static const char *wrong_pool(ts_op_id id, const ts_attention_args *a)
{
    if (id == TS_OP_ATTENTION_WMMA && a->kv.dtype != TS_KV_BF16 && a->kv.dtype != TS_KV_F16)
        return "the pool is neither bf16 nor f16";
    if (a->kv.dtype >= TS_KV_E4M3 && id != TS_OP_ATTENTION && id != TS_OP_ATTENTION_PARTIAL)
        return "this form of attention reads no codes";
    return NULL;
}

/* Blocks where they are wanted, and B their bytes. */
static const char *blocks_fit(const ts_call *c, ts_op_id id)
{
    if (id != TS_OP_MATMUL_GGML && id != TS_OP_MATMUL_GGML_X86)
        return NULL;
    const ts_matmul_ggml_args *a = c->args;
    if (!ts_matrix_has_blocks(a->w))
        return "the matrix is not in ggml's blocks";
    return a->B == ts_block_row_bytes(a->w) ? NULL : "B is not the bytes of a row of activation blocks";
}

/* Does it read a matrix in groups of 64, and nothing else? */
static bool wants_codes(ts_op_id id)
{
    return id == TS_OP_MATMUL_A64S8 || id == TS_OP_GATE_UP_A64S8 || id == TS_OP_QKV_CONV_A64S8 ||
           id == TS_OP_MATMUL_LSE_A64 || id == TS_OP_MATMUL_LSE_A64_FMA || id == TS_OP_MATMUL_LSE_A8 ||
           id == TS_OP_GATE_UP_LSE_A8 || id == TS_OP_MATMUL_LSE_EX || id == TS_OP_MATMUL_LSE_F16;
}

/* What no coding checks, because the engine never lets it happen: indexes outside, matrices of another class. */
static const char *wrong_contents(const ts_call *c)
{
    ts_op_id id = (ts_op_id)(c->op - ts_op_table);
    if (id == TS_OP_EMBED) {
        const ts_embed_args *a = c->args;
        return all_in(a->id, a->T, 0, a->V - 1) ? NULL : "ids outside the vocabulary";
    }
    if (id == TS_OP_SELECTOR_SCORES) {
        const ts_selector_scores_args *a = c->args;
        bool in = all_in(a->prev, a->T, 0, a->V - 1) && all_in(a->cand, a->T * a->K, 0, a->V - 1);
        return in ? NULL : "ids outside the vocabulary";
    }
    if (id == TS_OP_KV_STORE) {
        const ts_kv_store_args *a = c->args;
        return a->pos + a->T <= c->kv_capacity ? NULL : "tokens past the capacity of the cache";
    }
    if (is_attention(id)) {
        const ts_attention_args *a = c->args;
        const char *wrong = wrong_pool(id, a);
        return wrong ? wrong : rows_in(c, a->T, a->parts, a->pos, a->len);
    }
    if (id == TS_OP_MLA_ATTENTION || id == TS_OP_MLA_ABSORBED) {
        const ts_mla_args *a = c->args;
        return rows_in(c, a->T, a->parts, a->pos, a->len);
    }
    if ((id == TS_OP_MATMUL_MLX || id == TS_OP_MATMUL_MLX_BF16) && c->matrix[0].format != TS_W_MLX)
        return "the matrix is not MLX";
    const char *why = blocks_fit(c, id);
    if (why)
        return why;
    for (int i = 0; wants_codes(id) && i < TS_MATRICES && c->matrix[i].N > 0; i++) {
        if (!ts_matrix_is_a64s8(&c->matrix[i]))
            return "the matrix is not MLX group 64 of 4 or 8 bits";
        if (c->matrix[i].bits != 4 && (id == TS_OP_MATMUL_LSE_A8 || id == TS_OP_GATE_UP_LSE_A8))
            return "the matrix is not of 4 bits";
    }
    return NULL;
}

ts_status ts_call_from_case(const ts_case *k, ts_call *out, ts_error *err)
{
    memset(out, 0, sizeof *out);
    out->op = &ts_op_table[k->op];
    out->args = calloc(1, out->op->args_size);
    if (!out->args)
        return ts_no_memory(err, out->op->args_size);
    set_dims(k, out);
    ts_status s = TS_OK;
    for (int i = 0; !s && i < TS_MAX_FIELDS && out->op->field[i].name; i++) {
        s = generate(k, out, i, err);
        if (!s)
            ts_call_attach(out, i);
    }
    if (!s && wrong_contents(out))
        s = ts_fail(err, TS_BAD, k->path, "inputs", "%s", wrong_contents(out));
    if (s)
        ts_call_free(out);
    return s;
}

static void copy_values(const ts_call *from, ts_call *to, int i)
{
    const ts_field *f = &from->op->field[i];
    size_t size = ts_call_element_size(from, f);
    if (size == ts_call_element_size(to, f)) {
        memcpy(to->data[i], from->data[i], from->size[i]);
        return;
    }
    for (size_t j = 0; j < from->size[i] / size; j++)
        ((double *)to->data[i])[j] = (double)((const float *)from->data[i])[j];
}

static ts_status copy_table(const ts_call *from, ts_call *out, ts_error *err)
{
    for (int i = 0; from->table && i < TS_MAX_FIELDS && from->op->field[i].name; i++)
        if (from->op->field[i].kind == TS_FIELD_KV) {
            size_t size = (size_t)((ts_kv *)ts_call_member(from, from->op->field[i].offset))->pages *
                          sizeof *out->table;
            out->table = malloc(size);
            if (!out->table)
                return ts_no_memory(err, size);
            memcpy(out->table, from->table, size);
        }
    return TS_OK;
}

ts_status ts_call_copy(const ts_call *from, bool wide, ts_call *out, ts_error *err)
{
    memset(out, 0, sizeof *out);
    out->op = from->op;
    out->wide = wide;
    out->kv_filled = from->kv_filled;
    out->kv_capacity = from->kv_capacity;
    memcpy(out->matrix, from->matrix, sizeof out->matrix); /* borrowed: matrix_data stays NULL */
    out->args = malloc(from->op->args_size);
    if (!out->args)
        return ts_no_memory(err, from->op->args_size);
    memcpy(out->args, from->args, from->op->args_size);
    ts_status s = copy_table(from, out, err);
    for (int i = 0; !s && i < TS_MAX_FIELDS && out->op->field[i].name; i++) {
        if (out->op->field[i].kind != TS_FIELD_MATRIX)
            s = ts_call_allocate(out, i, err);
        if (!s && out->data[i] && out->op->field[i].role <= TS_INOUT)
            copy_values(from, out, i);
        if (!s)
            ts_call_attach(out, i);
    }
    if (s)
        ts_call_free(out);
    return s;
}

ts_status ts_call_pack(ts_call *c, const ts_packing *p, ts_error *err)
{
    ts_status s = TS_OK;
    c->packed_here = true;
    for (int i = 0; !s && i < TS_MATRICES && c->matrix[i].N > 0; i++)
        s = ts_matrix_pack_as(&c->matrix[i], p, 1, err);
    return s;
}

int64_t *ts_call_dim(const ts_call *c, const char *name)
{
    for (int i = 0; i < TS_MAX_OP_DIMS && c->op->dim[i].name; i++)
        if (strcmp(c->op->dim[i].name, name) == 0)
            return ts_call_member(c, c->op->dim[i].offset);
    return NULL;
}

int ts_call_field(const ts_call *c, const char *name)
{
    for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name; i++)
        if (strcmp(c->op->field[i].name, name) == 0)
            return i;
    return -1;
}

ts_status ts_call_slice(const ts_call *from, int64_t t, int64_t n, ts_call *out, ts_error *err)
{
    ts_call piece = *from; /* a view: the same args and arrays, moved along by t rows */
    int64_t *T = ts_call_dim(from, "T"), *pos = ts_call_dim(from, "pos"), rows = *T, start = pos ? *pos : 0;
    for (int i = 0; i < TS_MAX_FIELDS && from->op->field[i].name; i++) {
        const ts_field *f = &from->op->field[i];
        if (!from->data[i] || !f->dim[0] || strcmp(f->dim[0], "T") != 0)
            continue;
        size_t row = from->size[i] / (size_t)rows;
        piece.data[i] = (char *)from->data[i] + (size_t)t * row;
        piece.size[i] = (size_t)n * row;
    }
    *T = n;
    if (pos)
        *pos = start + t;
    ts_status s = ts_call_copy(&piece, false, out, err);
    *T = rows;
    if (pos)
        *pos = start;
    return s;
}

void ts_call_free(ts_call *c)
{
    for (int i = 0; i < TS_GUARDS; i++)
        ts_guard_free(&c->guard[i]);
    for (int i = 0; i < TS_MAX_FIELDS && !c->guarded; i++)
        free(c->data[i]);
    for (int i = 0; i < TS_MATRICES; i++) {
        if (c->packed_here)
            ts_matrix_unpack(&c->matrix[i]);
        for (int j = 0; j < 3; j++)
            free(c->matrix_data[i][j]);
    }
    if (!c->guarded) {
        free(c->table);
        free(c->args);
    }
    memset(c, 0, sizeof *c);
}

static bool named(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (strcspn(p, ",") == len && memcmp(p, name, len) == 0)
            return true;
    return false;
}

void ts_call_expose(ts_call *c, const char *exposes)
{
    for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name; i++)
        if (c->op->field[i].role == TS_INNER && !named(exposes, c->op->field[i].name)) {
            if (!c->guarded)
                free(c->data[i]);
            ts_guard_free(&c->guard[i]);
            c->data[i] = NULL;
            ts_call_attach(c, i);
        }
}

bool ts_call_has(const ts_call *c, int field)
{
    return c->data[field] != NULL;
}

static ts_dtype field_dtype(const ts_call *c, const ts_field *f)
{
    if (f->kind == TS_FIELD_KV && ts_call_kv_codes(c))
        return TS_U8;
    if (f->kind == TS_FIELD_KV && ((const ts_kv *)ts_call_member(c, f->offset))->dtype)
        return ((const ts_kv *)ts_call_member(c, f->offset))->dtype == TS_KV_F16 ? TS_F16 : TS_BF16;
    if (f->kind == TS_FIELD_I8)
        return TS_I8;
    return f->kind == TS_FIELD_I32 ? TS_I32 : c->wide ? TS_F64 : TS_F32;
}

ts_tensor ts_call_tensor(const ts_call *c, int field)
{
    const ts_field *f = &c->op->field[field];
    ts_tensor t = {.name = f->name, .dtype = field_dtype(c, f), .data = c->data[field], .size = c->size[field]};
    if (t.dtype == TS_U8) { /* scales and codes as bytes */
        t.ndim = 1;
        t.dim[0] = (int64_t)t.size;
        return t;
    }
    if (f->kind == TS_FIELD_KV) {
        const ts_kv *kv = ts_call_member(c, f->offset);
        t.ndim = 5;
        t.dim[0] = 2;
        t.dim[1] = kv->pages;
        t.dim[2] = ts_op_dim(c->op, c->args, f->dim[0]);
        t.dim[3] = kv->page;
        t.dim[4] = ts_op_dim(c->op, c->args, f->dim[1]);
        return t;
    }
    for (; t.ndim < 4 && f->dim[t.ndim]; t.ndim++)
        t.dim[t.ndim] = ts_op_dim(c->op, c->args, f->dim[t.ndim]);
    return t;
}
