/* touchstone convert: what it may put its file over, and what stays as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "base/scratch.h"
#include "format/gguf.h"
#include "tool.h"
#include "tools/capture.h"

#define MODEL "golden/models/tiny-qwen35"

static capture got;
static char path[FOLDER_PATH];

static void converts(const char *to, const char *flag)
{
    if (capture_run(&got, ts_cmd_convert, "convert", MODEL, to, flag, NULL) != TS_OK)
        fail_msg("%s: exit %d %s", to, got.code, got.err);
    assert_true(ts_gguf_is(to));
}

static void refuses(const char *to, const char *flag, const char *reason)
{
    assert_int_equal(capture_run(&got, ts_cmd_convert, "convert", MODEL, to, flag, NULL), TS_USAGE);
    if (!strstr(got.err, reason))
        fail_msg("got \"%s\", want \"%s\"", got.err, reason);
}

/* A link is there even if what it names is not. */
static void dangling_link(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(symlink("nowhere", folder_file(&dir, "link.gguf", path)), 0);
    refuses(path, NULL, "is there already");
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    converts(path, "--force");
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
}

static void devices(void **state)
{
    (void)state;
    assert_int_equal(symlink("/dev/full", folder_file(&dir, "full.gguf", path)), 0);
    refuses(path, NULL, "is there already");
    refuses(path, "--force", "is no regular file");
}

/* Opening a pipe for writing would wait for a reader. */
static void pipes(void **state)
{
    (void)state;
    char link[FOLDER_PATH];
    assert_int_equal(mkfifo(folder_file(&dir, "pipe.gguf", path), 0600), 0);
    assert_int_equal(symlink("pipe.gguf", folder_file(&dir, "to-pipe.gguf", link)), 0);
    refuses(path, NULL, "is there already");
    refuses(path, "--force", "is no regular file");
    refuses(link, "--force", "is no regular file");
}

static void folders(void **state)
{
    (void)state;
    assert_int_equal(mkdir(folder_file(&dir, "folder.gguf", path), 0700), 0);
    refuses(path, "--force", "is no regular file");
    assert_int_equal(rmdir(path), 0);
}

/* A name that is nothing but the ending is a file's, with a folder before it and without. */
static void nothing_but_the_ending(void **state)
{
    (void)state;
    char here[4096];
    converts(folder_file(&dir, ".gguf", path), NULL);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(remove(path), 0);
    char model[4200];
    snprintf(model, sizeof model, "%s/" MODEL, here);
    assert_int_equal(chdir(dir.path), 0);
    const int code = capture_run(&got, ts_cmd_convert, "convert", model, ".gguf", NULL);
    const bool file = ts_gguf_is(".gguf");
    assert_int_equal(chdir(here), 0);
    assert_int_equal(code, TS_OK);
    assert_true(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dangling_link), cmocka_unit_test(devices),
                                       cmocka_unit_test(pipes), cmocka_unit_test(folders),
                                       cmocka_unit_test(nothing_but_the_ending)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
