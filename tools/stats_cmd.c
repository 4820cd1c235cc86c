/* touchstone stats: acceptance of speculation, and whether two records are of one law. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "stats/report.h"
#include "tool.h"

typedef struct {
    const char *path[2];
    float alpha, near;
    bool exact, json;
    const char *plot;
} job;

static int parse(int argc, char **argv, job *j)
{
    const ts_option options[] = {
        {"alpha", 0, TS_OPT_REAL, &j->alpha, 0, 0, "X",
         "a comparison finds this share of equal laws different (0.01)"},
        {"near", 0, TS_OPT_REAL, &j->near, 0, 0, "X",
         "teacher-forced: no more splits than rounds of A with less slack than X"},
        {"exact", 0, TS_OPT_FLAG, &j->exact, 0, 0, NULL, "any round that is not identical is a difference"},
        {"plot", 0, TS_OPT_TEXT, &j->plot, 0, 0, "FILE", "hazards and histograms with their bands, SVG"},
        {"json", 0, TS_OPT_FLAG, &j->json, 0, 0, NULL, "the result as a JSON object"},
    };
    ts_command_line c = {.usage = "stats A [B] [OPTIONS]",
                         .option = options,
                         .n = sizeof options / sizeof *options,
                         .operand = j->path,
                         .n_operands = 2,
                         .optional = 1};
    return ts_options_parse(argc, argv, &c);
}

static ts_status check_options(const job *j, ts_error *err)
{
    if (!(j->alpha > 0.0f && j->alpha < 1.0f))
        return ts_fail(err, TS_USAGE, NULL, "--alpha", "must be between 0 and 1");
    if (!isnan(j->near) && !(j->near > 0.0f))
        return ts_fail(err, TS_USAGE, NULL, "--near", "must be above 0");
    if (!j->path[1] && (!isnan(j->near) || j->exact))
        return ts_fail(err, TS_USAGE, NULL, j->exact ? "--exact" : "--near", "compares two records");
    return TS_OK;
}

static ts_status plot(const job *j, const ts_stat_side *side, int sides, ts_error *err)
{
    FILE *f = fopen(j->plot, "w");
    if (!f)
        return ts_fail(err, TS_BAD, j->plot, NULL, "%s", strerror(errno));
    ts_stat_svg(side, sides, f);
    bool failed = ferror(f) != 0;
    failed = fclose(f) != 0 || failed;
    return failed ? ts_fail(err, TS_BAD, j->plot, NULL, "cannot be written") : TS_OK;
}

static int report(const job *j, const ts_stat_side *side, const ts_match *m)
{
    ts_status verdict = m && (m->alarm || (j->exact && m->level != TS_MATCH_EXACT)) ? TS_DIFFERS : TS_OK;
    if (j->json) {
        cJSON *o = ts_tool_json();
        cJSON_AddItemToObject(o, "a", ts_stat_json(&side[0]));
        if (m) {
            cJSON_AddItemToObject(o, "b", ts_stat_json(&side[1]));
            cJSON_AddItemToObject(o, "comparison", ts_match_json(m));
        }
        return ts_tool_print(o, verdict);
    }
    ts_stat_print(&side[0]);
    if (m) {
        ts_stat_print(&side[1]);
        ts_match_print(m, &side[0], &side[1]);
    }
    int flushed = ts_tool_flush(false);
    return flushed ? flushed : (int)verdict;
}

int ts_cmd_stats(int argc, char **argv)
{
    ts_error err = {0};
    job j = {.alpha = 0.01f, .near = NAN};
    ts_stat_record record[2] = {0};
    ts_stat_side side[2] = {{.record = &record[0]}, {.record = &record[1]}};
    ts_match match;
    int done = parse(argc, argv, &j);
    if (done != TS_GO_ON)
        return done;
    int sides = j.path[1] ? 2 : 1;
    ts_status status = check_options(&j, &err);
    for (int i = 0; !status && i < sides; i++) {
        status = ts_stat_load(j.path[i], &record[i], &err);
        side[i].c = status ? (ts_counts){0} : ts_count(&record[i]);
    }
    if (!status && sides == 2)
        status = ts_match_records(&record[0], &record[1], (double)j.alpha, (double)j.near, &match, &err);
    if (!status && j.plot)
        status = plot(&j, side, sides, &err);
    int code = status ? ts_tool_fail(status, &err, j.json) : report(&j, side, sides == 2 ? &match : NULL);
    ts_stat_free(&record[0]);
    ts_stat_free(&record[1]);
    return code;
}
