/* touchstone op on every MLX width and group, and which class the profile takes for each. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/weights_set.h"
#include "num/philox.h"
#include "tool.h"
#include "tools/capture.h"

#define DOWN "model.layers.0.mlp.down_proj"

enum { N = 64, K = 128 };

static capture got;
static uint32_t codes[N * K / 4];
static uint16_t scales[N * 4], biases[N * 4];

/* DENSE with an mlp of 128 instead of 96 channels: gate and up in bf16, down as `bits` in groups of `group`. */
static void put_model(set *s, int bits, int group)
{
    static uint16_t wide[2][K * N];
    char text[128];
    set_open(s, DENSE);
    config_set("intermediate_size", "128");
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "model.layers.%d.mlp.gate_proj.weight", i);
        *set_find(s, text) = (ts_tensor){set_find(s, text)->name, TS_BF16, 2, {K, N}, wide[0], sizeof wide[0]};
        snprintf(text, sizeof text, "model.layers.%d.mlp.up_proj.weight", i);
        *set_find(s, text) = (ts_tensor){set_find(s, text)->name, TS_BF16, 2, {K, N}, wide[1], sizeof wide[1]};
        snprintf(text, sizeof text, "model.layers.%d.mlp.down_proj.weight", i);
        *set_find(s, text) = (ts_tensor){set_find(s, text)->name, TS_BF16, 2, {N, K}, wide[0], sizeof wide[0]};
    }
    set_remove(s, DOWN ".weight");
    set_add(s, DOWN ".weight", TS_U32, N, K * bits / 32, codes, (size_t)(N * K * bits / 8));
    set_add(s, DOWN ".scales", TS_BF16, N, K / group, scales, (size_t)(N * K / group * 2));
    set_add(s, DOWN ".biases", TS_BF16, N, K / group, biases, (size_t)(N * K / group * 2));
    snprintf(text, sizeof text, "{\"bits\":4,\"group_size\":32,\"" DOWN "\":{\"bits\":%d,\"group_size\":%d}}", bits,
             group);
    config_set("quantization", text);
    assert_int_equal(ts_safetensors_write(path, s->t, s->n, NULL, 0, NULL), TS_OK);
}

static void every_width(void **state)
{
    (void)state;
    static const int widths[] = {2, 3, 4, 5, 6, 8}, groups[] = {32, 64, 128};
    char in[FOLDER_PATH];
    float x[3 * K];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        codes[i] = (uint32_t)(ts_uniform(1, i, 70) * 4294967296.0);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        scales[i] = (uint16_t)(0x3B00 + (uint32_t)(ts_uniform(2, i, 70) * 128) + (i % 3 == 0 ? 0x8000u : 0));
        biases[i] = (uint16_t)(0x3D00 + (uint32_t)(ts_uniform(3, i, 70) * 128));
    }
    for (size_t i = 0; i < 3 * K; i++)
        x[i] = (float)(ts_uniform(4, i, 70) - 0.5);
    ts_tensor t = {"x", TS_F32, 2, {3, K}, x, sizeof x};
    for (size_t b = 0; b < 6; b++)
        for (size_t g = 0; g < 3; g++) {
            set s;
            put_model(&s, widths[b], groups[g]);
            assert_int_equal(ts_safetensors_write(folder_file(&dir, "in", in), &t, 1, NULL, 0, NULL), TS_OK);
            capture_run(&got, ts_cmd_op, "op", "--op", "matmul", "--in", in, "--model", dir.path, "--layer", "0",
                        "--weight", "down_proj", NULL);
            const int on_codes = groups[g] == 64 && (widths[b] == 4 || widths[b] == 8);
            if (got.code != TS_OK || !strstr(got.out, on_codes ? "matmul_a64s8," : "matmul_dot32,") ||
                !strstr(got.out, "y F32 [3,64]: identical"))
                fail_msg("%d bits, group %d: exit %d\n%s%s", widths[b], groups[g], got.code, got.out, got.err);
            ts_safetensors_close(s.source);
            folder_empty(&dir);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(every_width, empty_dir)};
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
