#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

bool ts_parse_int(const char *text, int64_t lo, int64_t hi, int64_t *out)
{
    char *end;
    errno = 0;
    if (text[0] == '\0' || strspn(text, "-0123456789") != strlen(text))
        return false;
    long long v = strtoll(text, &end, 10);
    if (errno || *end || v < lo || v > hi)
        return false;
    *out = v;
    return true;
}

bool ts_parse_u64(const char *text, uint64_t *out)
{
    errno = 0;
    if (text[0] == '\0' || strspn(text, "0123456789") != strlen(text))
        return false;
    unsigned long long v = strtoull(text, NULL, 10);
    if (errno)
        return false;
    *out = v;
    return true;
}

bool ts_parse_real(const char *text, float *out)
{
    char *end;
    errno = 0;
    if (text[0] == '\0' || strspn(text, "+-.eE0123456789") != strlen(text))
        return false;
    float v = strtof(text, &end);
    if (errno || *end || !isfinite(v))
        return false;
    *out = v;
    return true;
}

ts_status ts_parse_ids(const char *text, int32_t **ids, size_t *n, ts_error *err)
{
    char item[16];
    size_t most = strlen(text) / 2 + 1;
    int32_t *y = malloc(most * sizeof *y);
    if (!y)
        return ts_no_memory(err, most * sizeof *y);
    *n = 0;
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, ",");
        int64_t v = -1;
        snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : sizeof item - 1), p);
        if (length >= sizeof item || !ts_parse_int(item, 0, INT32_MAX, &v)) {
            free(y);
            return ts_fail(err, TS_USAGE, NULL, "--ids", "'%s' is not an id (entry %zu)", item, *n + 1);
        }
        y[(*n)++] = (int32_t)v;
        p += length;
        if (*p == '\0')
            break;
    }
    *ids = y;
    return TS_OK;
}

static void print_help(const ts_command_line *c)
{
    char left[64], letter[8];
    printf("usage: touchstone %s\n\n", c->usage);
    for (size_t i = 0; i < c->n; i++) {
        const ts_option *o = &c->option[i];
        snprintf(letter, sizeof letter, o->letter ? "-%c, " : "    ", o->letter);
        snprintf(left, sizeof left, "%s--%s %s", letter, o->name, o->value ? o->value : "");
        printf("  %-30s %s\n", left, o->help);
    }
    puts("      --help                     this text");
}

static bool append(ts_option_list *list, const char *text)
{
    if (list->n == TS_MAX_LIST)
        return false;
    list->text[list->n++] = text;
    return true;
}

/* A file or folder; "" would be found missing later, and without the option's name. */
static bool is_path(const ts_option *o)
{
    return o->value && (strncmp(o->value, "FILE", 4) == 0 || strcmp(o->value, "DIR") == 0);
}

static bool store(const ts_option *o, const char *text)
{
    switch (o->kind) {
    case TS_OPT_FLAG:
        *(bool *)o->out = true;
        return true;
    case TS_OPT_TEXT:
        *(const char **)o->out = text;
        return *text || !is_path(o);
    case TS_OPT_INT:
        return ts_parse_int(text, o->lo, o->hi, o->out);
    case TS_OPT_U64:
        return ts_parse_u64(text, o->out);
    case TS_OPT_REAL:
        return ts_parse_real(text, o->out);
    case TS_OPT_LIST:
        return append(o->out, text);
    }
    return false;
}

static ts_status bad_value(const ts_option *o, const char *text, ts_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "--%s", o->name);
    if (o->kind == TS_OPT_LIST)
        return ts_fail(err, TS_USAGE, NULL, name, "given more than %d times", TS_MAX_LIST);
    if (o->kind == TS_OPT_INT)
        return ts_fail(err, TS_USAGE, NULL, name, "'%s' is not an integer from %" PRId64 " to %" PRId64, text,
                       o->lo, o->hi);
    if (o->kind == TS_OPT_TEXT)
        return ts_fail(err, TS_USAGE, NULL, name, "wants a %s, not ''", *o->value == 'D' ? "folder" : "file");
    return ts_fail(err, TS_USAGE, NULL, name, "'%s' is not %s", text,
                   o->kind == TS_OPT_U64 ? "an integer from 0 to 2^64-1" : "a number within the range of f32");
}

enum { LONG = 1000, HELP = 2000 };

/* What getopt_long wants to know; letters gets ":n:o:" */
static void describe(const ts_command_line *c, struct option *longs, char *letters)
{
    *letters++ = ':';
    for (size_t i = 0; i < c->n; i++) {
        const ts_option *o = &c->option[i];
        int argument = o->kind == TS_OPT_FLAG ? no_argument : required_argument;
        longs[i] = (struct option){o->name, argument, NULL, LONG + (int)i};
        if (o->letter)
            *letters++ = o->letter;
        if (o->letter && argument)
            *letters++ = ':';
    }
    *letters = '\0';
    longs[c->n] = (struct option){"help", no_argument, NULL, HELP};
    longs[c->n + 1] = (struct option){NULL, 0, NULL, 0};
}

static const ts_option *option_of(const ts_command_line *c, int got)
{
    for (size_t i = 0; i < c->n; i++)
        if (got == LONG + (int)i || (got > 0 && got == c->option[i].letter))
            return &c->option[i];
    return NULL;
}

static ts_status next_option(char **argv, const ts_command_line *c, int got, ts_error *err)
{
    const ts_option *o = option_of(c, got);
    if (got == ':')
        return ts_fail(err, TS_USAGE, NULL, argv[optind - 1], "needs a value");
    if (!o && optopt > 0 && optopt < LONG)
        return ts_fail(err, TS_USAGE, NULL, NULL, "unknown option '-%c'", optopt);
    if (!o)
        return ts_fail(err, TS_USAGE, NULL, NULL, "%s '%s'", optopt ? "no value may follow" : "unknown option",
                       argv[optind - 1]);
    return store(o, optarg) ? TS_OK : bad_value(o, optarg, err);
}

static ts_status operands(int argc, char **argv, const ts_command_line *c, ts_error *err)
{
    int given = argc - optind;
    if (given > c->n_operands)
        return ts_fail(err, TS_USAGE, NULL, NULL, "unexpected argument '%s'", argv[optind + c->n_operands]);
    if (given < c->n_operands - c->optional)
        return ts_fail(err, TS_USAGE, NULL, NULL, "usage: touchstone %s", c->usage);
    for (int i = 0; i < given; i++)
        c->operand[i] = argv[optind + i];
    return TS_OK;
}

/* --json takes a file there: it says nothing about errors. */
static bool names_json_file(const ts_command_line *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->option[i].name, "json") == 0)
            return c->option[i].kind != TS_OPT_FLAG;
    return false;
}

bool ts_wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

int ts_options_parse(int argc, char **argv, const ts_command_line *c)
{
    struct option longs[TS_MAX_OPTIONS + 2];
    char letters[2 * TS_MAX_OPTIONS + 2];
    bool json = ts_wants_json(argc, argv) && !names_json_file(c);
    ts_error err = {0};
    ts_status status = TS_OK;
    describe(c, longs, letters);
    opterr = 0;
    optind = 1;
    while (!status) {
        int got = getopt_long(argc, argv, letters, longs, NULL);
        if (got == -1)
            break;
        if (got == HELP) {
            print_help(c);
            return ts_tool_flush(false);
        }
        status = next_option(argv, c, got, &err);
    }
    if (!status)
        status = operands(argc, argv, c, &err);
    return status ? ts_tool_fail(status, &err, json) : TS_GO_ON;
}
