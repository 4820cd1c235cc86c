/* Panels and products of W4A8 against hashes published with its description, on its own input: M 8, N 16, K 2304.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/external.h"
#include "format/panel.h"
#include "num/convert.h"
#include "ref.h"

enum { M = 8, N = 16, K = 2304, G = K / 64 };

typedef struct {
    float x[M][K];
    uint32_t word[N][K / 8];
    uint16_t scale[N][G], bias[N][G];
    ts_matrix w;
    int8_t code[M][K];
    float step[M][K / 8], sum[M][G], y[M][N];
    uint32_t panel[2 * M * K]; /* of either codec: room for its padding too */
} w4a8;

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void w4a8_inputs(w4a8 *p)
{
    uint32_t state = 42;
    for (int m = 0; m < M; m++)
        for (int i = 0; i < K; i++)
            p->x[m][i] = ((float)draw(&state) - 32768.0f) / 8192.0f;
    for (int n = 0; n < N; n++)
        for (int i = 0; i < K; i++)
            p->word[n][i / 8] |= (draw(&state) & 15u) << 4 * (i % 8);
    for (int n = 0; n < N; n++)
        for (int g = 0; g < G; g++) {
            p->scale[n][g] = ts_f32_to_bf16(((float)(draw(&state) % 256) - 128.0f) / 8192.0f);
            p->bias[n][g] = ts_f32_to_bf16(((float)(draw(&state) % 256) - 128.0f) / 1024.0f);
        }
    for (int i = 0; i < 64; i++) {
        p->x[1][i] = 0.0f;
        p->x[2][i] = 0.5f;
    }
    p->x[3][5] = 1024.0f;
    p->w = (ts_matrix){.format = TS_W_MLX,
                       .N = N,
                       .K = K,
                       .data = p->word,
                       .bits = 4,
                       .group = 64,
                       .aux = TS_BF16,
                       .scales = p->scale,
                       .biases = p->bias};
}

static uint32_t fnv1a(const void *data, size_t size)
{
    const uint8_t *p = data;
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * 16777619u;
    return h;
}

/* Compares with the hash that the case expects under `key`. */
static void compare(ts_check *k, const ts_case *c, const char *key, const void *data, size_t size)
{
    const char *want = ts_case_expect(c, key);
    char got[16], what[64], detail[96];
    snprintf(got, sizeof got, "%08x", fnv1a(data, size));
    snprintf(what, sizeof what, "ref32 %s = published hash", key);
    snprintf(detail, sizeof detail, "FNV-1a-32 %s, published %s\n", got, want ? want : "nothing");
    bool same = want && strcmp(got, want) == 0;
    ts_report_add(k->report, what, "", same ? TS_EXACT : TS_FAIL, 0, same ? NULL : detail);
}

/* Codec A64, its panel of 16-row tiles, and the products in three orders. */
static void class_a64(ts_check *k, const ts_case *c, w4a8 *p)
{
    static const struct {
        const char *key;
        ts_op_id op;
    } orders[] = {
        {"a64s8", TS_OP_MATMUL_A64S8}, {"a64", TS_OP_MATMUL_LSE_A64}, {"a64_fma", TS_OP_MATMUL_LSE_A64_FMA}};
    ts_quantize_a64_args q = {M, K, &p->x[0][0], &p->code[0][0], &p->step[0][0], &p->sum[0][0]};
    ts_matmul_a64s8_args a = {M, N, K, q.code, q.step, q.sum, &p->w, &p->y[0][0]};
    ts_ref32.op(TS_OP_QUANTIZE_A64, &q);
    ts_panel_a64_pack(M, K, 16, TS_PANEL_ASCENDING, q.code, q.step, q.sum, p->panel);
    compare(k, c, "a64_panel", p->panel, (size_t)ts_panel_a64_words(M, K, 16) * 4);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        ts_ref32.op(orders[i].op, &a);
        compare(k, c, orders[i].key, p->y, sizeof p->y);
    }
}

/* Codec A8, its panel, and the product with K in 1, 2 and 4 splits. */
static void class_a8(ts_check *k, const ts_case *c, w4a8 *p)
{
    ts_quantize_lse_a8_args q = {M, K, &p->x[0][0], &p->code[0][0], &p->step[0][0], &p->sum[0][0]};
    ts_matmul_lse_a8_args a = {M, N, K, 1, q.code, q.step, q.sum, &p->w, &p->y[0][0]};
    ts_ref32.op(TS_OP_QUANTIZE_LSE_A8, &q);
    ts_panel_a8_pack(M, K, q.code, q.step, q.sum, p->panel);
    compare(k, c, "a8_panel", p->panel, (size_t)ts_panel_a8_words(M, K) * 4);
    for (; a.S <= 4; a.S *= 2) {
        char key[8];
        snprintf(key, sizeof key, "a8_s%d", (int)a.S);
        ts_ref32.op(TS_OP_MATMUL_LSE_A8, &a);
        compare(k, c, key, p->y, sizeof p->y);
    }
}

void ts_external_w4a8(ts_check *k, const ts_case *c)
{
    w4a8 *p = calloc(1, sizeof *p);
    if (!p) {
        ts_report_add(k->report, "ref32", "y", TS_FAIL, 0, "out of memory\n");
        return;
    }
    w4a8_inputs(p);
    class_a64(k, c, p);
    class_a8(k, c, p);
    ts_matmul_args a = {M, N, K, &p->x[0][0], &p->w, &p->y[0][0]};
    ts_ref32.op(TS_OP_MATMUL_LSE_EX, &a);
    compare(k, c, "ex", p->y, sizeof p->y);
    free(p);
}
