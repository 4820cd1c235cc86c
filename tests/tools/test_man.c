/* The manual page and the completion know every command and option of the binary, and no others: what the
 * binary has is read from its own --help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case/op.h"
#include "format/json.h"

#define MAN "docs/touchstone.1"
#define COMPLETION "tools/touchstone.bash-completion"

enum { TEXT = 1 << 16, WORD = 64, MANY = 128 };

typedef struct {
    char word[MANY][WORD];
    size_t n;
} words;

static words commands;

static void add(words *w, const char *from, size_t n)
{
    assert_true(n > 0 && n < WORD && w->n < MANY);
    snprintf(w->word[w->n++], WORD, "%.*s", (int)n, from);
}

static bool has(const words *w, const char *word)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->word[i], word) == 0)
            return true;
    return false;
}

static size_t option_length(const char *p)
{
    size_t n = 0;
    while (islower((unsigned char)p[n]) || isdigit((unsigned char)p[n]) || (n > 0 && p[n] == '-'))
        n++;
    return n;
}

/* What `shell` prints. */
static void output(const char *shell, char text[TEXT])
{
    FILE *f = popen(shell, "r");
    assert_non_null(f);
    text[fread(text, 1, TEXT - 1, f)] = '\0';
    assert_int_equal(pclose(f), 0);
}

/* build/[san/]touchstone, two folders above this program. */
static void help(const char *command, char text[TEXT])
{
    char path[4096], shell[4200];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(n > 0);
    path[n] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = '\0';
    snprintf(shell, sizeof shell, "'%s/touchstone' %s --help", path, command);
    output(shell, text);
}

/* The long options of a help text, without --help itself: lines "  -m, --model DIR   ..." */
static void options_of_help(const char *command, words *out)
{
    static char text[TEXT];
    out->n = 0;
    help(command, text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        const char *p = line + strspn(line, " ");
        p += p > line && p[0] == '-' && p[1] != '-' && p[2] == ',' ? strspn(p + 3, " ") + 3 : 0;
        if (p > line && strncmp(p, "--", 2) == 0 && strncmp(p, "--help", 6) != 0)
            add(out, p + 2, option_length(p + 2));
    }
    assert_true(out->n > 0);
}

static int read_commands(void **state)
{
    static char text[TEXT];
    (void)state;
    help("", text);
    char *p = strstr(text, "\n  ");
    for (; p && strncmp(p, "\n  ", 3) == 0; p = strchr(p + 1, '\n'))
        add(&commands, p + 3, option_length(p + 3));
    return commands.n >= 6 && has(&commands, "run") ? 0 : -1;
}

/* The part of the page from ".Ss command" to the next heading, or NULL. */
static char *section(const char *page, const char *command)
{
    char heading[WORD + 8];
    snprintf(heading, sizeof heading, "\n.Ss %s\n", command);
    const char *from = strstr(page, heading);
    if (!from)
        return NULL;
    char *copy = strdup(from + strlen(heading) - 1);
    char *end = strstr(copy, "\n.S");
    if (end)
        *end = '\0';
    return copy;
}

/* Every "Fl -name" on a line of ".It". */
static void options_of_section(const char *text, words *out)
{
    out->n = 0;
    for (const char *p = strstr(text, "\n.It "); p; p = strstr(p + 1, "\n.It ")) {
        const char *end = p + 1 + strcspn(p + 1, "\n"), *fl = strstr(p, "Fl -");
        assert_true(fl && fl < end);
        char name[WORD];
        snprintf(name, sizeof name, "%.*s", (int)option_length(fl + 4), fl + 4);
        if (!has(out, name))
            add(out, name, strlen(name));
    }
}

static void same_options(const char *where, const char *command, const words *has_it, const words *binary)
{
    for (size_t i = 0; i < binary->n; i++)
        if (!has(has_it, binary->word[i]))
            fail_msg("%s: %s has no --%s", where, command, binary->word[i]);
    for (size_t i = 0; i < has_it->n; i++)
        if (!has(binary, has_it->word[i]))
            fail_msg("%s: the binary's %s has no --%s", where, command, has_it->word[i]);
}

static void manual(void **state)
{
    (void)state;
    char *page = NULL;
    size_t size = 0;
    assert_int_equal(ts_read_file(MAN, &page, &size, NULL), TS_OK);
    for (size_t i = 0; i < commands.n; i++) {
        words mine, binary;
        char *text = section(page, commands.word[i]);
        if (!text)
            fail_msg(MAN ": no section .Ss %s", commands.word[i]);
        options_of_section(text, &mine);
        options_of_help(commands.word[i], &binary);
        same_options(MAN, commands.word[i], &mine, &binary);
        free(text);
    }
    for (const char *p = page; (p = strstr(p, "\n.Ss ")) != NULL; p++) {
        char heading[WORD];
        snprintf(heading, sizeof heading, "%.*s", (int)strcspn(p + 5, "\n"), p + 5);
        if (!has(&commands, heading))
            fail_msg(MAN ": the binary has no command %s", heading);
    }
    free(page);
}

/* What bash offers for `line` with the cursor at its end. */
static void completions(const char *line, words *out)
{
    char shell[512];
    static char text[TEXT];
    snprintf(shell, sizeof shell,
             "bash -c '. ./" COMPLETION " && COMP_WORDS=(%s \"\") && COMP_CWORD=$((${#COMP_WORDS[@]}-1)) && "
             "_touchstone && printf \"%%s\\n\" \"${COMPREPLY[@]}\"'",
             line);
    output(shell, text);
    out->n = 0;
    for (char *word = strtok(text, "\n"); word; word = strtok(NULL, "\n"))
        if (strcmp(word, "--help") != 0 && strcmp(word, "--version") != 0)
            add(out, word, strlen(word));
}

static void option_completions(const char *command, words *out)
{
    char line[WORD + 16];
    words all;
    snprintf(line, sizeof line, "touchstone %s --json", command); /* an option without a value */
    completions(line, &all);
    out->n = 0;
    for (size_t i = 0; i < all.n; i++) {
        assert_int_equal(strncmp(all.word[i], "--", 2), 0);
        add(out, all.word[i] + 2, strlen(all.word[i]) - 2);
    }
}

static void completion(void **state)
{
    (void)state;
    words offered, binary;
    completions("touchstone", &offered);
    for (size_t i = 0; i < commands.n; i++)
        if (!has(&offered, commands.word[i]))
            fail_msg(COMPLETION ": no command %s", commands.word[i]);
    assert_int_equal(offered.n, commands.n);
    for (size_t i = 0; i < commands.n; i++) {
        option_completions(commands.word[i], &offered);
        options_of_help(commands.word[i], &binary);
        same_options(COMPLETION, commands.word[i], &offered, &binary);
    }
    static const struct {
        const char *line, *word[2];
        size_t n;
    } values[] = {
        {"touchstone run --kv", {"real", "fp8-e4m3"}, 5},           {"touchstone run -e", {"fast", "ref64"}, 3},
        {"touchstone op --engine", {"all", "fast"}, 4},        {"touchstone layer --engine", {"ref32", "fast"}, 3},
        {"touchstone quantize -e", {"mlx-cpu", "lse"}, 3},     {"touchstone quantize -b", {"3", "8"}, 6},
        {"touchstone check --only", {"files", "external"}, 6},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        completions(values[i].line, &offered);
        if (offered.n != values[i].n || !has(&offered, values[i].word[0]) || !has(&offered, values[i].word[1]))
            fail_msg("%s: %zu words", values[i].line, offered.n);
    }
    completions("touchstone op --op", &offered);
    for (int i = 0; i < TS_OP_COUNT; i++)
        if (!has(&offered, ts_op_table[i].name))
            fail_msg(COMPLETION ": no operation %s", ts_op_table[i].name);
    assert_true(has(&offered, "matmul") && offered.n == TS_OP_COUNT + 1);
    completions("touchstone inspect", &offered);
    assert_true(has(&offered, "README.md"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manual),
        cmocka_unit_test(completion),
    };
    return cmocka_run_group_tests(tests, read_commands, NULL);
}
