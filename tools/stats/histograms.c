#include "stats/histograms.h"

#include <math.h>

#include "stats/tails.h"

/* Cells are pooled until each expects this many rounds in the smaller record. */
static const double LEAST_EXPECTED = 5.0;

static double term(uint64_t observed, double expected)
{
    return observed > 0 ? 2.0 * (double)observed * log((double)observed / expected) : 0.0;
}

/* G of the 2 x 2 table here, beyond for both records. */
static double g_of(const ts_match_part *p)
{
    double here = (double)(p->here[0] + p->here[1]), beyond = (double)(p->beyond[0] + p->beyond[1]), G = 0.0;
    for (int r = 0; r < 2; r++) {
        double share = (double)(p->here[r] + p->beyond[r]) / (here + beyond);
        G += term(p->here[r], here * share) + term(p->beyond[r], beyond * share);
    }
    return G;
}

/* What the first record's rounds in cell lo..hi are more than expected if each prompt has one hazard in both
 * records, and the variance of that (hypergeometric, the margins given); added to *excess and *variance. */
static void add_prompt(const ts_stratum *s, int lo, int hi, double *excess, double *variance)
{
    double risk[2], here[2];
    for (int r = 0; r < 2; r++) {
        here[r] = (double)ts_rounds_between(s->n[r], lo, hi);
        risk[r] = here[r] + (double)ts_rounds_between(s->n[r], hi + 1, s->k);
    }
    double all = risk[0] + risk[1], ended = here[0] + here[1];
    if (all < 2.0)
        return;
    *excess += here[0] - risk[0] * ended / all;
    *variance += risk[0] * risk[1] / all * (ended / all) * ((all - ended) / (all - 1.0));
}

/* Mantel and Haenszel's chi-square of one cell over the prompts s[0..n), 1 degree of freedom: false if these hold
 * too little to tell. A cell with the least expectation in even arms has that much variance. */
static bool mantel_haenszel(const ts_stratum *s, size_t n, const ts_match_part *p, double *chi2)
{
    double excess = 0.0, variance = 0.0;
    for (size_t i = 0; i < n; i++)
        add_prompt(&s[i], p->lo, p->hi, &excess, &variance);
    *chi2 = excess * excess / variance;
    return variance >= LEAST_EXPECTED / 2.0;
}

/* Expected in the smaller record. */
static double least_expected(const ts_stratum *h, int from, int to)
{
    double all[2] = {(double)ts_rounds_between(h->n[0], 0, h->k), (double)ts_rounds_between(h->n[1], 0, h->k)};
    double cell = (double)(ts_rounds_between(h->n[0], from, to) + ts_rounds_between(h->n[1], from, to));
    return cell * fmin(all[0], all[1]) / (all[0] + all[1]);
}

/* The next cell from lo on with an expectation of 5 or more, so that what lies beyond has one too: its last a, or
 * k. */
static int cell_end(const ts_stratum *h, int lo)
{
    int hi = lo;
    while (hi < h->k && least_expected(h, lo, hi) < LEAST_EXPECTED)
        hi++;
    return hi < h->k && least_expected(h, hi + 1, h->k) < LEAST_EXPECTED ? h->k : hi;
}

/* The test of the pooled histogram of one k, one 2 x 2 part for each cell but the last: the parts add up to the
 * whole. */
static void add_parts(const ts_stratum *s, size_t n, bool by_prompt, ts_match *m)
{
    ts_stratum h = {.k = s->k};
    for (size_t i = 0; i < n; i++)
        for (int a = 0; a <= h.k; a++)
            for (int r = 0; r < 2; r++)
                h.n[r][a] += s[i].n[r][a];
    for (int lo = 0, hi = cell_end(&h, 0); hi < h.k; lo = hi + 1, hi = cell_end(&h, lo)) {
        ts_match_part p = {.k = h.k, .lo = lo, .hi = hi};
        for (int r = 0; r < 2; r++) {
            p.here[r] = ts_rounds_between(h.n[r], lo, hi);
            p.beyond[r] = ts_rounds_between(h.n[r], hi + 1, h.k);
        }
        if (!by_prompt)
            p.G = g_of(&p);
        else if (!mantel_haenszel(s, n, &p, &p.G))
            continue;
        m->part[m->parts++] = p;
        m->G += p.G;
        m->G_df++;
    }
}

void ts_match_histograms(const ts_strata *t, bool by_prompt, ts_match *m)
{
    for (size_t i = 0, n; i < t->n; i += n) {
        for (n = 1; i + n < t->n && t->s[i + n].k == t->s[i].k;)
            n++;
        add_parts(&t->s[i], n, by_prompt, m);
    }
    m->G_p = m->G_df > 0.0 ? ts_chi2_tail(m->G, m->G_df) : 1.0;
    for (int i = 0; i < m->parts; i++)
        m->part[i].p = fmin(1.0, m->parts * ts_chi2_tail(m->part[i].G, 1.0));
}
