#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "config/weights.h"
#include "format/json.h"
#include "num/convert.h"
#include "num/sha256.h"
#include "synth/synth.h"
#include "tool.h"
#include "tools/capture.h"

#define LISTING "tests/peer/tiny-qwen35-q4_k_m.txt"

static capture got;
static folder dir;
static char out[FOLDER_PATH];

static void remove_below(const char *name)
{
    folder sub;
    snprintf(sub.path, sizeof sub.path, "%.50s/%s", dir.path, name);
    folder_remove(&sub);
}

static int set_up(void **state)
{
    (void)state;
    folder_make(&dir);
    folder_file(&dir, "out", out);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_below("out");
    assert_int_equal(folder_count(&dir), 0); /* no temporary folder left */
    folder_remove(&dir);
    return 0;
}

static void synth(const char *format, const char *bits, const char *group, const char *seed)
{
    remove_below("out");
    int code = capture_run(&got, ts_cmd_synth, "synth", "--shape", "tiny-qwen35", "--format", format, "--bits",
                           bits, "--group", group, "--seed", seed, "-o", out, NULL);
    if (code != TS_OK)
        fail_msg("%s", got.err);
}

static void hash_of(const char *file, char hex[TS_SHA256_HEX])
{
    char path[FOLDER_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", out, file);
    assert_int_equal(ts_sha256_file(path, hex, NULL), TS_OK);
}

/* The bytes are part of what the command promises: change them and every measurement has another model. */
static void bytes_are_recorded(void **state)
{
    static const struct {
        const char *format, *file, *sha256;
    } known[] = {
        {"mlx", "model.safetensors", "d01a5d9c5788517d0568f619c26e07da397c24e822f96fb0a19143ab01114d85"},
        {"safetensors", "model.safetensors", "ae9dd995835301283cb1d9127d6ad919eb527d42c7008cd90a698aef5ab6d407"},
        {"gguf-q4_k_m", "model.gguf", "4d782821e7f2fafde17b78e807b815bb954517ec7a673005c4ae4025b967f620"},
    };
    char hex[TS_SHA256_HEX];
    (void)state;
    for (int i = 0; i < 3; i++) {
        synth(known[i].format, "4", "64", "5");
        hash_of(known[i].file, hex);
        assert_string_equal(hex, known[i].sha256);
    }
    synth("mlx", "4", "64", "6");
    hash_of("model.safetensors", hex);
    assert_string_not_equal(hex, known[0].sha256);
}

static void every_width_loads(void **state)
{
    static const char *const bits[] = {"2", "3", "4", "5", "6", "8"};
    static const char *const group[] = {"32", "64", "128"};
    (void)state;
    for (int i = 0; i < 6; i++) {
        ts_weights *w = NULL;
        ts_error err = {0};
        synth("mlx", bits[i], group[i % 3], "0");
        if (ts_weights_load(out, &w, &err))
            fail_msg("%s: %s", err.tensor, err.reason);
        assert_int_equal(w->layer[3].q_proj.bits, bits[i][0] - '0');
        assert_true(w->folded && w->cfg.full[3] && !w->cfg.full[4]);
        ts_weights_free(w);
    }
}

static double rms(const ts_tensor *t)
{
    double sum = 0;
    int64_t n = ts_tensor_count(t);
    for (int64_t i = 0; i < n; i++)
        sum += ts_tensor_get(t, i) * ts_tensor_get(t, i);
    return sqrt(sum / (double)n);
}

/* Through every layer: neither dying out nor growing. */
static void activations_are_of_order_one(void **state)
{
    static const char *const format[] = {"mlx", "safetensors"};
    char path[FOLDER_PATH], name[32];
    (void)state;
    folder_file(&dir, "trace", path);
    for (int i = 0; i < 2; i++) {
        ts_safetensors *f = NULL;
        synth(format[i], "4", "64", "0");
        assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "--model", out, "--prompt", "Return the number",
                                     "-o", path, NULL),
                         TS_OK);
        assert_int_equal(ts_safetensors_open(path, &f, NULL), TS_OK);
        for (int l = 0; l < 8; l++) {
            snprintf(name, sizeof name, "layer.%d.out", l);
            assert_non_null(ts_safetensors_find(f, name));
            double x = rms(ts_safetensors_find(f, name));
            if (!(x > 0.05 && x < 5))
                fail_msg("%s of %s: rms %g", name, format[i], x);
        }
        double x = rms(ts_safetensors_find(f, "logits"));
        assert_true(x > 0.1 && x < 10);
        ts_safetensors_close(f);
        unlink(path);
    }
}

static void run_accepts_it(void **state)
{
    (void)state;
    synth("mlx", "4", "64", "0");
    assert_int_equal(
        capture_run(&got, ts_cmd_run, "run", "--model", out, "--prompt", "hello", "-n", "2", "--json", NULL),
        TS_OK);
    assert_int_equal(capture_run(&got, ts_cmd_inspect, "inspect", out, NULL), TS_OK);
    assert_non_null(strstr(got.out, "hidden: 256"));
}

/* A piece is a pure function of its place, and blocks of both kinds are whole in it. */
static void pieces_are_seamless(void **state)
{
    static uint8_t whole[2 * TS_SYNTH_PIECE], part[TS_SYNTH_PIECE];
    (void)state;
    for (ts_synth_make make = TS_MAKE_BITS; make <= TS_MAKE_Q6_K; make++) {
        const ts_synth_tensor t = {.make = make, .centre = 1, .spread = 0.5f, .stream = 7};
        ts_synth_fill(&t, 3, 0, whole, sizeof whole);
        ts_synth_fill(&t, 3, TS_SYNTH_PIECE, part, sizeof part);
        assert_memory_equal(part, whole + TS_SYNTH_PIECE, sizeof part);
        ts_synth_fill(&t, 3, TS_SYNTH_PIECE, part, 5040);
        assert_memory_equal(part, whole + TS_SYNTH_PIECE, 5040);
        if (make >= TS_MAKE_Q4_K)
            continue;
        ts_synth_fill(&t, 3, 0, part, 36); /* ends inside a draw */
        assert_memory_equal(part, whole, 36);
    }
}

/* Codes times scale plus bias have the mean and the deviation that the matrix wants. */
static void codes_are_centred(void **state)
{
    ts_weights *w = NULL;
    double sum = 0, squares = 0;
    (void)state;
    synth("mlx", "4", "64", "0");
    assert_int_equal(ts_weights_load(out, &w, NULL), TS_OK);
    const ts_matrix *m = &w->layer[0].gate_proj;
    for (int64_t n = 0; n < m->N; n++)
        for (int64_t k = 0; k < m->K; k++) {
            int64_t group = n * (m->K / m->group) + k / m->group;
            double v = (double)ts_bf16_to_f32(((const uint16_t *)m->scales)[group]) * ts_mlx_code(m, n, k) +
                       (double)ts_bf16_to_f32(((const uint16_t *)m->biases)[group]);
            sum += v;
            squares += v * v;
        }
    double count = (double)(m->N * m->K), sigma = sqrt(squares / count) * sqrt((double)m->K);
    assert_true(fabs(sum / count) * sqrt((double)m->K) < 0.02);
    assert_true(sigma > 0.95 && sigma < 1.1);
    ts_weights_free(w);
}

typedef struct {
    const unsigned char *at, *end;
} reader;

static uint64_t number(reader *r, int bytes)
{
    uint64_t x = 0;
    assert_true(r->end - r->at >= bytes);
    for (int i = 0; i < bytes; i++)
        x |= (uint64_t)*r->at++ << (8 * i);
    return x;
}

static void text(reader *r, char *s, size_t size)
{
    uint64_t n = number(r, 8);
    assert_true(n < size && (uint64_t)(r->end - r->at) >= n);
    snprintf(s, size, "%.*s", (int)n, (const char *)r->at);
    r->at += n;
}

/* Past one value of the kinds the file has. */
static void skip_value(reader *r)
{
    char s[64];
    uint64_t type = number(r, 4);
    if (type == 8) {
        text(r, s, sizeof s);
    } else if (type == 9) {
        assert_int_equal(number(r, 4), 5);
        for (uint64_t n = number(r, 8); n > 0; n--)
            number(r, 4);
    } else {
        assert_true(type == 4 || type == 6);
        number(r, 4);
    }
}

/* "name type ne...", as a line of the listing; *offset moves past the data. */
static void tensor_line(reader *r, char *line, size_t size, uint64_t *offset)
{
    char name[64];
    uint64_t ne[4], count = 1;
    text(r, name, sizeof name);
    int dims = (int)number(r, 4);
    assert_true(dims > 0 && dims <= 2);
    for (int d = 0; d < dims; d++)
        count *= ne[d] = number(r, 8);
    uint64_t type = number(r, 4);
    assert_int_equal(number(r, 8), *offset);
    uint64_t bytes = type == 0 ? count * 4 : count / 256 * (type == 12 ? 144 : 210);
    *offset += (bytes + 31) / 32 * 32;
    snprintf(line, size, dims == 1 ? "\n%s %s %d\n" : "\n%s %s %d %d\n", name,
             type == 0    ? "F32"
             : type == 12 ? "Q4_K"
                          : "Q6_K",
             (int)ne[0], (int)ne[1]);
}

/* Names, types, shapes and the data's places are those of a file that llama.cpp has written. */
static void gguf_is_as_llama_cpp_writes(void **state)
{
    char path[FOLDER_PATH + 32], *listing = NULL, *file = NULL, line[160];
    size_t size = 0, lines = 0, unused;
    (void)state;
    synth("gguf-q4_k_m", "4", "64", "0");
    snprintf(path, sizeof path, "%s/model.gguf", out);
    assert_int_equal(ts_read_file(path, &file, &size, NULL), TS_OK);
    assert_int_equal(ts_read_file(LISTING, &listing, &unused, NULL), TS_OK);
    reader r = {(const unsigned char *)file, (const unsigned char *)file + size};
    assert_memory_equal(r.at, "GGUF\3\0\0", 8);
    r.at += 8;
    uint64_t tensors = number(&r, 8), offset = 0;
    for (uint64_t n = number(&r, 8); n > 0; n--) {
        text(&r, line, sizeof line);
        skip_value(&r);
    }
    for (uint64_t i = 0; i < tensors; i++) {
        tensor_line(&r, line, sizeof line, &offset);
        if (!strstr(listing, line))
            fail_msg("llama.cpp's file does not have%s", line);
    }
    for (const char *p = listing; *p; p++)
        lines += *p == '\n';
    assert_int_equal(tensors, lines - 1);
    uint64_t start = ((uint64_t)(r.at - (const unsigned char *)file) + 31) / 32 * 32;
    assert_int_equal(size, start + offset);
    free(file);
    free(listing);
}

/* Shards where the file would be too big, tied ones without a head, one layer of each kind. */
static void plans_of_big_shapes(void **state)
{
    ts_synth_options o = {ts_synth_shape_find("4b"), TS_SYNTH_BF16, 4, 64, 0, 0};
    ts_synth_plan p;
    (void)state;
    assert_int_equal(ts_synth_plan_new(&o, &p, NULL), TS_OK);
    assert_int_equal(p.files, 2);
    assert_string_equal(p.file[1], "model-00002-of-00002.safetensors");
    assert_int_equal(p.n, 24 * 14 + 8 * 11 + 2);
    assert_true(p.bytes > 8300000000 && p.bytes < 8500000000); /* 4.2 G parameters */
    ts_synth_plan_free(&p);
    o.shape = ts_synth_shape_find("qwen3.5-27b-layer");
    assert_true(!ts_synth_is_full(o.shape, 0) && ts_synth_is_full(o.shape, 1));
    assert_int_equal(ts_synth_plan_new(&o, &p, NULL), TS_OK);
    assert_int_equal(p.n, 14 + 11 + 3);
    ts_synth_plan_free(&p);
    assert_null(ts_synth_shape_find("27b"));
}

/* Cut into files, the model is the same one. */
static void files_of_a_big_model(void **state)
{
    ts_synth_options o = {ts_synth_shape_find("tiny-qwen35"), TS_SYNTH_BF16, 4, 64, 0, 7000000};
    ts_synth_result r;
    ts_error err = {0};
    ts_weights *one = NULL, *many = NULL;
    (void)state;
    synth("safetensors", "4", "64", "0");
    assert_int_equal(ts_weights_load(out, &one, NULL), TS_OK);
    remove_below("out");
    assert_int_equal(ts_synth(&o, out, &r, NULL), TS_OK);
    assert_int_equal(r.files, 3);
    if (ts_weights_load(out, &many, &err))
        fail_msg("%s: %s", err.tensor, err.reason);
    assert_memory_equal(one->embed.data, many->embed.data, 2048 * 256 * 2);
    assert_memory_equal(one->layer[7].o_proj.data, many->layer[7].o_proj.data, 256 * 768 * 2);
    ts_weights_free(one);
    ts_weights_free(many);
    remove_below("out");
    o.file_bytes = 1000000;
    assert_int_equal(ts_synth(&o, out, &r, &err), TS_BAD);
    assert_int_equal(folder_count(&dir), 0);
}

static void refuse(const char *key, const char *value, const char *reason)
{
    assert_int_equal(
        capture_run(&got, ts_cmd_synth, "synth", "--shape", "tiny-qwen35", "-o", out, key, value, NULL), TS_USAGE);
    if (!strstr(got.err, reason))
        fail_msg("%s %s: %s", key, value, got.err);
}

static void refuses(void **state)
{
    char path[FOLDER_PATH + 32];
    (void)state;
    refuse("--shape", "27b", "is none of");
    refuse("--format", "gguf", "is none of");
    refuse("--bits", "7", "no 7 bits");
    refuse("--group", "48", "32, 64 or 128");
    assert_int_equal(capture_run(&got, ts_cmd_synth, "synth", "-o", out, NULL), TS_USAGE);
    assert_int_equal(folder_count(&dir), 0);
    mkdir(out, 0777);
    assert_int_equal(capture_run(&got, ts_cmd_synth, "synth", "--shape", "tiny-qwen35", "-o", out, NULL), TS_OK);
    refuse("--seed", "1", "is not empty");
    snprintf(path, sizeof path, "%s/model.safetensors", out);
    assert_int_equal(access(path, F_OK), 0);
}

static int with_little_room(int argc, char **argv)
{
    const struct rlimit little = {3000000, 3000000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    return ts_cmd_synth(argc, argv);
}

/* One error, and nothing is left. */
static void full_disk(void **state)
{
    static const char *const format[] = {"mlx", "safetensors", "gguf-q4_k_m"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(capture_run(&got, with_little_room, "synth", "--shape", "tiny-qwen35", "--format",
                                     format[i], "-o", out, NULL),
                         TS_BAD);
        assert_non_null(strstr(got.err, "cannot write"));
        assert_ptr_equal(strchr(got.err, '\n'), got.err + strlen(got.err) - 1);
        assert_int_equal(folder_count(&dir), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_are_recorded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_width_loads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(activations_are_of_order_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(run_accepts_it, set_up, tear_down),
        cmocka_unit_test(pieces_are_seamless),
        cmocka_unit_test_setup_teardown(codes_are_centred, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gguf_is_as_llama_cpp_writes, set_up, tear_down),
        cmocka_unit_test(plans_of_big_shapes),
        cmocka_unit_test_setup_teardown(files_of_a_big_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_disk, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
