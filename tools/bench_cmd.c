/* touchstone bench: how fast is every schedule, beside what the machine and others can do? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/contest.h"
#include "bench/model.h"
#include "format/json.h"
#include "options.h"
#include "plugin.h"
#include "session.h"
#include "tool.h"

typedef struct {
    ts_contest_options o;
    ts_option_list plugin;
    const char *footprint, *model, *ggml, *json, *plot, *compare, *newer;
    int64_t threads;
    float seconds, tolerance;
    bool blas;
} settings;

/* Its value is the older file, the newer one is the operand; without it there is none. */
static bool compares(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--compare", 9) == 0)
            return true;
    return false;
}

static int parse(int argc, char **argv, settings *s)
{
    const ts_option options[] = {
        {"op", 'o', TS_OPT_TEXT, &s->o.op, 0, 0, "NAME", "only schedules of this operation"},
        {"schedule", 's', TS_OPT_TEXT, &s->o.schedule, 0, 0, "NAME", "only this schedule"},
        {"shape", 0, TS_OPT_TEXT, &s->o.shape, 0, 0, "M,N,K",
         "these first dims instead of the table's shapes (with --op)"},
        {"footprint", 0, TS_OPT_TEXT, &s->footprint, 0, 0, "F", "cache, dram or both (both)"},
        {"plugin", 'p', TS_OPT_LIST, &s->plugin, 0, 0, "FILE.so", "schedules from outside too (docs/schedules.md)"},
        {"model", 'm', TS_OPT_TEXT, &s->model, 0, 0, "DIR", "time this model on the fast engine instead"},
        {"threads", 't', TS_OPT_INT, &s->threads, 1, TS_MAX_THREADS, "N", "threads (1)"},
        {"peer-ggml", 0, TS_OPT_TEXT, &s->ggml, 0, 0, "DIR", "beside the ggml whose libggml-*.so are in DIR"},
        {"peer-blas", 0, TS_OPT_FLAG, &s->blas, 0, 0, NULL, "beside the sgemm of OpenBLAS"},
        {"seconds", 0, TS_OPT_REAL, &s->seconds, 0, 0, "S",
         "for each schedule and shape, and the longest call (1)"},
        {"json", 0, TS_OPT_TEXT, &s->json, 0, 0, "FILE", "write the results as JSON"},
        {"plot", 0, TS_OPT_TEXT, &s->plot, 0, 0, "FILE.svg", "write the ratios as a bar chart"},
        {"compare", 0, TS_OPT_TEXT, &s->compare, 0, 0, "OLD",
         "time nothing: which ratios of OLD fell in the operand?"},
        {"tolerance", 0, TS_OPT_REAL, &s->tolerance, 0, 0, "X", "with --compare: by more than this part (0.1)"},
    };
    bool two = compares(argc, argv);
    ts_command_line c = {.usage = two ? "bench --compare OLD.json NEW.json [--tolerance X]" : "bench [OPTIONS]",
                         .option = options,
                         .n = sizeof options / sizeof *options,
                         .operand = &s->newer,
                         .n_operands = two ? 1 : 0};
    return ts_options_parse(argc, argv, &c);
}

/* Whether a file can be put there: said before an hour of timing, not after it. */
static ts_status check_target(const char *path, ts_error *err)
{
    char folder[512];
    struct stat st;
    const char *slash = path ? strrchr(path, '/') : NULL;
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (!path)
        return TS_OK;
    if (n >= sizeof folder)
        return ts_fail(err, TS_BAD, path, NULL, "the path is too long");
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return ts_fail(err, TS_BAD, path, NULL, "cannot write: %s", strerror(EISDIR));
    snprintf(folder, sizeof folder, "%.*s", n ? (int)n : 1, n ? path : ".");
    return access(folder, W_OK) == 0 ? TS_OK
                                     : ts_fail(err, TS_BAD, path, NULL, "cannot write: %s", strerror(errno));
}

static ts_status check(settings *s, ts_error *err)
{
    bool both = !s->footprint || strcmp(s->footprint, "both") == 0;
    s->o.cache = both || strcmp(s->footprint, "cache") == 0;
    s->o.dram = both || strcmp(s->footprint, "dram") == 0;
    s->o.threads = (int)s->threads;
    s->o.seconds = (double)s->seconds;
    if (!s->o.cache && !s->o.dram)
        return ts_fail(err, TS_USAGE, NULL, "--footprint", "'%s' is not cache, dram or both", s->footprint);
    if (!(s->seconds > 0) || s->seconds > 3600)
        return ts_fail(err, TS_USAGE, NULL, "--seconds", "more than 0, at most 3600");
    if (!(s->tolerance >= 0) || s->tolerance >= 1)
        return ts_fail(err, TS_USAGE, NULL, "--tolerance", "from 0 to below 1");
    if (s->model && (s->o.op || s->o.schedule || s->o.shape))
        return ts_fail(err, TS_USAGE, NULL, "--model", "times the whole engine, not one operation");
    ts_status status = check_target(s->json, err);
    return status ? status : check_target(s->plot, err);
}

static ts_status save_plot(const ts_result *r, const char *path, ts_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return ts_no_memory(err, 0);
    ts_result_svg(r, f);
    bool whole = fclose(f) == 0;
    ts_status s = whole ? ts_write_file(path, text, size, err) : ts_no_memory(err, size);
    free(text);
    return s;
}

static ts_status save(const settings *s, const ts_result *r, ts_error *err)
{
    ts_status status = TS_OK;
    if (s->json) {
        cJSON *o = ts_result_json(r);
        status = o ? ts_json_save(s->json, o, err) : ts_no_memory(err, 0);
        cJSON_Delete(o);
    }
    return !status && s->plot ? save_plot(r, s->plot, err) : status;
}

static void print_summary(const ts_result *r)
{
    size_t skipped = 0;
    for (size_t i = 0; i < r->n; i++)
        skipped += r->v[i].skip[0] != '\0';
    printf("\n%zu rows timed, %zu skipped\n", r->n - skipped, skipped);
}

static ts_status run(const settings *s, ts_result *r, ts_error *err)
{
    ts_model_options model = {s->model, s->o.threads, s->o.seconds, false};
    r->threads = s->o.threads;
    r->quiet = ts_quiet_probe(s->o.threads);
    ts_result_print_probe(r, stdout);
    if (s->o.ggml)
        printf("peer: ggml, %s\n", ts_ggml_variant(s->o.ggml));
    if (s->o.blas)
        printf("peer: OpenBLAS, core %s\n", s->o.blas->core);
    ts_status status = s->model ? ts_model_run(&model, r, err) : ts_contests_run(&s->o, r, err);
    if (status)
        return status;
    print_summary(r);
    return save(s, r, err);
}

static ts_status bench(settings *s, ts_error *err)
{
    ts_plugins plugins;
    ts_result result = {0};
    ts_openblas blas = {0};
    ts_status status = ts_plugins_open(s->plugin.text, s->plugin.n, &plugins, err);
    s->o.extra = plugins.schedule;
    if (!status)
        status = ts_contests_check(&s->o, err);
    if (!status && s->ggml)
        status = ts_ggml_open(s->ggml, &s->o.ggml, err);
    if (!status && s->blas)
        status = ts_openblas_open(ts_blas_core_type(), s->o.threads, &blas, err);
    s->o.blas = s->blas ? &blas : NULL;
    if (!status)
        status = run(s, &result, err);
    ts_ggml_close(s->o.ggml);
    ts_result_free(&result);
    return status;
}

int ts_cmd_bench(int argc, char **argv)
{
    settings s = {.threads = 1, .seconds = 1, .tolerance = 0.1f};
    ts_error err = {0};
    int go = parse(argc, argv, &s);
    if (go != TS_GO_ON)
        return go;
    ts_status status = check(&s, &err);
    if (!status && s.compare) {
        status = ts_result_compare(s.compare, s.newer, (double)s.tolerance, &err);
    } else if (!status) {
        status = bench(&s, &err);
    }
    int code = status == TS_OK || status == TS_DIFFERS ? (int)status : ts_tool_fail(status, &err, false);
    if (s.plugin.n > 0)
        _exit(ts_tool_flush(false) ? TS_BAD : code); /* see ts_plugins_open */
    return code;
}
