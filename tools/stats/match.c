/* The ladder: identical tuples; the same prefixes, round by round; independent streams. */
#include "stats/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/tails.h"

/* Of alpha, what goes to the mean; the rest is the histogram's. */
static const double SHIFT = 0.02, POWER = 0.9, TO_MEAN = 0.8;

/* The first member in which two rounds differ, "" if in none. */
static const char *difference(const ts_stat_record *a, const ts_stat_round *x, const ts_stat_record *b,
                              const ts_stat_round *y)
{
    if (strcmp(a->prompt[x->prompt], b->prompt[y->prompt]) != 0)
        return "prompt";
    if (x->n != y->n)
        return "n";
    if (x->anchor != y->anchor)
        return "anchor";
    if (x->k != y->k)
        return "k";
    if (memcmp(x->draft, y->draft, (size_t)x->k * sizeof *x->draft) != 0)
        return "draft";
    return x->a != y->a ? "a" : x->final != y->final ? "final" : "";
}

static bool same_prefix(const char *what)
{
    return !*what || strcmp(what, "draft") == 0 || strcmp(what, "a") == 0 || strcmp(what, "final") == 0;
}

static void count_drafts(const ts_stat_round *x, const ts_stat_round *y, ts_match *m)
{
    int k = x->k < y->k ? x->k : y->k;
    m->max_k = k > m->max_k ? k : m->max_k;
    for (int i = 1; i <= k; i++) {
        m->drafted[i]++;
        m->agreed[i] += x->draft[i - 1] == y->draft[i - 1];
    }
}

/* Level by level; counts what an aligned pair tells. */
static void align(const ts_stat_record *a, const ts_stat_record *b, ts_match *m)
{
    size_t n = a->n < b->n ? a->n : b->n;
    bool aligned = a->n == b->n;
    m->what = a->n == b->n ? "" : "rounds";
    m->first = n;
    for (size_t i = 0; i < n; i++) {
        const ts_stat_round *x = &a->round[i], *y = &b->round[i];
        const char *what = difference(a, x, b, y);
        if (*what && m->first == n) {
            m->first = i;
            m->what = what;
        }
        count_drafts(x, y, m);
        m->unequal += *what != '\0';
        m->more += y->a > x->a;
        m->fewer += y->a < x->a;
        m->splits += y->a != x->a || y->final != x->final;
        aligned = aligned && same_prefix(what);
    }
    m->equal = n - m->unequal;
    m->level = !*m->what ? TS_MATCH_EXACT : aligned ? TS_MATCH_PAIRED : TS_MATCH_FREE;
}

static ts_status count_near(const ts_stat_record *a, double near, ts_match *m, ts_error *err)
{
    m->capped = !isnan(near);
    m->near = near;
    for (size_t i = 0; m->capped && i < a->n; i++) {
        if (isinf(a->round[i].slack))
            return ts_fail(err, TS_BAD, a->path, "min_slack", "round %zu has neither it nor min_margin: no cap", i);
        m->cap += a->round[i].slack < near;
    }
    return TS_OK;
}

static ts_status judge_pairs(const ts_stat_record *a, double near, ts_match *m, ts_error *err)
{
    ts_status status = count_near(a, near, m, err);
    m->sign_p = ts_sign_two_sided(m->more, m->fewer);
    m->alarm = m->sign_p < m->alpha || (m->capped && m->splits > m->cap);
    return status;
}

/* What the k drafts of rounds of that k came to. */
typedef struct {
    uint64_t n[2][TS_MAX_DRAFT + 1];
} histogram;

static void fill(const ts_stat_record *s, int k, uint64_t *n)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->round[i].k == k)
            n[s->round[i].a]++;
}

static uint64_t sum(const uint64_t *n, int from, int to)
{
    uint64_t total = 0;
    for (int i = from; i <= to; i++)
        total += n[i];
    return total;
}

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

/* Expected in the smaller record. */
static double least_expected(const histogram *h, int k, int from, int to)
{
    double all[2] = {(double)sum(h->n[0], 0, k), (double)sum(h->n[1], 0, k)};
    double cell = (double)(sum(h->n[0], from, to) + sum(h->n[1], from, to));
    return cell * fmin(all[0], all[1]) / (all[0] + all[1]);
}

/* The next cell from lo on with an expectation of 5 or more, so that what lies beyond has one too: its last a, or
 * k. */
static int cell_end(const histogram *h, int k, int lo)
{
    int hi = lo;
    while (hi < k && least_expected(h, k, lo, hi) < 5.0)
        hi++;
    return hi < k && least_expected(h, k, hi + 1, k) < 5.0 ? k : hi;
}

/* The G-test of the pooled histogram, one 2 x 2 part for each cell but the last: the parts add up to the whole. */
static void add_parts(const histogram *h, int k, ts_match *m)
{
    int lo = 0, hi = cell_end(h, k, 0);
    for (; hi < k && m->parts < TS_MAX_PARTS; lo = hi + 1, hi = cell_end(h, k, lo)) {
        ts_match_part *p = &m->part[m->parts++];
        *p = (ts_match_part){.k = k, .lo = lo, .hi = hi};
        for (int r = 0; r < 2; r++) {
            p->here[r] = sum(h->n[r], lo, hi);
            p->beyond[r] = sum(h->n[r], hi + 1, k);
        }
        p->G = g_of(p);
        m->G += p->G;
        m->G_df++;
    }
}

/* Rounds of different k are different laws: a test for each, added up. */
static void test_histograms(const ts_stat_record *a, const ts_stat_record *b, ts_match *m)
{
    for (int k = 1; k <= TS_MAX_DRAFT; k++) {
        histogram h = {0};
        fill(a, k, h.n[0]);
        fill(b, k, h.n[1]);
        if (sum(h.n[0], 0, k) > 0 && sum(h.n[1], 0, k) > 0)
            add_parts(&h, k, m);
    }
    m->G_p = m->G_df > 0.0 ? ts_chi2_tail(m->G, m->G_df) : 1.0;
    for (int i = 0; i < m->parts; i++)
        m->part[i].p = fmin(1.0, m->parts * ts_chi2_tail(m->part[i].G, 1.0));
}

static ts_status find_in(const ts_stat_record *s, const char *name, const char *other, size_t *at, ts_error *err)
{
    for (size_t i = 0; i < s->prompts; i++)
        if (strcmp(s->prompt[i], name) == 0) {
            *at = i;
            return TS_OK;
        }
    return ts_fail(err, TS_BAD, s->path, "prompt", "'%s' has rounds only in %s: records are paired by prompt", name,
                   other);
}

/* Rounds and accepted drafts of a prompt, in both records. */
typedef struct {
    double rounds[2], accepted[2];
} cluster;

static void count_prompts(const ts_stat_record *s, const size_t *as, int r, cluster *c)
{
    for (size_t i = 0; i < s->n; i++) {
        cluster *mine = &c[as ? as[s->round[i].prompt] : s->round[i].prompt];
        mine->rounds[r]++;
        mine->accepted[r] += s->round[i].a;
    }
}

static double mean_difference(const cluster *all, const cluster *without)
{
    double mean[2];
    for (int r = 0; r < 2; r++) {
        double rounds = all->rounds[r] - (without ? without->rounds[r] : 0.0);
        mean[r] = (all->accepted[r] - (without ? without->accepted[r] : 0.0)) / rounds;
    }
    return mean[1] - mean[0];
}

/* Deletes one prompt after another from both records: prompts differ far more than kernels do. */
static void jackknife(const cluster *c, size_t n, ts_match *m)
{
    cluster all = {0};
    double mean = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        for (int r = 0; r < 2; r++) {
            all.rounds[r] += c[i].rounds[r];
            all.accepted[r] += c[i].accepted[r];
        }
    for (size_t i = 0; i < n; i++)
        mean += mean_difference(&all, &c[i]) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = mean_difference(&all, &c[i]) - mean;
        squares += d * d;
    }
    m->error = sqrt(squares * (double)(n - 1) / (double)n);
    m->df = (double)(n - 1);
    m->clusters = n;
}

static ts_status pair_prompts(const ts_stat_record *a, const ts_stat_record *b, cluster *c, size_t *as,
                              ts_error *err)
{
    size_t ignored;
    ts_status status = TS_OK;
    for (size_t i = 0; status == TS_OK && i < b->prompts; i++)
        status = find_in(a, b->prompt[i], b->path, &as[i], err);
    for (size_t i = 0; status == TS_OK && i < a->prompts; i++)
        status = find_in(b, a->prompt[i], a->path, &ignored, err);
    if (status == TS_OK) {
        count_prompts(a, NULL, 0, c);
        count_prompts(b, as, 1, c);
    }
    return status;
}

/* Standard error of the difference: Welch's over rounds, or the jackknife's over prompts. */
static ts_status estimate(const ts_stat_record *a, const ts_stat_record *b, const ts_counts *ca,
                          const ts_counts *cb, ts_match *m, ts_error *err)
{
    cluster *c = calloc(a->prompts + 1, sizeof *c);
    size_t *as = calloc(b->prompts + 1, sizeof *as);
    ts_status status = c && as ? pair_prompts(a, b, c, as, err) : ts_no_memory(err, a->prompts * sizeof *c);
    if (status == TS_OK) {
        double va = ts_variance(ca) / (double)ca->rounds, vb = ts_variance(cb) / (double)cb->rounds;
        double na = fmax(1.0, (double)ca->rounds - 1.0), nb = fmax(1.0, (double)cb->rounds - 1.0);
        m->difference = ts_mean_accepted(cb) - ts_mean_accepted(ca);
        m->error = sqrt(va + vb);
        m->df = va + vb > 0.0 ? (va + vb) * (va + vb) / (va * va / na + vb * vb / nb) : na + nb;
        if (a->prompts > 1)
            jackknife(c, a->prompts, m);
    }
    free(c);
    free(as);
    return status;
}

static void judge_streams(const ts_counts *ca, const ts_counts *cb, ts_match *m)
{
    double t = ts_student_quantile(TO_MEAN * m->alpha, m->df), shift = SHIFT * ts_mean_accepted(ca);
    if (m->error > 0.0)
        m->p = ts_student_two_sided(m->difference / m->error, m->df);
    else
        m->p = m->difference == 0.0 ? 1.0 : 0.0;
    double width = ts_student_quantile(m->alpha, m->df) * m->error;
    m->low = m->difference - width;
    m->high = m->difference + width;
    m->power = m->error > 0.0 ? ts_normal_cdf(shift / m->error - t) : 1.0;
    double arms = 2.0 / (1.0 / (double)ca->rounds + 1.0 / (double)cb->rounds); /* equal arms with that error */
    double needed = (t + ts_normal_quantile(POWER)) * m->error / shift;
    m->rounds_each = shift > 0.0 ? ceil(arms * needed * needed) : (double)INFINITY;
    m->alarm = m->p < TO_MEAN * m->alpha || m->G_p < (1.0 - TO_MEAN) * m->alpha;
}

ts_status ts_match_records(const ts_stat_record *a, const ts_stat_record *b, double alpha, double near,
                           ts_match *out, ts_error *err)
{
    *out = (ts_match){.alpha = alpha, .p = 1.0, .G_p = 1.0, .sign_p = 1.0};
    align(a, b, out);
    if (out->level == TS_MATCH_EXACT)
        return TS_OK;
    if (out->level == TS_MATCH_PAIRED)
        return judge_pairs(a, near, out, err);
    ts_counts ca = ts_count(a), cb = ts_count(b);
    ts_status status = estimate(a, b, &ca, &cb, out, err);
    if (status != TS_OK)
        return status;
    test_histograms(a, b, out);
    judge_streams(&ca, &cb, out);
    return TS_OK;
}
