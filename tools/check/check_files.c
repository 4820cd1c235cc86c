#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "format/files.h"
#include "format/json.h"
#include "num/sha256.h"

/* The line of `sums` for this path: "HEX  PATH\n", marked as seen by blanking its first character. */
static bool take_line(char *sums, const char *path, char hex[TS_SHA256_HEX])
{
    size_t len = strlen(path);
    for (char *line = sums; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, "\n");
        if (n == 66 + len && line[0] != ' ' && memcmp(line + 64, "  ", 2) == 0 &&
            memcmp(line + 66, path, len) == 0) {
            memcpy(hex, line, 64);
            hex[64] = 0;
            memset(line, ' ', 64);
            return true;
        }
    }
    return false;
}

static void check_file(ts_check *k, char *sums, const char *file)
{
    const char *path = file + strlen(k->o.golden) + 1;
    char want[TS_SHA256_HEX], got[TS_SHA256_HEX], detail[512];
    ts_error err = {0};
    if (strcmp(path, "SHA256SUMS") == 0)
        return;
    ts_report_begin(k->report, "files", path);
    if (!take_line(sums, path, want)) {
        ts_report_add(k->report, "SHA256SUMS", "", TS_FAIL, 0,
                      "the file has no line in SHA256SUMS: make golden writes it\n");
        return;
    }
    ts_status s = ts_sha256_file(file, got, &err);
    snprintf(detail, sizeof detail, "sha256 is   %s\nrecorded as %s\n", got, want);
    if (s)
        ts_report_error(k->report, "SHA256SUMS", s, &err);
    else
        ts_report_add(k->report, "SHA256SUMS", "", strcmp(got, want) ? TS_FAIL : TS_EXACT, 0,
                      strcmp(got, want) ? detail : NULL);
}

static void leftover_lines(ts_check *k, const char *sums)
{
    for (const char *line = sums; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (line[0] != ' ') {
            ts_report_begin(k->report, "files", "SHA256SUMS");
            char detail[300];
            snprintf(detail, sizeof detail, "no file for the line: %.*s\n", (int)strcspn(line, "\n"), line);
            ts_report_add(k->report, "SHA256SUMS", "", TS_FAIL, 0, detail);
        }
}

void ts_check_files(ts_check *k)
{
    char path[512], *sums = NULL;
    size_t size;
    ts_files files = {0};
    ts_error err = {0};
    ts_check_path(k, "SHA256SUMS", path, sizeof path);
    ts_report_begin(k->report, "files", "SHA256SUMS");
    ts_status s = ts_read_file(path, &sums, &size, &err);
    if (!s)
        s = ts_files_list(k->o.golden, &files, &err);
    if (s)
        ts_report_error(k->report, "SHA256SUMS", s, &err);
    else if (size == 0 || strlen(sums) != size || sums[size - 1] != '\n')
        ts_report_add(k->report, "SHA256SUMS", "", TS_FAIL, 0, "not a list of lines\n");
    for (size_t i = 0; !s && i < files.n; i++)
        check_file(k, sums, files.path[i]);
    if (!s)
        leftover_lines(k, sums);
    ts_files_free(&files);
    free(sums);
}
