/* Plugins that are none, that lie, or that crash: one line that names the file and the reason, exit 3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/folder.h"
#include "cpu/isa.h"
#include "plugin.h"
#include "tool.h"
#include "tools/capture.h"
#include "verify.h"

#define ADD                                                           \
    "static void run(const void *args, int64_t begin, int64_t end)\n" \
    "{\n"                                                             \
    "    const ts_zip_args *a = (const ts_zip_args *)args;\n"         \
    "    for (int64_t i = begin; i < end; i++)\n"                     \
    "        a->y[i] = a->a[i] + a->b[i];\n"                          \
    "}\n"
#define ABI "const uint32_t ts_plugin_abi = TS_PLUGIN_ABI;\n"
#define LIST(entries) "const ts_schedule *const ts_plugin_schedules[] = {" entries "};\n"
#define SCHEDULE(variable, name, op, order, profile, exposes, run)                                     \
    "static const ts_schedule " variable " = {" name ", " op ", \"cpu\", \"any\", " order ", " profile \
    ", " exposes ", 0, " run "};\n"
#define GOOD(variable, name) \
    SCHEDULE(variable, name, "TS_OP_RESIDUAL_ADD", "\"elementwise\"", "\"any\"", "\"\"", "run")

static capture got;

typedef struct {
    folder dir;
    char source[FOLDER_PATH], object[FOLDER_PATH], other[FOLDER_PATH];
} files;

static int set_up(void **state)
{
    static files f;
    folder_make(&f.dir);
    folder_file(&f.dir, "plugin.c", f.source);
    folder_file(&f.dir, "plugin.so", f.object);
    folder_file(&f.dir, "other.so", f.other);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    folder_remove(&((files *)*state)->dir);
    return 0;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* The shared object of a source behind touchstone.h. */
static void build(const files *f, const char *object, const char *body)
{
    char text[4096], command[2048];
    snprintf(text, sizeof text, "#include \"touchstone.h\"\n%s", body);
    write_text(f->source, text);
    snprintf(command, sizeof command,
             "${CC:-cc} -std=c11 -w -Iref/base -Iref/model -Ifast -Itools -shared -fPIC %s -o %s", f->source,
             object);
    assert_int_equal(system(command), 0);
}

static void refused(const files *f, const char *reason)
{
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--list", NULL);
    if (got.code != TS_BAD || !strstr(got.err, reason) || !strstr(got.err, "plugin.so"))
        fail_msg("exit %d, looked for '%s' in: %s", got.code, reason, got.err);
    assert_ptr_equal(strchr(got.err, '\n'), got.err + strlen(got.err) - 1);
}

static void refuse(const files *f, const char *body, const char *reason)
{
    build(f, f->object, body);
    refused(f, reason);
}

static void no_shared_object(void **state)
{
    files *f = *state;
    refused(f, "No such file");
    write_text(f->object, "");
    refused(f, "file too short");
    write_text(f->object, "int main(void) { return 0; }, which is no shared object, is more than 64 bytes long.");
    refused(f, "invalid ELF header");
    capture_run(&got, ts_cmd_check, "check", "--plugin", "golden", "--list", NULL);
    assert_int_equal(got.code, TS_BAD);
}

/* Cut anywhere, it is refused, or works if all that is read is there. */
static void truncated(void **state)
{
    files *f = *state;
    static char whole[1 << 20];
    build(f, f->object, ADD GOOD("a", "\"residual_add.x\"") ABI LIST("&a, 0"));
    FILE *in = fopen(f->object, "rb");
    assert_non_null(in);
    size_t size = fread(whole, 1, sizeof whole, in);
    fclose(in);
    assert_true(size > 1024 && size < sizeof whole);
    int bad = 0;
    for (size_t n = 0; n < size; n += size / 24) {
        FILE *out = fopen(f->object, "wb");
        assert_non_null(out);
        assert_int_equal(fwrite(whole, 1, n, out), n);
        fclose(out);
        capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--list", NULL);
        assert_true(got.code == TS_BAD || got.code == TS_OK);
        bad += got.code == TS_BAD;
    }
    assert_true(bad > 10);
}

static void symbols(void **state)
{
    files *f = *state;
    refuse(f, "int nothing;\n", "ts_plugin_abi: no such symbol");
    refuse(f, ABI, "ts_plugin_schedules: no such symbol");
    refuse(f, "const uint32_t ts_plugin_abi = 7;\n" LIST("0"), "ts_plugin_abi: 7, but this touchstone has");
    refuse(f, ABI LIST("0"), "no schedule in it");
    refuse(f, "int absent(void);\nint (*use)(void) = absent;\n" ABI LIST("0"), "undefined symbol: absent");
    refuse(f,
           ADD GOOD("a", "\"residual_add.x\"") ABI "const ts_schedule *const ts_plugin_schedules[1200] = "
                                                   "{[0 ... 1199] = &a};\n",
           "another schedule has this name");
}

static void schedules(void **state)
{
    files *f = *state;
    refuse(f, ADD GOOD("a", "0") ABI LIST("&a, 0"), "name has 1 to 39");
    refuse(f, ADD GOOD("a", "\"residual_add.a b\"") ABI LIST("&a, 0"), "name has 1 to 39");
    refuse(f, ADD GOOD("a", "\"mine\"") ABI LIST("&a, 0"), "starts with 'residual_add.'");
    refuse(f, ADD GOOD("a", "\"residual_add.portable\"") ABI LIST("&a, 0"), "another schedule has this name");
    refuse(f, ADD GOOD("a", "\"residual_add.x\"") GOOD("b", "\"residual_add.x\"") ABI LIST("&a, &b, 0"),
           "another schedule has this name");
    refuse(f,
           ADD SCHEDULE("a", "\"residual_add.x\"", "(ts_op_id)999", "\"elementwise\"", "\"any\"", "\"\"", "run")
               ABI LIST("&a, 0"),
           "operation 999");
    refuse(f,
           ADD SCHEDULE("a", "\"residual_add.x\"", "(ts_op_id)-1", "\"elementwise\"", "\"any\"", "\"\"", "run")
               ABI LIST("&a, 0"),
           "operation -1");
    refuse(f,
           ADD SCHEDULE("a", "\"residual_add.x\"", "TS_OP_RESIDUAL_ADD", "\"dot16\"", "\"any\"", "\"\"", "run")
               ABI LIST("&a, 0"),
           "order 'dot16', but residual_add is defined in order 'elementwise'");
    refuse(f,
           ADD SCHEDULE("a", "\"residual_add.x\"", "TS_OP_RESIDUAL_ADD", "\"elementwise\"", "\"fast\"", "\"\"",
                        "run") ABI LIST("&a, 0"),
           "profile 'fast'");
    refuse(f,
           ADD SCHEDULE("a", "\"residual_add.x\"", "TS_OP_RESIDUAL_ADD", "\"elementwise\"", "\"any\"", "\"m\"",
                        "run") ABI LIST("&a, 0"),
           "exposes 'm'");
    refuse(f,
           SCHEDULE("a", "\"residual_add.x\"", "TS_OP_RESIDUAL_ADD", "\"elementwise\"", "\"any\"", "\"\"", "0")
               ABI LIST("&a, 0"),
           "run must be given");
}

#define NEEDS(backend, needs)                                                                       \
    "static size_t size(const ts_matrix *w) { return 64; }\n"                                       \
    "static void pack(const ts_matrix *w, int64_t begin, int64_t end, void *to) {}\n" ADD           \
    "static const ts_packing none = {\"none/1\", 0, size, pack}, anonymous = {0, 8, size, pack};\n" \
    "static const ts_schedule a = {\"residual_add.x\", TS_OP_RESIDUAL_ADD, \"" backend              \
    "\", \"any\", \"elementwise\", \"any\", \"\", 0, run, " needs "};\n" ABI LIST("&a, 0")

static void needs(void **state)
{
    files *f = *state;
    refuse(f, NEEDS("gpu", "0, 0"), "backend 'gpu': there is only 'cpu'");
    refuse(f, NEEDS("cpu", "\"sse9\", 0"), "isa 'sse9' is none of this architecture's");
    refuse(f, NEEDS("cpu", "0, &none"), "a packing must have a name, rows above 0");
    refuse(f, NEEDS("cpu", "0, &anonymous"), "a packing must have a name, rows above 0");
}

/* What the CPU lacks or TS_CPU forbids is skipped by name, and is not the plugin's fault. */
static void absent(void **state)
{
    files *f = *state;
    int n = 0;
    char body[2048];
    while (ts_isas[n].name)
        n++;
    assert_true(n > 0);
    snprintf(body, sizeof body, NEEDS("cpu", "\"%s\", 0"), ts_isas[n - 1].name);
    build(f, f->object, body);
    assert_int_equal(setenv("TS_CPU", "portable", 1), 0);
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--case", "residual_add/typical", NULL);
    assert_int_equal(got.code, TS_OK);
    assert_non_null(strstr(got.out, "\nSKIP residual_add: residual_add.x: it needs "));
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--op", "residual_add", "--list", NULL);
    assert_non_null(strstr(got.out, "\nschedule residual_add.x (cannot run here: needs "));
    assert_null(strstr(got.out, "rmsnorm"));
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--schedule", "residual_add.x", NULL);
    assert_int_equal(got.code, TS_USAGE);
    assert_non_null(strstr(got.err, "'residual_add.x' cannot run here: it needs "));
    capture_run(&got, ts_cmd_check, "check", "--case", "nosuch", NULL);
    assert_int_equal(got.code, TS_USAGE);
    assert_non_null(strstr(got.err, "no case matches"));
    assert_int_equal(unsetenv("TS_CPU"), 0);
}

/* Green is said of a plugin only if something of it was compared. */
static void left_out(void **state)
{
    files *f = *state;
    static const char *const narrow[][2] = {{"--op", "silu"},
                                            {"--only", "tables"},
                                            {"--case", "silu/typical"},
                                            {"--schedule", "residual_add.portable"}};
    build(f, f->object, ADD GOOD("a", "\"residual_add.x\"") ABI LIST("&a, 0"));
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, narrow[i][0], narrow[i][1], NULL);
        assert_int_equal(got.code, TS_DIFFERS);
        assert_non_null(strstr(got.out, "FAIL residual_add: residual_add.x\nnothing of it was compared"));
    }
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--only", "tables", "--list", NULL);
    assert_int_equal(got.code, TS_OK);
}

/* Destructors and handlers of exit come too late to change the verdict; constructors print elsewhere. */
static void verdicts_are_final(void **state)
{
    files *f = *state;
    build(f, f->object,
          "#include <stdlib.h>\n#include <unistd.h>\nstatic void leave(void) { _exit(0); }\n"
          "__attribute__((constructor)) static void begin(void) { puts(\"noise\"); atexit(leave); }\n"
          "__attribute__((destructor)) static void end(void) { _exit(0); }\n"
          "static void run(const void *args, int64_t begin, int64_t end) {}\n" GOOD("a", "\"residual_add.x\"")
              ABI LIST("&a, 0"));
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--case", "residual_add/typical", "--json",
                "--timeout", "7", NULL);
    assert_int_equal(got.code, TS_DIFFERS);
    assert_int_equal(got.out[0], '{');
    assert_null(strstr(got.out, "noise"));
    assert_non_null(strstr(got.out, "left unwritten"));
    assert_non_null(strstr(got.out, " --timeout 7 --case 'residual_add/typical' --schedule residual_add.x\""));
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--plugin", f->object, "--list", NULL);
    assert_int_equal(got.code, TS_BAD);
}

static void loading(void **state)
{
    files *f = *state;
    refuse(f,
           "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { abort(); }\n" ABI LIST("0"),
           "loading it crashes: signal 6");
    refuse(f,
           "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { exit(0); }\n" ABI LIST("0"),
           "loading it ends the process with exit code 0");
    refuse(f, ABI LIST("(const ts_schedule *)8, 0"), "loading it crashes: signal");
}

static void two_at_once(void **state)
{
    files *f = *state;
    build(f, f->object, ADD GOOD("a", "\"residual_add.x\"") ABI LIST("&a, 0"));
    build(f, f->other, ADD GOOD("a", "\"residual_add.y\"") ABI LIST("&a, 0"));
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--plugin", f->other, "--op", "residual_add",
                "--case", "residual_add/typical", NULL);
    assert_int_equal(got.code, TS_OK);
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--plugin", f->other, "--list", NULL);
    assert_non_null(strstr(got.out, "schedule residual_add.x\nschedule residual_add.y\n"));
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--plugin", f->object, "--list", NULL);
    assert_int_equal(got.code, TS_BAD);
    assert_non_null(strstr(got.err, "another schedule has this name"));
}

/* It adds well and crashes on a single row: the ways are contained, and so are the cuts. */
static void crash_on_a_cut(void **state)
{
    files *f = *state;
    build(f, f->object,
          "static void run(const void *args, int64_t begin, int64_t end)\n{\n"
          "    const ts_rmsnorm_args *a = (const ts_rmsnorm_args *)args;\n"
          "    if (a->T == 1)\n        *(volatile int *)0 = 1;\n    memset(a->y, 0, (size_t)begin + "
          "(size_t)end);\n}\n" SCHEDULE("a", "\"rmsnorm.x\"", "TS_OP_RMSNORM", "\"dot32\"", "\"any\"", "\"\"",
                                        "run") ABI LIST("&a, 0"));
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--case", "rmsnorm/cuts", "--schedule",
                "rmsnorm.x", NULL);
    assert_int_equal(got.code, TS_DIFFERS);
    assert_non_null(strstr(got.out, "FAIL rmsnorm: rmsnorm/cuts: rmsnorm.x cut\n"));
}

/* A cut that differs is one failure an output, not two. */
static void wrong_on_a_cut(void **state)
{
    files *f = *state;
    build(f, f->object,
          "static void run(const void *args, int64_t begin, int64_t end)\n{\n"
          "    const ts_embed_args *a = (const ts_embed_args *)args;\n"
          "    for (int64_t i = begin * a->C; i < end * a->C; i++)\n        a->y[i] = 7;\n}\n" SCHEDULE(
              "a", "\"embed.x\"", "TS_OP_EMBED", "\"elementwise\"", "\"any\"", "\"\"", "run") ABI LIST("&a, 0"));
    capture_run(&got, ts_cmd_check, "check", "--plugin", f->object, "--case", "embed/cuts*", "--schedule",
                "embed.x", NULL);
    assert_int_equal(got.code, TS_DIFFERS);
    const char *first = strstr(got.out, "embed.x cut ");
    assert_non_null(first);
    assert_null(strstr(first + 1, "embed.x cut "));
}

static void off_by_one(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->y[i] = a->a[i] + a->b[i] + (i == 3 ? 0x1p-20f : 0);
}

static void plain(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->y[i] = a->a[i] + a->b[i];
}

static void count_fails(void *user, const ts_verify_finding *f)
{
    if (strcmp(f->verdict, "FAIL") == 0 && f->detail && strstr(f->detail, "0x"))
        ++*(int *)user;
}

/* Twice in one process: the first run's threads are not in the second's way. */
static void verify_as_a_function(void **state)
{
    (void)state;
    ts_schedule s = {.name = "residual_add.mine",
                     .op = TS_OP_RESIDUAL_ADD,
                     .backend = "cpu",
                     .shapes = "any",
                     .order = "elementwise",
                     .profile = "any",
                     .exposes = "",
                     .run = plain};
    const ts_schedule *const extra[] = {&s, NULL};
    int fails = 0;
    ts_verify_options o = {
        .op = "residual_add", .schedule = s.name, .extra = extra, .found = count_fails, .user = &fails};
    ts_verify_counts n;
    ts_error err = {0};
    assert_int_equal(ts_verify(&o, &n, &err), TS_OK);
    assert_true(n.passed > 10 && n.failed == 0 && fails == 0);
    s.run = off_by_one;
    assert_int_equal(ts_verify(&o, &n, &err), TS_DIFFERS);
    assert_true(n.failed > 0 && fails == n.failed);
    s.order = "dot32";
    assert_int_equal(ts_verify(&o, &n, &err), TS_BAD);
    assert_string_equal(err.tensor, "residual_add.mine");
    s.order = "elementwise";
    o.cases = "nothing/*";
    assert_int_equal(ts_verify(&o, &n, &err), TS_USAGE);
    o.golden = "nowhere";
    assert_int_equal(ts_verify(&o, &n, &err), TS_BAD);
}

static void golden_folder(void **state)
{
    (void)state;
    assert_int_equal(setenv("TOUCHSTONE_GOLDEN", "from-env", 1), 0);
    assert_string_equal(ts_golden_folder("given"), "given");
    assert_string_equal(ts_golden_folder(NULL), "from-env");
    assert_int_equal(setenv("TOUCHSTONE_GOLDEN", "", 1), 0);
    assert_string_equal(ts_golden_folder(NULL), "golden");
    assert_int_equal(unsetenv("TOUCHSTONE_GOLDEN"), 0);
    assert_string_equal(ts_golden_folder(NULL), "golden");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_shared_object, set_up, tear_down),
        cmocka_unit_test_setup_teardown(truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(symbols, set_up, tear_down),
        cmocka_unit_test_setup_teardown(schedules, set_up, tear_down),
        cmocka_unit_test_setup_teardown(needs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(absent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verdicts_are_final, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_on_a_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(loading, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(crash_on_a_cut, set_up, tear_down),
        cmocka_unit_test(verify_as_a_function),
        cmocka_unit_test(golden_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
