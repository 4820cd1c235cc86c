/* MLX's quantisation against other software's numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/external.h"
#include "mlx.h"
#include "ref.h"

static bool same_bytes(const ts_safetensors *f, const char *name, const void *x, size_t size)
{
    const ts_tensor *g = ts_safetensors_find(f, name);
    return g && g->size == size && memcmp(g->data, x, size) == 0;
}

static void add(ts_check *k, const char *what, const char *output, bool same)
{
    ts_report_add(k->report, what, output, same ? TS_EXACT : TS_FAIL, 0,
                  same ? NULL : "bytes differ from the golden's\n");
}

enum { MLX_ROWS = 16, MLX_K = 256 };

/* codes, packed words, scales, biases and dequantised values of one (bits, group), encoder mlx-cpu: the golden
 * has no other. */
static void mlx_one(ts_check *k, const ts_safetensors *f, const float *w, int bits, int group)
{
    uint8_t code[MLX_ROWS][MLX_K];
    uint32_t word[MLX_ROWS * MLX_K * 8 / 32];
    uint16_t scale[MLX_ROWS * MLX_K / 32], bias[MLX_ROWS * MLX_K / 32];
    float s[MLX_ROWS * MLX_K / 32], b[MLX_ROWS * MLX_K / 32], y[MLX_ROWS * MLX_K];
    int32_t id[MLX_ROWS];
    char what[64], name[48];
    ts_matrix plain = {.format = TS_W_F32, .N = MLX_ROWS, .K = MLX_K, .data = w};
    bool made = ts_mlx_quantize(ts_ref32.mlx_encode, &plain, bits, group, word, scale, bias) == -1;
    for (int r = 0; r < MLX_ROWS; r++) {
        int at = r * (MLX_K / group);
        ts_ref32.mlx_encode(w + r * MLX_K, MLX_K, bits, group, code[r], s + at, b + at);
        id[r] = r;
    }
    ts_matrix packed = {.format = TS_W_MLX,
                        .N = MLX_ROWS,
                        .K = MLX_K,
                        .data = word,
                        .bits = bits,
                        .group = group,
                        .aux = TS_BF16,
                        .scales = scale,
                        .biases = bias};
    ts_embed_args e = {.T = MLX_ROWS, .V = MLX_ROWS, .C = MLX_K, .id = id, .w = &packed, .y = y};
    ts_ref32.op(TS_OP_EMBED, &e);
    snprintf(what, sizeof what, "mlx %d bits group %d = golden", bits, group);
    size_t groups = (size_t)(MLX_ROWS * MLX_K / group);
    const struct {
        const char *part;
        const void *x;
        size_t size;
    } parts[] = {{"codes", code, sizeof code},
                 {"weight", word, (size_t)(MLX_ROWS * MLX_K * bits / 8)},
                 {"scales", scale, groups * 2},
                 {"biases", bias, groups * 2},
                 {"scale_f32", s, groups * sizeof *s},
                 {"bias_f32", b, groups * sizeof *b},
                 {"dequant", y, sizeof y}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(name, sizeof name, "b%d.g%d.%s", bits, group, parts[i].part);
        add(k, what, name, made && same_bytes(f, name, parts[i].x, parts[i].size));
    }
}

static ts_status mlx_bits(ts_check *k, const ts_safetensors *f, int bits, ts_error *err)
{
    static const int groups[] = {32, 64, 128};
    const ts_tensor *w = NULL;
    char name[16];
    snprintf(name, sizeof name, "b%d.w", bits);
    ts_status s = ts_external_tensor(f, name, TS_F32, &w, err);
    if (!s && ts_tensor_count(w) != MLX_ROWS * MLX_K)
        s = ts_fail(err, TS_BAD, ts_safetensors_path(f), name, "not %d x %d values", MLX_ROWS, MLX_K);
    float *copy = s ? NULL : ts_external_copy(w);
    if (!s && !copy)
        s = ts_no_memory(err, w->size);
    for (size_t i = 0; !s && i < sizeof groups / sizeof *groups; i++)
        mlx_one(k, f, copy, bits, groups[i]);
    free(copy);
    return s;
}

void ts_external_mlx(ts_check *k, const ts_case *c)
{
    static const int widths[] = {2, 3, 4, 5, 6, 8};
    ts_safetensors *f = NULL;
    ts_error err = {0};
    ts_status s = ts_external_open(k, c, "golden", &f, &err);
    for (size_t i = 0; !s && i < sizeof widths / sizeof *widths; i++)
        s = mlx_bits(k, f, widths[i], &err);
    if (s)
        ts_report_error(k->report, "golden", s, &err);
    ts_safetensors_close(f);
}
