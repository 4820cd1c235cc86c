/* All ratios as bars, one table of a match below the other. */
#include <math.h>
#include <string.h>

#include "bench/result.h"

enum { LEFT = 340, WIDTH = 560, RIGHT = 90, LINE = 16, HEAD = 26, TOP = 64 };

static const char *const colours[] = {"#4269d0", "#efb118", "#3ca951", "#a463f2", "#ff725c", "#6cc5b0"};
enum { COLOURS = sizeof colours / sizeof *colours };

/* A new match begins. */
static bool begins(const ts_result *r, size_t i)
{
    return i == 0 || strcmp(r->v[i].op, r->v[i - 1].op) != 0 || strcmp(r->v[i].shape, r->v[i - 1].shape) != 0 ||
           strcmp(r->v[i].footprint, r->v[i - 1].footprint) != 0;
}

/* Names are of our tables, of schedules and of ggml; only the last could hold these. */
static void print_escaped(FILE *f, const char *s)
{
    for (; *s; s++)
        switch (*s) {
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '&':
            fputs("&amp;", f);
            break;
        default:
            fputc(*s, f);
        }
}

/* Powers of ten around all ratios. */
static void limits(const ts_result *r, double *lo, double *hi)
{
    *lo = -1;
    *hi = 1;
    for (size_t i = 0; i < r->n; i++)
        for (size_t j = 0; j < r->v[i].ratios; j++) {
            double l = log10(fmax(r->v[i].ratio[j].v.median, 1e-6));
            *lo = fmin(*lo, floor(l));
            *hi = fmax(*hi, ceil(l));
        }
}

static double place(double ratio, double lo, double hi)
{
    return LEFT + WIDTH * (log10(fmax(ratio, 1e-6)) - lo) / (hi - lo);
}

static int height(const ts_result *r)
{
    int y = TOP;
    for (size_t i = 0; i < r->n; i++)
        y += (begins(r, i) ? HEAD : 0) + LINE * (int)r->v[i].ratios;
    return y + LINE;
}

static void print_axis(FILE *f, double lo, double hi, int bottom)
{
    for (int e = (int)lo; e <= (int)hi; e++) {
        double x = place(pow(10, e), lo, hi);
        fprintf(f, "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='%s'/>\n", x, x, TOP - 10, bottom,
                e == 0 ? "#333" : "#ddd");
        fprintf(f, "<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n", x, TOP - 14, pow(10, e));
    }
}

static void print_bar(FILE *f, const ts_row *row, size_t j, int y, double lo, double hi)
{
    const ts_ratio *q = &row->ratio[j];
    double one = place(1, lo, hi), x = place(q->v.median, lo, hi);
    fprintf(f, "<text x='%d' y='%d' text-anchor='end'>", LEFT - 8, y + 11);
    print_escaped(f, row->name);
    fputs(" / ", f);
    print_escaped(f, q->to);
    fprintf(f, "</text><rect x='%.1f' y='%d' width='%.1f' height='%d' fill='%s'%s/>\n", fmin(one, x), y + 2,
            fmax(fabs(x - one), 1), LINE - 4, colours[j % COLOURS], row->disturbed ? " fill-opacity='0.4'" : "");
    fprintf(f, "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#000'/>", place(q->v.low, lo, hi),
            place(q->v.high, lo, hi), y + LINE / 2, y + LINE / 2);
    fprintf(f, "<text x='%.1f' y='%d'>%.3g</text>\n", fmax(one, x) + 4, y + 11, q->v.median);
}

void ts_result_svg(const ts_result *r, FILE *f)
{
    double lo, hi;
    int bottom = height(r), y = TOP;
    limits(r, &lo, &hi);
    fprintf(f,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
            "font-size='11'>\n<rect width='100%%' height='100%%' fill='#fff'/>\n",
            LEFT + WIDTH + RIGHT, bottom);
    fprintf(f,
            "<text x='8' y='18' font-size='14'>touchstone bench: how many times faster, medians and quartiles of "
            "paired ratios</text>\n<text x='8' y='34'>probe %s %.2f/ns%s; faded bars: the machine was "
            "disturbed</text>\n",
            r->quiet.probe->name, r->quiet.spread.median, r->quiet.disturbed ? ", DISTURBED" : "");
    print_axis(f, lo, hi, bottom);
    for (size_t i = 0; i < r->n; i++) {
        if (begins(r, i)) {
            fprintf(f, "<text x='8' y='%d' font-weight='bold'>", y + 18);
            print_escaped(f, r->v[i].op);
            fprintf(f, " %s %s</text>\n", r->v[i].shape, r->v[i].footprint);
            y += HEAD;
        }
        for (size_t j = 0; j < r->v[i].ratios; j++, y += LINE)
            print_bar(f, &r->v[i], j, y, lo, hi);
    }
    fputs("</svg>\n", f);
}
