/* What check found: one line per comparison, gathered into a table per
 * operation, failures with a repro line first. */
#ifndef TS_CHECK_REPORT_H
#define TS_CHECK_REPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include "num/status.h"

/* TS_NEAR_TIE: ids differ where what a profile leaves open decides between them; it passes, and is told. */
typedef enum { TS_EXACT, TS_BOUND, TS_SAME, TS_NEAR_TIE, TS_FAIL, TS_SKIP, TS_VERDICTS } ts_verdict;

extern const char *const ts_verdict_name[TS_VERDICTS];

typedef struct {
    char group[24];   /* table row: an operation, "trace", "stream", "files", ... */
    char subject[96]; /* the case */
    char what[96];    /* who against whom, e.g. "rmsnorm.portable = ref32" */
    char output[96];  /* tensor, "" if the whole */
    ts_verdict verdict;
    double worst; /* error as a fraction of what is allowed; 0 if exact */
    char *detail; /* of a failure or a skip; owned */
    char *json;   /* what was measured on tensors that differ: the text of a JSON object, or NULL; owned */
} ts_finding;

typedef struct {
    ts_finding *v;
    size_t n, room;
    long long count[TS_VERDICTS];
    bool quiet;                  /* no progress line */
    bool lost;                   /* a finding could not be stored: the run fails */
    int stream;                  /* > 0: findings are not kept but written to this file descriptor at once */
    size_t done, total;          /* cases, for the progress line */
    const char *options;         /* that every repro line needs: " --plugin my.so", or NULL */
    bool narrowed;               /* not everything was asked for */
    char now[96];                /* the schedule under way, or "" */
    char group[24], subject[96]; /* of what is being checked now */
} ts_report;

/* Of counts by verdict, those that pass. */
static inline long long ts_verdicts_passed(const long long count[TS_VERDICTS])
{
    return count[TS_EXACT] + count[TS_BOUND] + count[TS_SAME] + count[TS_NEAR_TIE];
}

/* The subject of what follows: `group` and `subject` are kept in findings made until the next call. */
void ts_report_begin(ts_report *r, const char *group, const char *subject);
/* What is under way, should this process die of it; "": nothing foreign. */
void ts_report_now(ts_report *r, const char *what);
/* One more case is done: the progress line, and at once if it failed. */
void ts_report_progress(ts_report *whole, const ts_report *part);
/* Moves the findings of `part` to the end of `whole`. */
void ts_report_join(ts_report *whole, ts_report *part);
/* detail (may be NULL) is copied. */
void ts_report_add(ts_report *r, const char *what, const char *output, ts_verdict verdict, double worst,
                   const char *detail);
/* A failure with what was measured on its tensors (may be NULL). */
void ts_report_add_measured(ts_report *r, const char *what, const char *output, ts_verdict verdict, double worst,
                            const char *detail, const cJSON *measured);
/* A finding that is complete; takes over what it owns. */
void ts_report_keep(ts_report *r, ts_finding x);
/* Writes a finding, or r->now, to the stream. */
void ts_report_stream_put(ts_report *r, const ts_finding *f);
void ts_report_stream_now(ts_report *r);
/* Says on the stream that no finding is missing; false if any is, or could not be written. */
bool ts_report_stream_end(ts_report *r);
/* The findings another process of this binary wrote to its stream; false if some may be missing. */
bool ts_report_stream_read(ts_report *r, const char *bytes, size_t size);
/* A failure from an error. */
void ts_report_error(ts_report *r, const char *what, ts_status status, const ts_error *err);

/* The table and, if anything failed, the first failure in full and the others in a line each. */
void ts_report_print(const ts_report *r, FILE *f);
cJSON *ts_report_json(const ts_report *r);
/* JUnit XML: a test suite a group, a test case a comparison. */
ts_status ts_report_junit(const ts_report *r, const char *path, ts_error *err);
/* TAP version 13, a line a comparison, the detail of a failure as comments. */
void ts_report_tap(const ts_report *r, FILE *f);
/* "group: subject: what output", without the empty ones. */
void ts_report_title(const ts_finding *x, char *out, size_t size);
/* The shell command that shows this failure alone; to be freed, NULL if out of memory. */
char *ts_report_repro(const ts_report *r, const ts_finding *x);
/* " --case 'it'\''s'": the option with its value as one word of a shell. */
void ts_report_option(FILE *f, const char *option, const char *value);
/* NULL, or why the run does not count although nothing failed: it is red all the same. */
const char *ts_report_void(const ts_report *r);
/* TS_OK, or TS_DIFFERS if anything failed or nothing was compared. */
ts_status ts_report_status(const ts_report *r);
void ts_report_free(ts_report *r);

#endif
