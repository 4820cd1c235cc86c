/* What a GGUF file is known by, and its metadata values. */
#include "format/gguf.h"

#include <string.h>
#include <unistd.h>
#include "format/file.h"

static const struct {
    char name[8];
    int bytes;
} kinds[TS_GGUF_KINDS] = {
    {"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8},
};

const char *ts_gguf_kind_name(ts_gguf_kind k)
{
    return kinds[k].name;
}

int ts_gguf_kind_bytes(ts_gguf_kind k)
{
    return kinds[k].bytes;
}

uint64_t ts_gguf_unsigned(const unsigned char *p, int bytes)
{
    uint64_t n = 0;
    for (int i = bytes - 1; i >= 0; i--)
        n = n << 8 | p[i];
    return n;
}

double ts_gguf_number(const ts_gguf_value *v, uint64_t i)
{
    const int bytes = kinds[v->kind].bytes;
    const uint64_t n = ts_gguf_unsigned(v->data + i * (uint64_t)bytes, bytes);
    const uint32_t low = (uint32_t)n;
    float f;
    double d;
    switch (v->kind) {
    case TS_GGUF_I8:
        return (int8_t)n;
    case TS_GGUF_I16:
        return (int16_t)n;
    case TS_GGUF_I32:
        return (int32_t)n;
    case TS_GGUF_I64:
        return (double)(int64_t)n;
    case TS_GGUF_F32:
        memcpy(&f, &low, sizeof f);
        return (double)f;
    case TS_GGUF_F64:
        memcpy(&d, &n, sizeof d);
        return d;
    default:
        return (double)n;
    }
}

const char *ts_gguf_text(const unsigned char **at, size_t *size)
{
    *size = (size_t)ts_gguf_unsigned(*at, 8);
    const char *text = (const char *)*at + 8;
    *at += 8 + *size;
    return text;
}

bool ts_gguf_is(const char *path)
{
    char head[4];
    int fd;
    size_t size;
    if (ts_file_open(path, &fd, &size, NULL) != TS_OK)
        return false;
    bool is = read(fd, head, sizeof head) == (ssize_t)sizeof head && memcmp(head, "GGUF", sizeof head) == 0;
    close(fd);
    return is;
}
