#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/json.h"
#include "inputs.h"
#include "num/convert.h"
#include "num/rope_table.h"
#include "quantize.h"
#include "ref.h"
#include "tool.h"
#include "tools/big_model.h"
#include "tools/capture.h"
#include "tools/inout.h"
#include "tools/tiny_trace.h"

enum { MOST = 12 };

static capture got;
static ts_trace *trace; /* of ref32 on TINY, profile ts, from position 0 */

static int set_up(void **state)
{
    (void)state;
    inout_make();
    trace = make_trace(TINY);
    return trace ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ts_trace_free(trace);
    folder_remove(&dir);
    return 0;
}

/* A traced tensor under another name. */
static ts_tensor traced(const ts_trace *from, const char *name, const char *as)
{
    return renamed(ts_trace_find(from, name), name, as);
}

typedef struct {
    const char *op, *layer, *weight;
    const char *pair[MOST]; /* name in the trace, name in the file; the last is the output */
} step;

static const step steps[] = {
    {"rmsnorm", "0", "input_norm", {"embed", "x", "layer.0.input_norm", "y"}},
    {"rmsnorm", "3", "post_norm", {"layer.3.mid", "x", "layer.3.post_norm", "y"}},
    {"rmsnorm", NULL, "final_norm", {"layer.7.out", "x", "final_norm", "y"}},
    {"matmul", "0", "in_qkv", {"layer.0.input_norm", "x", "layer.0.qkv", "y"}},
    {"matmul", "0", "in_z", {"layer.0.input_norm", "x", "layer.0.z", "y"}},
    {"matmul", "0", "out", {"layer.0.gated", "x", "layer.0.mixer", "y"}},
    {"matmul_dot32", "3", "o_proj", {"layer.3.gated", "x", "layer.3.mixer", "y"}},
    {"matmul", "3", "v_proj", {"layer.3.input_norm", "x", "layer.3.v", "y"}},
    {"matmul", "3", "down_proj", {"layer.3.swiglu", "x", "layer.3.mlp", "y"}},
    {"swiglu", NULL, NULL, {"layer.3.gate_proj", "a", "layer.3.up_proj", "b", "layer.3.swiglu", "y"}},
    {"residual_add", NULL, NULL, {"layer.3.mid", "a", "layer.3.mlp", "b", "layer.3.out", "y"}},
    {"sigmoid_gate", NULL, NULL, {"layer.3.attn", "a", "layer.3.gate", "b", "layer.3.gated", "y"}},
    {"conv1d", "0", NULL, {"layer.0.qkv", "x", "cache.0.conv_states", "state_out", "layer.0.conv", "y"}},
    {"gated_norm", "0", NULL, {"layer.0.o", "x", "layer.0.z", "z", "layer.0.gated", "y"}},
    {"gdn_step",
     NULL,
     NULL,
     {"layer.0.q", "q", "layer.0.k", "k", "layer.0.v", "v", "layer.0.g", "g", "layer.0.beta", "beta", "layer.0.o",
      "o"}},
    {"attention", NULL, NULL, {"layer.3.q", "q", "cache.3.k", "k", "cache.3.v", "v", "layer.3.attn", "o"}},
    {"kv_store", NULL, NULL, {"layer.3.k", "k", "layer.3.v", "v", "cache.3.k", "cache_k_out"}},
};

static int run_step(const step *s, const char *model, const ts_trace *from, const char *engine)
{
    ts_tensor t[MOST / 2];
    size_t n = 0;
    for (; n < MOST / 2 && s->pair[2 * n]; n++)
        t[n] = traced(from, s->pair[2 * n], s->pair[2 * n + 1]);
    write_in(t, n);
    char *arg[20] = {"--threads", "2"};
    int k = 2;
    if (s->layer)
        arg[k++] = "--layer", arg[k++] = (char *)(uintptr_t)s->layer;
    if (s->weight)
        arg[k++] = "--weight", arg[k++] = (char *)(uintptr_t)s->weight;
    return capture_run(&got, ts_cmd_op, "op", "--op", s->op, "--in", in, "--model", model, "--engine", engine, "-o",
                       out, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5], NULL);
}

/* Every operation of a layer, fed with what a forward pass fed it, gives what it gave there. */
static void reproduces_a_trace(void **state)
{
    (void)state;
    const char *const engine[] = {"all", "fast", "ref32"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (size_t e = 0; e < 3; e++)
            if (run_step(&steps[i], TINY, trace, engine[e]) != TS_OK)
                fail_msg("%s %s: exit %d\n%s%s", steps[i].op, engine[e], got.code, got.out, got.err);
    assert_non_null(strstr(got.out, "cache_k_out F32 [2,9,64]: identical"));
}

/* What the traces do not hold: outputs of ref32 on made-up inputs. */
enum { N = 96, H = 6, ROWS = 70 };

static float made[8][ROWS * N];

/* matmul on MLX codes is the class of the profile: A64S8. */
static void reproduces_a_quantised_trace(void **state)
{
    (void)state;
    char q4[FOLDER_PATH];
    ts_error err = {0};
    folder sub;
    snprintf(sub.path, sizeof sub.path, "%.50s/q4", dir.path);
    if (ts_quantize(TINY, folder_file(&dir, "q4", q4), &(ts_quantize_options){.bits = 4, .group = 64}, &err))
        fail_msg("%s: %s", err.file, err.reason);
    ts_trace *t = make_trace(q4);
    ts_tensor stray[] = {traced(t, "layer.0.input_norm", "x"), floats("step", made[0], 2, 9, 4, 0)};
    write_in(stray, 2);
    capture_run(&got, ts_cmd_op, "op", "--op", "matmul", "--in", in, "--model", q4, "--layer", "0", "--weight",
                "in_z", NULL);
    if (got.code != TS_BAD || !strstr(got.err, "step: not a tensor of matmul"))
        fail_msg("exit %d %s%s", got.code, got.out, got.err);
    for (size_t i = 0; i < 9; i++) {
        bool other = strcmp(steps[i].op, "matmul_dot32") == 0; /* asked for by name it is the other class */
        if (run_step(&steps[i], q4, t, "all") != (other ? TS_DIFFERS : TS_OK))
            fail_msg("%s: exit %d\n%s%s", steps[i].op, got.code, got.out, got.err);
        if (strcmp(steps[i].op, "matmul") == 0)
            assert_non_null(strstr(got.out, "matmul_a64s8, order A64S8"));
    }
    ts_trace_free(t);
    folder_remove(&sub);
}

static void tells_the_first_difference(void **state)
{
    (void)state;
    ts_tensor t[] = {traced(trace, "layer.0.input_norm", "x"), traced(trace, "layer.0.z", "y")};
    uint32_t *y = malloc(t[1].size);
    memcpy(y, t[1].data, t[1].size);
    y[770] ^= 1;
    t[1].data = y;
    write_in(t, 2);
    capture_run(&got, ts_cmd_op, "op", "--op", "matmul", "--in", in, "--model", TINY, "--layer", "0", "--weight",
                "in_z", NULL);
    assert_int_equal(got.code, TS_DIFFERS);
    assert_non_null(strstr(got.out, "1 of 6912 elements differ, at most 1 ulp"));
    assert_non_null(strstr(got.out, "[1][0][2]"));
    capture_run(&got, ts_cmd_op, "op", "--op", "matmul", "--in", in, "--model", TINY, "--layer", "0", "--weight",
                "in_z", "--json", NULL);
    cJSON *o = cJSON_Parse(got.out);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(o, "differs")));
    cJSON_Delete(o);
    free(y);
}

/* Halves are compared after rounding ours; f64 inputs stay f64 in ref64 alone. */
static void other_dtypes(void **state)
{
    (void)state;
    const double x[2] = {1.0 / 3, -2};
    uint16_t y[2] = {ts_f64_to_bf16(exp(x[0])), ts_f64_to_bf16(exp(x[1]))};
    const double exact[2] = {exp(x[0]), exp(x[1])};
    ts_tensor t[] = {{"x", TS_F64, 1, {2}, x, sizeof x}, {"y", TS_BF16, 1, {2}, y, sizeof y}};
    write_in(t, 2);
    const char *const engine[] = {"all", "ref64", "fast"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(capture_run(&got, ts_cmd_op, "op", "--op", "exp", "--in", in, "--engine", engine[i], NULL),
                         TS_OK);
    t[1] = (ts_tensor){"y", TS_F64, 1, {2}, exact, sizeof exact};
    write_in(t, 2);
    assert_int_equal(capture_run(&got, ts_cmd_op, "op", "--op", "exp", "--in", in, "--engine", "ref64", NULL),
                     TS_OK);
    y[1]++;
    t[1] = (ts_tensor){"y", TS_BF16, 1, {2}, y, sizeof y};
    write_in(t, 2);
    assert_int_equal(capture_run(&got, ts_cmd_op, "op", "--op", "exp", "--in", in, NULL), TS_DIFFERS);
}

static void make_up(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = (float)((i * 37 + 11) % 101) / 64 + 0.01f;
}

static void assert_identical(const char *op, const ts_tensor *t, size_t n, const char *more, const char *value)
{
    write_in(t, n);
    if (capture_run(&got, ts_cmd_op, "op", "--op", op, "--in", in, more, value, more ? "--model" : NULL, TINY,
                    NULL))
        fail_msg("%s: exit %d\n%s%s", op, got.code, got.out, got.err);
    if (!strstr(got.out, "in.safetensors against ref32") || strstr(got.out, "differ"))
        fail_msg("%s:\n%s", op, got.out);
    ts_tensor bad[8];
    memcpy(bad, t, n * sizeof *t);
    static char changed[sizeof made[0]];
    memcpy(changed, bad[n - 1].data, bad[n - 1].size);
    changed[bad[n - 1].size - 1] ^= 1;
    bad[n - 1].data = changed;
    write_in(bad, n);
    if (capture_run(&got, ts_cmd_op, "op", "--op", op, "--in", in, more, value, more ? "--model" : NULL, TINY,
                    NULL) != TS_DIFFERS)
        fail_msg("%s: a changed output: exit %d", op, got.code);
}

static void maps(void **state)
{
    (void)state;
    const ts_op_id map[] = {TS_OP_EXP, TS_OP_SIGMOID, TS_OP_SILU, TS_OP_SOFTPLUS, TS_OP_RSQRT};
    make_up(made[0], N);
    for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
        ts_ref32.op(map[i], &(ts_map_args){N, made[0], made[1]});
        ts_tensor t[] = {floats("x", made[0], 1, N, 0, 0), floats("y", made[1], 1, N, 0, 0)};
        assert_identical(ts_op_table[map[i]].name, t, 2, NULL, NULL);
    }
}

static void rope(void **state)
{
    (void)state;
    double inv_freq[64];
    ts_weights *w = NULL;
    make_up(made[0], 3 * H * 64);
    assert_int_equal(ts_weights_load_part(TINY, -1, "", &w, NULL), TS_OK);
    const int64_t r = w->cfg.R, pos = 1000;
    ts_rope_inv_freq(w->cfg.theta, r, inv_freq);
    for (int64_t t = 0; t < 3; t++)
        ts_rope_row_f32(inv_freq, r, pos + t, made[1] + t * r / 2, made[2] + t * r / 2);
    ts_weights_free(w);
    ts_ref32.op(TS_OP_ROPE, &(ts_rope_args){3, H, 64, r, made[0], made[1], made[2], made[3]});
    ts_tensor x = floats("x", made[0], 3, 3, H, 64), y = floats("y", made[3], 3, 3, H, 64),
              c = floats("cos", made[1], 2, 3, r / 2, 0), s = floats("sin", made[2], 2, 3, r / 2, 0);
    assert_identical("rope", (ts_tensor[]){x, c, s, y}, 4, NULL, NULL);
    assert_identical("rope", (ts_tensor[]){x, c, s, y}, 4, "--layer", "0");
    assert_identical("rope", (ts_tensor[]){x, {"pos", TS_I64, 1, {1}, &pos, 8}, y}, 3, "--layer", "0");
    write_in((ts_tensor[]){x, c}, 2);
    capture_run(&got, ts_cmd_op, "op", "--op", "rope", "--in", in, NULL);
    assert_non_null(strstr(got.err, "sin: missing"));
    write_in(&x, 1);
    assert_int_equal(capture_run(&got, ts_cmd_op, "op", "--op", "rope", "--in", in, NULL), TS_USAGE);
    assert_non_null(strstr(got.err, "--model"));
}

static void gates(void **state)
{
    (void)state;
    ts_weights *w = NULL;
    make_up(made[0], 2 * 5 * H);
    assert_int_equal(ts_weights_load_part(TINY, 0, "", &w, NULL), TS_OK);
    const float *a = made[0], *b = made[0] + 5 * H;
    ts_ref32.op(TS_OP_GDN_GATES, &(ts_gdn_gates_args){5, w->cfg.Hv, a, b, w->layer[0].A_log.v,
                                                      w->layer[0].dt_bias.v, made[1], made[2]});
    ts_tensor t[] = {floats("a", a, 2, 5, H, 0), floats("b", b, 2, 5, H, 0), floats("g", made[1], 2, 5, H, 0),
                     floats("beta", made[2], 2, 5, H, 0)};
    assert_int_equal(w->cfg.Hv, H);
    ts_weights_free(w);
    assert_identical("gdn_gates", t, 4, "--layer", "0");
    write_in(t, 2); /* A GGUF holds -exp(A_log): as A_log it would give another decay. */
    assert_int_equal(capture_run(&got, ts_cmd_op, "op", "--op", "gdn_gates", "--in", in, "--layer", "0", "--model",
                                 TINY "/tiny-qwen35-mtp-q4_k_m.gguf", NULL),
                     TS_BAD);
    assert_non_null(strstr(got.err, "A_log: the file holds -exp(A_log)"));
}

static void codes(void **state)
{
    (void)state;
    int8_t code[5 * 128];
    make_up(made[0], 5 * 128);
    ts_ref32.op(TS_OP_QUANTIZE_A64, &(ts_quantize_a64_args){5, 128, made[0], code, made[1], made[2]});
    ts_tensor t[] = {floats("x", made[0], 2, 5, 128, 0),
                     {"code", TS_I8, 2, {5, 128}, code, sizeof code},
                     floats("step", made[1], 2, 5, 2, 0),
                     floats("sum", made[2], 2, 5, 2, 0)};
    assert_identical("quantize_a64", t, 4, NULL, NULL);
}

static void chunks(void **state)
{
    (void)state;
    const int64_t pos = 40;
    make_up(made[0], ROWS * 2 * 16);
    for (int i = 0; i < ROWS * 2 * 16; i++)
        made[0][i] *= 0.1f, made[1][i] = made[0][ROWS * 2 * 16 - 1 - i], made[2][i] = made[0][i] - 0.05f;
    for (int i = 0; i < ROWS * 2; i++)
        made[3][i] = -0.01f * (float)(i % 9), made[4][i] = 0.1f * (float)(i % 7);
    memset(made[5], 0, sizeof made[5]);
    ts_ref32.op(TS_OP_GDN_CHUNK64, &(ts_gdn_args){ROWS, 2, 2, 16, 16, pos, 0, made[0], made[1], made[2], made[3],
                                                  made[4], made[5], made[6]});
    ts_tensor t[] = {floats("q", made[0], 3, ROWS, 2, 16),       floats("k", made[1], 3, ROWS, 2, 16),
                     floats("v", made[2], 3, ROWS, 2, 16),       floats("g", made[3], 2, ROWS, 2, 0),
                     floats("beta", made[4], 2, ROWS, 2, 0),     {"pos", TS_I64, 1, {1}, &pos, 8},
                     floats("state_out", made[5], 3, 2, 16, 16), floats("o", made[6], 3, ROWS, 2, 16)};
    assert_identical("gdn_chunk64", t, 8, NULL, NULL);
}

/* The bytes are right, the shape is not; rows in front are. */
static void other_shapes(void **state)
{
    (void)state;
    ts_tensor t[] = {traced(trace, "layer.0.input_norm", "x"), traced(trace, "layer.0.qkv", "y")};
    const int64_t shape[][4] = {{2, 9, 1280, 0}, {3, 1, 9, 1280},     {3, 3, 3, 1280}, {3, 9, 10, 128},
                                {2, 1280, 9, 0}, {1, 9 * 1280, 0, 0}, {3, 9, 1280, 1}, {2, 18, 640, 0}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        bool right = i < 4 || i == 6;
        t[1].ndim = (int)shape[i][0];
        memcpy(t[1].dim, shape[i] + 1, 3 * sizeof *t[1].dim);
        write_in(t, 2);
        capture_run(&got, ts_cmd_op, "op", "--op", "matmul", "--in", in, "--model", TINY, "--layer", "0",
                    "--weight", "in_qkv", NULL);
        if (got.code != (right ? TS_OK : TS_BAD) || (!right && !strstr(got.err, "y: has shape [")))
            fail_msg("shape %d: exit %d %s%s", (int)i, got.code, got.out, got.err);
    }
}

/* Maps know n only: the shapes of what the user gave must agree. */
static void shapes_of_maps(void **state)
{
    (void)state;
    make_up(made[0], 12);
    ts_ref32.op(TS_OP_RESIDUAL_ADD, &(ts_zip_args){12, made[0], made[0], made[1]});
    ts_tensor t[] = {floats("a", made[0], 2, 3, 4, 0), floats("b", made[0], 2, 3, 4, 0),
                     floats("y", made[1], 2, 3, 4, 0)};
    assert_identical("residual_add", t, 3, NULL, NULL);
    t[2] = floats("y", made[1], 1, 12, 0, 0);
    assert_identical("residual_add", t, 3, NULL, NULL);
    t[2] = floats("y", made[1], 2, 4, 3, 0);
    write_in(t, 3);
    assert_int_equal(capture_run(&got, ts_cmd_op, "op", "--op", "residual_add", "--in", in, NULL), TS_BAD);
    assert_non_null(strstr(got.err, "y: has shape [4,3], but a has [3,4]"));
    t[1] = floats("b", made[0], 2, 4, 3, 0);
    write_in(t, 2);
    assert_int_equal(capture_run(&got, ts_cmd_op, "op", "--op", "residual_add", "--in", in, NULL), TS_BAD);
    assert_non_null(strstr(got.err, "b: has shape [4,3], but a has [3,4]"));
}

/* A double between two halves that f32 would round onto the tie. */
static void f64_to_f16_rounds_once(void **state)
{
    (void)state;
    const double x = 1 + 0x1p-11 + 0x1p-40;
    uint16_t y;
    ts_inputs_narrow(&(ts_tensor){"x", TS_F64, 1, {1}, &x, 8}, TS_F16, &y);
    assert_int_equal(y, 0x3C01);
}

static void lists_operations(void **state)
{
    (void)state;
    assert_int_equal(capture_run(&got, ts_cmd_op, "op", NULL), TS_OK);
    for (int i = 0; i < TS_OP_COUNT; i++)
        assert_non_null(strstr(got.out, ts_op_table[i].name));
    assert_non_null(strstr(got.out, "  dims   T H D R (R<=D, 2 divides R)\n"));
    assert_non_null(strstr(got.out, "  cos      in         real    [T,R/2]\n"));
    assert_int_equal(capture_run(&got, ts_cmd_op, "op", "--list", "--json", NULL), TS_OK);
    cJSON *o = cJSON_Parse(got.out);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "operations")), TS_OP_COUNT);
    cJSON_Delete(o);
    assert_int_equal(capture_run(&got, ts_cmd_op, "op", "--in", in, NULL), TS_USAGE);
    assert_non_null(strstr(got.err, "--op: is required"));
}

static void says_what_it_wrote(void **state)
{
    (void)state;
    ts_tensor x = floats("x", made[0], 1, N, 0, 0);
    write_in(&x, 1);
    assert_int_equal(
        capture_run(&got, ts_cmd_op, "op", "--op", "exp", "--in", in, "--engine", "ref64", "-o", out, NULL), TS_OK);
    assert_non_null(strstr(got.out, "outputs of ref64 written to /tmp/"));
}

static void refuses(const char *op, const char *layer, const char *weight, int code, const char *text)
{
    const char *rest[] = {layer    ? "--layer"
                          : weight ? "--weight"
                                   : NULL,
                          layer ? layer : weight, layer && weight ? "--weight" : NULL, weight};
    capture_run(&got, ts_cmd_op, "op", "--op", op, "--in", in, "--model", TINY, rest[0], rest[1], rest[2], rest[3],
                NULL);
    if (got.code != code || !strstr(got.err, text))
        fail_msg("%s: exit %d, want %d \"%s\"\n%s%s", op, got.code, code, text, got.out, got.err);
}

static void bad_input(void **state)
{
    (void)state;
    const int32_t id[2] = {5, 2048};
    const float three[3] = {0};
    ts_tensor x = traced(trace, "layer.0.input_norm", "x"), odd = {"x", TS_F32, 1, {3}, three, 12};
    write_in(&x, 1);
    refuses("nonsense", "0", NULL, TS_USAGE, "is no operation");
    refuses("matmul", "0", NULL, TS_USAGE, "--weight");
    refuses("matmul", NULL, "in_z", TS_USAGE, "--layer");
    refuses("exp", NULL, "in_z", TS_USAGE, "no choice of weights");
    refuses("matmul", "8", "in_z", TS_BAD, "no layer 8");
    refuses("matmul", "0", "q_proj", TS_BAD, "layer 0 has no such matrix");
    refuses("conv1d", "3", NULL, TS_BAD, "layer 3 has no such vector");
    refuses("matmul", "0", "out", TS_BAD, "K is 256 here, but 768");
    refuses("gdn_step", NULL, NULL, TS_BAD, "q: missing");
    refuses("matmul_a64s8", "0", "in_z", TS_BAD, "A64S8 is defined for");
    refuses("embed", NULL, NULL, TS_BAD, "missing: embed needs it");
    refuses("rmsnorm", "0", "gdn_norm", TS_USAGE, "none of input_norm");
    refuses("rmsnorm", "0", "A_log", TS_USAGE, "none of input_norm");
    refuses("rmsnorm", "0", "q_norm", TS_BAD, "layer 0 has no such vector");
    refuses("l2norm", NULL, "v", TS_USAGE, "none of q, k");
    refuses("mla_attention", NULL, NULL, TS_USAGE, "latent cache");
    refuses("mla_absorbed", NULL, NULL, TS_USAGE, "latent cache");
    refuses("matmul_ggml", NULL, NULL, TS_USAGE, "reads a matrix, and takes none from a model yet");
    refuses("gate_up_lse_a8", NULL, NULL, TS_USAGE, "reads a matrix");
    refuses("quantize_q8_0", NULL, NULL, TS_BAD, "the reference alone computes it: --engine ref32 or ref64");
    x.name = "X";
    write_in(&x, 1);
    refuses("matmul", "0", "in_z", TS_BAD, "x: missing");
    ts_tensor two[] = {traced(trace, "layer.0.input_norm", "x"), odd};
    two[1].name = "xx";
    write_in(two, 2);
    refuses("matmul", "0", "in_z", TS_BAD, "xx: not a tensor of matmul");
    write_in(&odd, 1);
    refuses("matmul", "0", "in_z", TS_BAD, "1 dims, wants 2");
    ts_tensor ids = {"id", TS_I32, 1, {2}, id, 8};
    write_in(&ids, 1);
    refuses("embed", NULL, NULL, TS_BAD, "2048 at element 1 is not in 0..2047");
    ids.dtype = TS_F32;
    write_in(&ids, 1);
    refuses("embed", NULL, NULL, TS_BAD, "dtype F32");
    ts_tensor empty = {"x", TS_F32, 2, {0, 256}, three, 0};
    write_in(&empty, 1);
    refuses("matmul", "0", "in_z", TS_BAD, "do not make sense");
    folder_text(&dir, "in.safetensors", "junk");
    refuses("matmul", "0", "in_z", TS_BAD, "too few");
}

/* Of a 27B checkpoint only the matrix is read. */
static void big_model_op(void **state)
{
    (void)state;
    folder big;
    folder_make(&big);
    if (!big_model(&big)) {
        folder_remove(&big);
        skip();
    }
    float *x = calloc(2 * BIG_C, sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < 2 * BIG_C; i++)
        x[i] = (float)(i % 7) - 3;
    ts_tensor t = {"x", TS_F32, 2, {2, BIG_C}, x, 2 * BIG_C * sizeof *x};
    write_in(&t, 1);
    capture_run(&got, ts_cmd_op, "op", "--op", "matmul", "--in", in, "--model", big.path, "--layer", "3",
                "--weight", "k_proj", NULL);
    if (got.code != TS_OK)
        fail_msg("exit %d %s", got.code, got.err);
    assert_non_null(strstr(got.out, "y F32 [2,1024]: identical"));
    capture_run(&got, ts_cmd_op, "op", "--op", "rmsnorm", "--in", in, "--model", big.path, "--layer", "3",
                "--weight", "input_norm", NULL);
    assert_int_equal(got.code, TS_OK);
    assert_true(big_children_mb() < 2048);
    free(x);
    folder_remove(&big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reproduces_a_trace),
        cmocka_unit_test(reproduces_a_quantised_trace),
        cmocka_unit_test(tells_the_first_difference),
        cmocka_unit_test(other_dtypes),
        cmocka_unit_test(maps),
        cmocka_unit_test(rope),
        cmocka_unit_test(gates),
        cmocka_unit_test(codes),
        cmocka_unit_test(chunks),
        cmocka_unit_test(other_shapes),
        cmocka_unit_test(shapes_of_maps),
        cmocka_unit_test(f64_to_f16_rounds_once),
        cmocka_unit_test(lists_operations),
        cmocka_unit_test(says_what_it_wrote),
        cmocka_unit_test(bad_input),
        cmocka_unit_test(big_model_op),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
