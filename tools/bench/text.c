/* The tables that bench prints. */
#include <string.h>

#include "bench/result.h"

void ts_result_print_probe(const ts_result *r, FILE *f)
{
    const ts_quiet *q = &r->quiet;
    fprintf(f, "probe: %s %.2f/ns a thread (quartiles %.2f to %.2f), best %.2f: %s; %d thread%s\n", q->probe->name,
            q->spread.median, q->spread.low, q->spread.high, q->best, q->disturbed ? "DISTURBED" : "quiet",
            r->threads, r->threads == 1 ? "" : "s");
}

static void print_time(double ns, char *out, size_t size)
{
    const char *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s";
    double scale = ns < 1e3 ? 1 : ns < 1e6 ? 1e3 : ns < 1e9 ? 1e6 : 1e9;
    snprintf(out, size, "%.4g %s", ns / scale, unit);
}

static void print_skip(const ts_row *row, FILE *f)
{
    fprintf(f, "  SKIP %s: %s\n", row->name, row->skip);
}

static void print_row(const ts_row *row, FILE *f)
{
    char time[24], spread[32], pack[32] = "";
    print_time(row->ns.median, time, sizeof time);
    snprintf(spread, sizeof spread, "-%.1f +%.1f%%", 100 * (1 - row->ns.low / row->ns.median),
             100 * (row->ns.high / row->ns.median - 1));
    fprintf(f, "  %-28s %5zu %10s %14s", row->name, row->runs, time, spread);
    row->bytes > 0 ? fprintf(f, " %8.2f", row->bytes / row->ns.median) : fprintf(f, " %8s", "");
    row->macs > 0 ? fprintf(f, " %8.2f", row->macs / row->ns.median) : fprintf(f, " %8s", "");
    fputs(" ", f);
    for (size_t i = 0; i < row->ratios; i++)
        fprintf(f, " %.3gx %s", row->ratio[i].v.median, row->ratio[i].to);
    if (row->tokens > 0)
        fprintf(f, "  %.1f tokens/s", 1e9 * row->tokens / row->ns.median);
    if (row->prepared > 0) {
        print_time(row->prepared, pack, sizeof pack);
        fprintf(f, "  (prepared in %s)", pack);
    }
    fprintf(f, "%s\n", row->disturbed ? "  DISTURBED" : "");
}

void ts_result_print(const ts_result *r, size_t begin, FILE *f)
{
    if (begin == r->n)
        return;
    const ts_row *first = &r->v[begin];
    fprintf(f, "\n%s %s %s\n", first->op, first->shape, first->footprint);
    fprintf(f, "  %-28s %5s %10s %14s %8s %8s  ratios (more is better)\n", "", "runs", "median", "quartiles",
            "GB/s", "MAC/ns");
    for (size_t i = begin; i < r->n; i++)
        r->v[i].skip[0] ? print_skip(&r->v[i], f) : print_row(&r->v[i], f);
    fflush(f);
}
