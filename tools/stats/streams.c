/* The mean: in every stratum d = mean a of the second record less the first's, and over all of them
 *
 *   difference = sum w d / sum w,  w = n_a n_b / (n_a + n_b)
 *
 * so that a record which has more rounds of an easy prompt is no better for it. */
#include "stats/streams.h"

#include <math.h>
#include <stdlib.h>

#include "stats/histograms.h"
#include "stats/strata.h"
#include "stats/tails.h"

/* Of alpha, what goes to the mean; the rest is the histogram's. */
static const double SHIFT = 0.02, POWER = 0.9, TO_MEAN = 0.8;

/* A standard error that is only rounding, as a share of the difference. */
static const double NO_SPREAD = 1e-12;

typedef struct {
    double n, mean, squares; /* squares: of deviations, summed */
} moments;

static moments moments_of(const uint64_t *n, int k)
{
    moments m = {.n = (double)ts_rounds_between(n, 0, k)};
    for (int a = 0; a <= k; a++)
        m.mean += a * (double)n[a] / m.n;
    for (int a = 0; a <= k; a++)
        m.squares += (double)n[a] * (a - m.mean) * (a - m.mean);
    return m;
}

/* Weighted differences, summed. */
typedef struct {
    double of_difference, of_weight;
} contrast;

static contrast contrast_of(const moments *a, const moments *b)
{
    double w = a->n * b->n / (a->n + b->n);
    return (contrast){w * (b->mean - a->mean), w};
}

static void add(contrast *to, contrast x)
{
    to->of_difference += x.of_difference;
    to->of_weight += x.of_weight;
}

/* One prompt: Welch's, of the strata in which both records have the two rounds that a variance takes. */
static void welch(const ts_strata *t, ts_match *m)
{
    contrast sum = {0};
    double variance = 0.0, against = 0.0;
    for (size_t i = 0; i < t->n; i++) {
        moments a = moments_of(t->s[i].n[0], t->s[i].k), b = moments_of(t->s[i].n[1], t->s[i].k);
        if (a.n < 2.0 || b.n < 2.0)
            continue;
        contrast c = contrast_of(&a, &b);
        double w2 = c.of_weight * c.of_weight;
        double va = w2 * a.squares / (a.n - 1.0) / a.n, vb = w2 * b.squares / (b.n - 1.0) / b.n;
        add(&sum, c);
        variance += va + vb;
        against += va * va / (a.n - 1.0) + vb * vb / (b.n - 1.0);
    }
    m->estimated = variance > 0.0;
    if (!m->estimated)
        return;
    m->difference = sum.of_difference / sum.of_weight;
    m->error = sqrt(variance) / sum.of_weight;
    m->df = variance * variance / against;
}

/* Deletes one prompt after another from both records. */
static void jackknife(const contrast *prompt, size_t n, ts_match *m)
{
    contrast all = {0};
    double mean = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        add(&all, prompt[i]);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++) {
            double d = (all.of_difference - prompt[i].of_difference) / (all.of_weight - prompt[i].of_weight);
            if (pass == 0)
                mean += d / (double)n;
            else
                squares += (d - mean) * (d - mean);
        }
    m->error = sqrt(squares * (double)(n - 1) / (double)n);
    m->df = (double)(n - 1);
    m->clusters = n;
    m->estimated = m->error > NO_SPREAD * fabs(m->difference);
}

/* The weighted difference of every prompt of which there are strata, packed; *n of them. */
static void contrasts_by_prompt(const ts_strata *t, contrast *prompt, size_t prompts, size_t *n)
{
    for (size_t i = 0; i < t->n; i++) {
        moments a = moments_of(t->s[i].n[0], t->s[i].k), b = moments_of(t->s[i].n[1], t->s[i].k);
        add(&prompt[t->s[i].prompt], contrast_of(&a, &b));
    }
    *n = 0;
    for (size_t i = 0; i < prompts; i++)
        if (prompt[i].of_weight > 0.0)
            prompt[(*n)++] = prompt[i];
}

static ts_status estimate(const ts_strata *t, size_t prompts, ts_match *m, ts_error *err)
{
    contrast *prompt = calloc(prompts, sizeof *prompt), all = {0};
    size_t n;
    if (!prompt)
        return ts_no_memory(err, prompts * sizeof *prompt);
    contrasts_by_prompt(t, prompt, prompts, &n);
    for (size_t i = 0; i < n; i++)
        add(&all, prompt[i]);
    m->difference = all.of_difference / all.of_weight;
    if (n > 1)
        jackknife(prompt, n, m);
    else
        welch(t, m);
    free(prompt);
    return TS_OK;
}

/* Without a spread, Student's t has nothing to say. If all rounds of a record are alike in every stratum,
 * exchanging them within strata would show so clear a difference with this probability; of several prompts,
 * exchanging the records of one. */
static double chance_of_alike(const ts_strata *t, const ts_match *m)
{
    double p = 2.0;
    if (m->clusters > 0)
        return ldexp(p, -(int)fmin((double)m->clusters, 1000.0));
    for (size_t i = 0; i < t->n; i++) {
        moments a = moments_of(t->s[i].n[0], t->s[i].k), b = moments_of(t->s[i].n[1], t->s[i].k);
        if (a.squares + b.squares > 0.0)
            return 1.0;
        for (double j = 1.0; j <= a.n && a.mean != b.mean; j++)
            p *= j / (b.n + j);
    }
    return fmin(p, 1.0);
}

/* What could be seen: a's mean shifted by SHIFT. */
static void state_power(const ts_counts *ca, ts_match *m)
{
    double t = ts_student_quantile(TO_MEAN * m->alpha, m->df), shift = SHIFT * ts_mean_accepted(ca);
    double width = ts_student_quantile(m->alpha, m->df) * m->error;
    m->low = m->difference - width;
    m->high = m->difference + width;
    m->power = ts_normal_cdf(shift / m->error - t);
    double arms = 2.0 / (1.0 / (double)m->compared[0] + 1.0 / (double)m->compared[1]); /* equal, with that error */
    double needed = (t + ts_normal_quantile(POWER)) * m->error / shift;
    m->rounds_each = shift > 0.0 ? ceil(arms * needed * needed) : (double)INFINITY;
}

ts_status ts_match_streams(const ts_stat_record *a, const ts_stat_record *b, ts_match *m, ts_error *err)
{
    ts_strata t;
    ts_counts ca = ts_count(a);
    ts_status status = ts_strata_of(a, b, &t, err);
    if (status != TS_OK)
        return status;
    for (size_t i = 0; i < t.n; i++)
        for (int r = 0; r < 2; r++)
            m->compared[r] += ts_rounds_between(t.s[i].n[r], 0, t.s[i].k);
    status = estimate(&t, a->prompts.n, m, err);
    if (status == TS_OK) {
        ts_match_histograms(&t, m->clusters > 0, m);
        if (m->estimated)
            state_power(&ca, m);
        m->p = m->estimated           ? ts_student_two_sided(m->difference / m->error, m->df)
               : m->difference == 0.0 ? 1.0
                                      : chance_of_alike(&t, m);
        m->alarm = m->p < TO_MEAN * m->alpha || m->G_p < (1.0 - TO_MEAN) * m->alpha;
    }
    ts_strata_free(&t);
    return status;
}
