#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case/case.h"
#include "folder.h"
#include "format/json.h"

static const char form[] = "{\"schema\":1,\"kind\":\"op\",\"op\":\"conv1d\",\"order\":\"taps\",\"version\":1,"
                           "\"dims\":{\"T\":%s,\"C\":2,\"W\":3},\"seed\":\"1\","
                           "\"inputs\":{\"x\":\"normal\",\"w\":\"normal\",\"state\":\"normal\"}%s}";

static folder f;

static int make_folder(void **state)
{
    (void)state;
    folder_make(&f);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    folder_remove(&f);
    return 0;
}

static void load(const char *T, const char *more, ts_case *c)
{
    char text[1024], path[FOLDER_PATH];
    ts_error err;
    snprintf(text, sizeof text, form, T, more);
    folder_text(&f, "a.json", text);
    assert_int_equal(ts_case_load(f.path, folder_file(&f, "a.json", path), c, &err), TS_OK);
}

static void good_fields_are_taken(void **state)
{
    (void)state;
    static const char *const good[] = {"", ",\"covers\":[]", ",\"covers\":[\"B23\",\"A1\"]", ",\"cuts\":\"all\"",
                                       ",\"cuts\":[[5],[1,4],[1,1,1,1,1]]"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ts_case c;
        load("5", good[i], &c);
        assert_int_equal(c.kind, TS_CASE_OP);
        assert_int_equal(ts_case_covers(&c, "B23"), i == 2);
        assert_false(ts_case_covers(&c, "B2"));
        ts_case_free(&c);
    }
}

/* A case, and the field that its error must name; NULL: it is none. */
typedef struct {
    const char *text, *field;
} strict;

#define STREAM "{\"schema\":1,\"kind\":\"stream\",\"model\":\"m\",\"profile\":\"ts\",\"golden\":\"g\",\"new\":3"
#define EXTERNAL "{\"schema\":1,\"kind\":\"external\",\"check\":\"trace\""
#define OP                                                                                                 \
    "{\"schema\":1,\"kind\":\"op\",\"op\":\"exp\",\"order\":\"elementwise\",\"version\":1,\"seed\":\"1\"," \
    "\"dims\":{\"n\":3}"
#define INPUTS ",\"inputs\":{\"x\":\"normal\"}"
#define ATTENTION(both)                                                                                        \
    "{\"schema\":1,\"kind\":\"op\",\"op\":\"attention\",\"order\":\"split128\",\"version\":1,\"seed\":\"1\","  \
    "\"dims\":{\"T\":1,\"Hq\":1,\"Hkv\":1,\"D\":8,\"parts\":1,\"window\":0" both "},\"params\":{\"scale\":1}," \
    "\"inputs\":{\"q\":\"normal\",\"pos\":\"iota:0\",\"len\":\"list:1\",\"kv\":\"real/normal/1/1/1/0\"}}"

static void unknown_fields_and_values_are_refused(void **state)
{
    (void)state;
    static const strict all[] = {
        {STREAM "}", NULL},
        {STREAM ",\"tier\":\"grid\",\"variants\":\"invariance\",\"bits\":8,\"expect\":{\"ids\":\"00\"}}", NULL},
        {STREAM ",\"tier\":\"often\"}", "tier"},
        {STREAM ",\"tier\":1}", "tier"},
        {STREAM ",\"variants\":\"all\"}", "variants"},
        {STREAM ",\"bits\":5}", "bits"},
        {STREAM ",\"cuts\":\"all\"}", "cuts"},
        {STREAM ",\"expect\":{\"text\":\"00\"}}", "expect"},
        {"{\"schema\":1,\"kind\":\"stream\",\"model\":\"m\",\"profile\":\"fast\",\"golden\":\"g\",\"new\":3}",
         "profile"},
        {"{\"schema\":1,\"kind\":\"stream\",\"model\":\"m\",\"profile\":\"ts\",\"new\":3}", "golden"},
        {EXTERNAL "}", NULL},
        {EXTERNAL ",\"golden\":\"g\",\"expect\":{\"a8_s2\":\"00\"}}", NULL},
        {EXTERNAL ",\"goldne\":\"g\"}", "goldne"},
        {EXTERNAL ",\"model\":1}", "model"},
        {OP INPUTS "}", NULL},
        {OP INPUTS ",\"exact\":true,\"about\":\"why\",\"expect\":{\"y\":\"00\"},\"made_by\":{\"tool\":\"t\"}}",
         NULL},
        {OP INPUTS ",\"cutz\":\"all\"}", "cutz"},
        {OP INPUTS ",\"colour\":\"red\"}", "colour"},
        {OP INPUTS ",\"tier\":\"grid\"}", "tier"},
        {OP INPUTS ",\"exact\":\"yes\"}", "exact"},
        {OP INPUTS ",\"about\":5}", "about"},
        {OP INPUTS ",\"expect\":{\"y\":\"00\",\"z\":\"00\"}}", "expect"},
        {OP INPUTS ",\"expect\":{\"x\":\"00\"}}", "expect"},
        {OP INPUTS ",\"expect\":{\"y\":0}}", "expect"},
        {OP INPUTS ",\"expect\":[]}", "expect"},
        {OP INPUTS ",\"made_by\":{\"who\":\"t\"}}", "made_by"},
        {OP INPUTS ",\"params\":[]}", "params"},
        {OP ",\"inputs\":{\"x\":\"normal\",\"w\":\"normal\"}}", "inputs"},
        {OP ",\"inputs\":{\"x\":\"normal\",\"y\":\"normal\"}}", "inputs"},
        {ATTENTION(""), NULL},
        {ATTENTION(",\"both\":0"), NULL},
        {ATTENTION(",\"both\":1"), NULL},
        {ATTENTION(",\"both\":2"), "dims"},
        {ATTENTION(",\"both\":true"), "both"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[FOLDER_PATH];
        ts_case c;
        folder_text(&f, "a.json", all[i].text);
        assert_int_equal(ts_case_load(f.path, folder_file(&f, "a.json", path), &c, NULL), TS_OK);
        if ((c.kind == TS_CASE_BROKEN) != (all[i].field != NULL))
            fail_msg("%s: %s", all[i].text, all[i].field ? "was accepted" : c.error.reason);
        if (all[i].field)
            assert_string_equal(c.error.tensor, all[i].field);
        ts_case_free(&c);
    }
}

static void bad_fields_are_named(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\"covers\":\"A1\"",   "\"covers\":[1]",       "\"covers\":[\"\"]",    "\"covers\":[\"A\"]",
        "\"covers\":[\"1A\"]", "\"covers\":[\"a1\"]",  "\"covers\":[\"A1 \"]", "\"covers\":{}",
        "\"cuts\":\"some\"",   "\"cuts\":[]",          "\"cuts\":5",           "\"cuts\":[5]",
        "\"cuts\":[[]]",       "\"cuts\":[[2,2]]",     "\"cuts\":[[6]]",       "\"cuts\":[[5,0]]",
        "\"cuts\":[[6,-1]]",   "\"cuts\":[[2.5,2.5]]", "\"cuts\":[[\"5\"]]",   "\"cuts\":[[5],[4]]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char more[128];
        ts_case c;
        snprintf(more, sizeof more, ",%s", bad[i]);
        load("5", more, &c);
        if (c.kind != TS_CASE_BROKEN)
            fail_msg("%s was accepted", bad[i]);
        assert_string_equal(c.error.tensor, bad[i][2] == 'o' ? "covers" : "cuts");
        ts_case_free(&c);
    }
    ts_case c;
    load("257", ",\"cuts\":\"all\"", &c);
    assert_int_equal(c.kind, TS_CASE_BROKEN);
    ts_case_free(&c);
}

/* One row of docs/bugs.md. */
typedef struct {
    char id[8];
    char *cell[4]; /* what, cases, tests, mutants */
} row;

enum { MOST = 128 };

typedef struct {
    ts_case *c;
    size_t n;
    row row[MOST];
    int rows;
    char *text;
} book;

static void split_row(char *line, row *r)
{
    char *cell[6] = {NULL};
    int n = 0;
    for (char *p = line; n < 6 && (p = strchr(p, '|')) != NULL; p++) {
        *p = 0;
        cell[n++] = p + 1;
    }
    assert_int_equal(n, 6);
    assert_int_equal(sscanf(cell[0], "%7s", r->id), 1);
    for (int i = 0; i < 4; i++)
        r->cell[i] = cell[i + 1];
}

static void read_book(book *b)
{
    size_t size;
    ts_error err;
    b->rows = 0;
    assert_int_equal(ts_case_list("golden/own/cases", &b->c, &b->n, &err), TS_OK);
    assert_int_equal(ts_read_file("docs/bugs.md", &b->text, &size, &err), TS_OK);
    for (char *line = strtok(b->text, "\n"); line; line = strtok(NULL, "\n"))
        if (line[0] == '|' && line[1] == ' ' && line[2] >= 'A' && line[2] <= 'Z' && line[3] >= '0' &&
            line[3] <= '9') {
            assert_true(b->rows < MOST);
            split_row(line, &b->row[b->rows++]);
        }
    assert_true(b->rows > 50);
}

static void close_book(book *b)
{
    ts_case_list_free(b->c, b->n);
    free(b->text);
}

/* The next `name` of a cell, or false. */
static bool next_name(const char **at, char *out, size_t size)
{
    const char *open = strchr(*at, '`'), *close = open ? strchr(open + 1, '`') : NULL;
    if (!close || (size_t)(close - open) > size)
        return false;
    memcpy(out, open + 1, (size_t)(close - open - 1));
    out[close - open - 1] = 0;
    *at = close + 1;
    return true;
}

static bool matches_one(const char *cell, const char *name)
{
    char pattern[128];
    while (next_name(&cell, pattern, sizeof pattern))
        if (fnmatch(pattern, name, 0) == 0)
            return true;
    return false;
}

static void every_cover_has_its_row(void **state)
{
    (void)state;
    static book b;
    const cJSON *id;
    read_book(&b);
    for (size_t i = 0; i < b.n; i++)
        cJSON_ArrayForEach (id, cJSON_GetObjectItemCaseSensitive(b.c[i].json, "covers")) {
            int r = 0;
            while (r < b.rows && strcmp(b.row[r].id, id->valuestring) != 0)
                r++;
            if (r == b.rows || !matches_one(b.row[r].cell[1], b.c[i].name))
                fail_msg("docs/bugs.md: the row of %s does not name %s", id->valuestring, b.c[i].name);
        }
    close_book(&b);
}

static bool covered(const book *b, const char *pattern, const char *id)
{
    for (size_t i = 0; i < b->n; i++)
        if (fnmatch(pattern, b->c[i].name, 0) == 0 && ts_case_covers(&b->c[i], id))
            return true;
    return false;
}

static void every_name_in_a_row_exists(void **state)
{
    (void)state;
    static book b;
    char name[128];
    read_book(&b);
    for (int r = 0; r < b.rows; r++) {
        const char *at = b.row[r].cell[1];
        while (next_name(&at, name, sizeof name))
            if (!covered(&b, name, b.row[r].id))
                fail_msg("docs/bugs.md: %s: no case %s covers it", b.row[r].id, name);
        for (at = b.row[r].cell[2]; next_name(&at, name, sizeof name);)
            if (access(name, R_OK) != 0)
                fail_msg("docs/bugs.md: %s: there is no %s", b.row[r].id, name);
    }
    close_book(&b);
}

/* The reports that a planted bug stands for, "" if none. */
static void covers_of(const char *patch, char *out, size_t size)
{
    char line[256];
    FILE *file = fopen(patch, "r");
    assert_non_null(file);
    *out = 0;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "# Covers: ", 10) == 0)
            assert_true((size_t)snprintf(out, size, "%s", line + 10) < size);
    fclose(file);
}

static void every_mutant_is_in_the_row_of_its_report(void **state)
{
    (void)state;
    static book b;
    glob_t g;
    char covers[128], name[128], path[160];
    read_book(&b);
    assert_int_equal(glob("tests/mutants/*.patch", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        covers_of(g.gl_pathv[i], covers, sizeof covers);
        assert_true(covers[0] != 0);
        for (char *id = strtok(covers, ", \n"); id; id = strtok(NULL, ", \n")) {
            int r = 0;
            while (r < b.rows && strcmp(b.row[r].id, id) != 0)
                r++;
            snprintf(name, sizeof name, "`%.*s`", (int)strcspn(g.gl_pathv[i] + 14, "."), g.gl_pathv[i] + 14);
            if (r == b.rows ? id[1] >= '0' && id[1] <= '9' : !strstr(b.row[r].cell[3], name))
                fail_msg("docs/bugs.md: the row of %s does not name the mutant %s", id, name);
        }
    }
    globfree(&g);
    for (int r = 0; r < b.rows; r++)
        for (const char *at = b.row[r].cell[3]; next_name(&at, name, sizeof name);) {
            snprintf(path, sizeof path, "tests/mutants/%s.patch", name);
            covers_of(path, covers, sizeof covers);
            if (!strstr(covers, b.row[r].id))
                fail_msg("docs/bugs.md: %s: %s does not cover it", b.row[r].id, path);
        }
    close_book(&b);
}

/* A report without a case or a test says why, and no report has two rows. */
static void a_row_says_what_covers_it(void **state)
{
    (void)state;
    static book b;
    read_book(&b);
    for (int r = 0; r < b.rows; r++) {
        const row *x = &b.row[r];
        if (!strchr(x->cell[1], '`') && !strchr(x->cell[2], '`') && !strstr(x->cell[1], "not yet: "))
            fail_msg("docs/bugs.md: %s is neither covered nor excused", x->id);
        assert_non_null(strstr(x->cell[3], "mutants: "));
        for (int q = 0; q < r; q++)
            assert_string_not_equal(b.row[q].id, x->id);
    }
    close_book(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(good_fields_are_taken, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(bad_fields_are_named, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(unknown_fields_and_values_are_refused, make_folder, remove_folder),
        cmocka_unit_test(every_cover_has_its_row),
        cmocka_unit_test(every_name_in_a_row_exists),
        cmocka_unit_test(every_mutant_is_in_the_row_of_its_report),
        cmocka_unit_test(a_row_says_what_covers_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
