/* Runs a sub-command in a child, so that sanitizers see it, and keeps what it printed. */
#ifndef TS_TESTS_TOOLS_CAPTURE_H
#define TS_TESTS_TOOLS_CAPTURE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CAPTURE_TEXT = 1 << 18, CAPTURE_ARGS = 40 };

typedef struct {
    int code; /* exit code, or 128 + signal */
    char out[CAPTURE_TEXT], err[CAPTURE_TEXT];
    const char *stdin_file, *stdout_file; /* NULL: /dev/null, captured */
} capture;

typedef int (*capture_command)(int argc, char **argv);

static inline void capture_fail(const char *what)
{
    perror(what);
    exit(1);
}

static inline void capture_child(const capture *c, capture_command run, int argc, char **argv, FILE *out, FILE *err)
{
    if (!freopen(c->stdin_file ? c->stdin_file : "/dev/null", "rb", stdin))
        capture_fail("stdin");
    if (c->stdout_file && !freopen(c->stdout_file, "wb", stdout))
        capture_fail("stdout");
    if (!c->stdout_file && dup2(fileno(out), STDOUT_FILENO) < 0)
        capture_fail("stdout");
    if (dup2(fileno(err), STDERR_FILENO) < 0)
        capture_fail("stderr");
    fclose(out);
    fclose(err);
    exit(run(argc, argv)); /* not _exit: leaks are looked for at exit */
}

static inline void capture_read(FILE *f, char *text)
{
    rewind(f);
    text[fread(text, 1, CAPTURE_TEXT - 1, f)] = '\0';
    fclose(f);
}

/* The arguments, argv[0] included, end with NULL. */
static inline int capture_run(capture *c, capture_command run, ...)
{
    char *argv[CAPTURE_ARGS + 1];
    int argc = 0, status = 0;
    va_list list;
    va_start(list, run);
    while (argc < CAPTURE_ARGS && (argv[argc] = va_arg(list, char *)) != NULL)
        argc++;
    va_end(list);
    argv[argc] = NULL;
    FILE *out = tmpfile(), *err = tmpfile();
    if (!out || !err)
        capture_fail("tmpfile");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        capture_child(c, run, argc, argv, out, err);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        capture_fail("fork");
    c->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    capture_read(out, c->out);
    capture_read(err, c->err);
    return c->code;
}

#endif
