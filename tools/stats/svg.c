/* Two panels: hazards as lines in their bands, histograms as bars with theirs. */
#include <math.h>

#include "stats/report.h"

enum { LEFT = 60, TOP = 60, WIDE = 360, HIGH = 260, GAP = 90 };

static const char *const colours[] = {"#4269d0", "#efb118"};

static double up(double share, double most)
{
    return TOP + HIGH * (1.0 - share / most);
}

static double at(int i, int cells)
{
    return WIDE * (i + 0.5) / cells;
}

static void print_escaped(const char *s, FILE *f)
{
    for (; *s; s++) {
        if (*s == '<' || *s == '&')
            fputs(*s == '<' ? "&lt;" : "&amp;", f);
        else
            fputc((unsigned char)*s < ' ' ? ' ' : *s, f);
    }
}

static void print_axes(FILE *f, double left, const char *title, int from, int to, double most)
{
    fprintf(f, "<text x='%.0f' y='%d' font-weight='bold'>%s</text>\n", left, TOP - 14, title);
    for (int i = 0; i <= 4; i++) {
        double y = up(most * i / 4, most);
        fprintf(f, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' stroke='#ddd'/>", left, left + WIDE, y, y);
        fprintf(f, "<text x='%.1f' y='%.1f' text-anchor='end'>%.3g</text>\n", left - 6, y + 4, most * i / 4);
    }
    for (int i = from; i <= to; i++)
        fprintf(f, "<text x='%.1f' y='%d' text-anchor='middle'>%d</text>\n", left + at(i - from, to - from + 1),
                TOP + HIGH + 16, i);
}

static void print_hazards(FILE *f, const ts_counts *c, int k, int which)
{
    double low, high;
    fprintf(f, "<polygon fill='%s' fill-opacity='0.2' points='", colours[which]);
    for (int i = 1; i <= c->max_k; i++) {
        ts_stat_band(c->reached[i], c->offered[i], &low, &high);
        fprintf(f, "%.1f,%.1f ", LEFT + at(i - 1, k), up(high, 1));
    }
    for (int i = c->max_k; i >= 1; i--) {
        ts_stat_band(c->reached[i], c->offered[i], &low, &high);
        fprintf(f, "%.1f,%.1f ", LEFT + at(i - 1, k), up(low, 1));
    }
    fprintf(f, "'/>\n<polyline fill='none' stroke='%s' stroke-width='2' points='", colours[which]);
    for (int i = 1; i <= c->max_k; i++)
        if (c->offered[i] > 0)
            fprintf(f, "%.1f,%.1f ", LEFT + at(i - 1, k), up((double)c->reached[i] / (double)c->offered[i], 1));
    fputs("'/>\n", f);
}

static void print_bars(FILE *f, const ts_counts *c, int cells, int which, int sides, double most)
{
    double left = LEFT + WIDE + GAP, slot = (double)WIDE / cells, width = 0.8 * slot / sides;
    for (int i = 0; i <= c->max_k; i++) {
        double low, high, share = (double)c->hist[i] / (double)c->rounds;
        double x = left + slot * i + 0.1 * slot + width * which, middle = x + width / 2;
        ts_stat_band(c->hist[i], c->rounds, &low, &high);
        fprintf(f, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s' fill-opacity='0.7'/>", x,
                up(share, most), width, HIGH * share / most, colours[which]);
        fprintf(f, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' stroke='#000'/>\n", middle, middle, up(low, most),
                up(high, most));
    }
}

/* A round number above every band. */
static double highest(const ts_stat_side *side, int sides)
{
    double most = 0.0, low, high;
    for (int s = 0; s < sides; s++)
        for (int i = 0; i <= side[s].c.max_k; i++) {
            ts_stat_band(side[s].c.hist[i], side[s].c.rounds, &low, &high);
            most = fmax(most, high);
        }
    return fmin(1.0, ceil(most * 10.0) / 10.0);
}

void ts_stat_svg(const ts_stat_side *side, int sides, FILE *f)
{
    int k = 1;
    double most = highest(side, sides);
    for (int s = 0; s < sides; s++)
        k = side[s].c.max_k > k ? side[s].c.max_k : k;
    fprintf(f,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
            "font-size='11'>\n<rect width='100%%' height='100%%' fill='#fff'/>\n",
            LEFT + 2 * WIDE + GAP + 40, TOP + HIGH + 40);
    print_axes(f, LEFT, "hazard of draft i, 95 %", 1, k, 1);
    print_axes(f, LEFT + WIDE + GAP, "rounds by accepted drafts a, 95 %", 0, k, most);
    for (int s = 0; s < sides; s++) {
        fprintf(f, "<text x='%d' y='%d' fill='%s'>", LEFT, 16 + 14 * s, colours[s]);
        print_escaped(side[s].record->path, f);
        fprintf(f, ": %.0f rounds</text>\n", (double)side[s].c.rounds);
        print_hazards(f, &side[s].c, k, s);
        print_bars(f, &side[s].c, k + 1, s, sides, most);
    }
    fputs("</svg>\n", f);
}
