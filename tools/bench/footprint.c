#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */
#include "bench/footprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCK = 512, HUGE_PAGE = 2 << 20, SPARE = 512 << 20 };

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

ts_status ts_region_new(size_t bytes, ts_region *out, ts_error *err)
{
    size_t size = round_up(bytes + HUGE_PAGE, HUGE_PAGE);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *out = (ts_region){0};
    if (p == MAP_FAILED)
        return ts_no_memory(err, size);
    madvise(p, size, MADV_HUGEPAGE);
    *out = (ts_region){p, size};
    return TS_OK;
}

void ts_region_free(ts_region *r)
{
    if (r->base)
        munmap(r->base, r->bytes);
    *r = (ts_region){0};
}

int64_t ts_copies_for(size_t bytes, bool dram)
{
    return dram && bytes > 0 ? (int64_t)(TS_DRAM / bytes) + 1 : 1;
}

ts_status ts_memory_for(double bytes, ts_error *err)
{
    char line[128];
    long long kib = -1;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && kib < 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld", &kib) != 1)
            kib = -1;
    if (f)
        fclose(f);
    if (kib >= 0 && (double)kib * 1024 < bytes + SPARE)
        return ts_fail(err, TS_BAD, NULL, "memory", "%.1f GiB are needed, %.1f GiB are free",
                       (bytes + SPARE) / 0x1p30, (double)kib / 0x1p20);
    return TS_OK;
}

static size_t row_bytes(const ts_matrix *m)
{
    return (size_t)ts_matrix_row_bytes(m);
}

/* Bytes of data, scales and biases (packed: of the packing alone). */
static void matrix_parts(const ts_matrix *m, size_t part[3])
{
    size_t aux = m->format == TS_W_MLX ? (size_t)(m->N * (m->K / m->group)) * (m->aux == TS_F32 ? 4 : 2) : 0;
    part[0] = m->packed ? ts_packing_bytes(m->packing, m) : (size_t)m->N * row_bytes(m);
    part[1] = part[2] = m->packed ? 0 : aux;
}

static size_t matrix_stride(const ts_matrix *m)
{
    size_t part[3], sum = 0;
    matrix_parts(m, part);
    for (int i = 0; i < 3; i++)
        sum += round_up(part[i], BLOCK);
    return sum;
}

size_t ts_copy_bytes(const ts_call *c, const char *stream)
{
    int i = stream ? ts_call_field(c, stream) : -1;
    if (i < 0)
        return 0;
    if (c->op->field[i].kind != TS_FIELD_MATRIX)
        return round_up(c->size[i], BLOCK);
    size_t sum = 0;
    for (int m = 0; m < TS_MATRICES && c->matrix[m].N > 0; m++)
        sum += matrix_stride(&c->matrix[m]);
    return sum;
}

static const char *copy_part(char **at, const void *from, size_t bytes)
{
    char *to = *at;
    if (bytes > 0)
        memcpy(to, from, bytes);
    *at += round_up(bytes, BLOCK);
    return to;
}

static void copy_matrix(const ts_matrix *m, char *to, ts_matrix *view)
{
    size_t part[3];
    matrix_parts(m, part);
    *view = *m;
    if (m->packed) {
        view->packed = copy_part(&to, m->packed, part[0]);
        return;
    }
    view->data = copy_part(&to, m->data, part[0]);
    if (part[1] > 0) {
        view->scales = copy_part(&to, m->scales, part[1]);
        view->biases = copy_part(&to, m->biases, part[2]);
    }
}

/* Copy n of all matrices, one behind the other. */
static void copy_matrices(const ts_call *c, int64_t n, ts_copies *k)
{
    char *to = k->region.base + (size_t)n * k->stride;
    int m = 0;
    for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name; i++) {
        ts_matrix *view = &k->view[n * TS_MATRICES + m];
        if (c->op->field[i].kind != TS_FIELD_MATRIX)
            continue;
        copy_matrix(&c->matrix[m], to, view);
        *(const ts_matrix **)(void *)((char *)k->args[n] + c->op->field[i].offset) = view;
        to += matrix_stride(&c->matrix[m++]);
    }
}

/* Copy n of field i, and the args that point to it. */
static void copy_field(const ts_call *c, int i, int64_t n, ts_copies *k)
{
    const ts_field *f = &c->op->field[i];
    char *to = k->region.base + (size_t)n * k->stride, *at = (char *)k->args[n] + f->offset;
    if (f->kind == TS_FIELD_MATRIX) {
        copy_matrices(c, n, k);
        return;
    }
    memcpy(to, c->data[i], c->size[i]);
    if (f->kind == TS_FIELD_KV) {
        ts_kv *kv = (void *)at;
        kv->k = to;
        kv->v = to + c->size[i] / 2;
    } else {
        memcpy(at, &to, sizeof to);
    }
}

static ts_status new_args(const ts_call *c, ts_copies *k, ts_error *err)
{
    k->args = calloc((size_t)k->copies, sizeof *k->args);
    k->view = calloc((size_t)k->copies * TS_MATRICES, sizeof *k->view);
    bool whole = k->args && k->view;
    for (int64_t n = 0; whole && n < k->copies; n++) {
        k->args[n] = malloc(c->op->args_size);
        whole = k->args[n] != NULL;
        if (whole)
            memcpy(k->args[n], c->args, c->op->args_size);
    }
    return whole ? TS_OK : ts_no_memory(err, (size_t)k->copies * c->op->args_size);
}

ts_status ts_copies_new(const ts_call *c, const char *stream, bool dram, ts_copies *out, ts_error *err)
{
    *out = (ts_copies){.stride = ts_copy_bytes(c, stream)};
    out->copies = ts_copies_for(out->stride, dram);
    out->payload = c->matrix[0].N > 0 ? matrix_stride(&c->matrix[0]) : 0;
    ts_status s = new_args(c, out, err);
    if (!s && out->stride > 0)
        s = ts_memory_for((double)out->stride * (double)out->copies, err);
    if (!s && out->stride > 0)
        s = ts_region_new(out->stride * (size_t)out->copies, &out->region, err);
    for (int64_t n = 0; !s && out->stride > 0 && n < out->copies; n++)
        copy_field(c, ts_call_field(c, stream), n, out);
    if (s)
        ts_copies_free(out);
    return s;
}

void ts_copies_free(ts_copies *k)
{
    for (int64_t n = 0; k->args && n < k->copies; n++)
        free(k->args[n]);
    free(k->args);
    free(k->view);
    ts_region_free(&k->region);
    *k = (ts_copies){0};
}
