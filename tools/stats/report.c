#include "stats/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *ts_stat_flag(const ts_counts *c)
{
    if (c->proposed == 0)
        return NULL;
    if (c->accepted == 0)
        return "acceptance is exactly 0: no proposal was ever kept";
    return c->accepted == c->proposed ? "acceptance is exactly 1: every proposal was kept" : NULL;
}

void ts_stat_band(uint64_t hits, uint64_t n, double *low, double *high)
{
    static const double z = 1.959963984540054;
    double N = (double)n, p = n > 0 ? (double)hits / N : 0.5, scale = 1.0 / (1.0 + z * z / fmax(N, 1e-9));
    double middle = scale * (p + z * z / (2.0 * fmax(N, 1e-9)));
    double half = scale * z * sqrt(p * (1.0 - p) / fmax(N, 1e-9) + z * z / (4.0 * fmax(N * N, 1e-18)));
    *low = n > 0 ? fmax(0.0, middle - half) : 0.0;
    *high = n > 0 ? fmin(1.0, middle + half) : 1.0;
}

static double share(uint64_t a, uint64_t b)
{
    return b > 0 ? (double)a / (double)b : 0.0;
}

/* A published quotient: its name in the text, in JSON, and how it is counted. */
typedef struct {
    const char *text, *key;
    uint64_t of, all;
} rate;

enum { RATES = 4, TAUS = 3 };

static void rates_of(const ts_counts *c, rate out[RATES])
{
    const rate all[RATES] = {{"vLLM: accepted / proposed", "vllm", c->accepted, c->proposed},
                             {"LSE: accepted / tested", "lse", c->accepted, c->tested},
                             {"llama.cpp: accepted / generated", "llama.cpp", c->accepted, c->proposed},
                             {"lucebox: kept slots / slots", "lucebox", c->kept_slots, c->slots}};
    memcpy(out, all, sizeof all);
}

/* Tokens a round; the first two count the final token as 1. */
static void taus_of(const ts_counts *c, rate out[TAUS])
{
    const rate all[TAUS] = {{"vLLM", "vllm", c->drafting + c->accepted, c->drafting},
                            {"llama.cpp", "llama.cpp", c->rounds + c->accepted, c->rounds},
                            {"z-lab (trimmed)", "z-lab", c->emitted, c->rounds}};
    memcpy(out, all, sizeof all);
}

static void print_positions(const ts_counts *c)
{
    puts("   i    a = i   a >= i   of rounds  tested    hazard  95 %");
    for (int i = 0; i <= c->max_k; i++) {
        double low, high;
        printf("  %2d %8" PRIu64, i, c->hist[i]);
        if (i > 0) {
            ts_stat_band(c->reached[i], c->offered[i], &low, &high);
            printf(" %8" PRIu64 "  %.6f  %7" PRIu64 "  %.6f  %.4f..%.4f", c->reached[i],
                   share(c->reached[i], c->rounds), c->offered[i], share(c->reached[i], c->offered[i]), low, high);
        }
        putchar('\n');
    }
}

void ts_stat_print(const ts_stat_side *side)
{
    const ts_counts *c = &side->c;
    rate acceptance[RATES], tau[TAUS];
    printf("%s: %" PRIu64 " rounds of %zu prompts, %" PRIu64 " with proposals\n", side->record->path, c->rounds,
           side->record->prompts.n, c->drafting);
    rates_of(c, acceptance);
    for (int i = 0; i < RATES; i++)
        printf("  %-31s %10" PRIu64 " / %-10" PRIu64 " %.6f\n", acceptance[i].text, acceptance[i].of,
               acceptance[i].all, share(acceptance[i].of, acceptance[i].all));
    taus_of(c, tau);
    for (int i = 0; i < TAUS; i++)
        printf("%s %s %.6f", i == 0 ? "  tau:" : ",", tau[i].text, share(tau[i].of, tau[i].all));
    printf("; %" PRIu64 " tokens emitted\n", c->emitted);
    print_positions(c);
    if (ts_stat_flag(c))
        printf("  SUSPICIOUS: %s\n", ts_stat_flag(c));
}

static void add_integers(cJSON *o, const char *key, const uint64_t *x, int from, int to)
{
    cJSON *array = cJSON_AddArrayToObject(o, key);
    for (int i = from; i <= to; i++)
        cJSON_AddItemToArray(array, cJSON_CreateNumber((double)x[i]));
}

static void add_hazards(cJSON *o, const ts_counts *c)
{
    cJSON *array = cJSON_AddArrayToObject(o, "hazard");
    for (int i = 1; i <= c->max_k; i++)
        cJSON_AddItemToArray(array, cJSON_CreateNumber(share(c->reached[i], c->offered[i])));
}

static void add_rates(cJSON *o, const char *key, const rate *r, int n)
{
    cJSON *object = cJSON_AddObjectToObject(o, key);
    for (int i = 0; i < n; i++)
        cJSON_AddNumberToObject(object, r[i].key, share(r[i].of, r[i].all));
}

static void add_definitions(cJSON *o, const ts_counts *c)
{
    rate acceptance[RATES], tau[TAUS];
    rates_of(c, acceptance);
    taus_of(c, tau);
    add_rates(o, "acceptance", acceptance, RATES);
    add_rates(o, "tau", tau, TAUS);
}

cJSON *ts_stat_json(const ts_stat_side *side)
{
    const ts_counts *c = &side->c;
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "file", side->record->path);
    cJSON_AddNumberToObject(o, "prompts", (double)side->record->prompts.n);
    cJSON_AddNumberToObject(o, "rounds", (double)c->rounds);
    cJSON_AddNumberToObject(o, "drafting", (double)c->drafting);
    cJSON_AddNumberToObject(o, "proposed", (double)c->proposed);
    cJSON_AddNumberToObject(o, "accepted", (double)c->accepted);
    cJSON_AddNumberToObject(o, "tested", (double)c->tested);
    cJSON_AddNumberToObject(o, "emitted", (double)c->emitted);
    cJSON_AddNumberToObject(o, "kept_slots", (double)c->kept_slots);
    cJSON_AddNumberToObject(o, "slots", (double)c->slots);
    add_integers(o, "histogram", c->hist, 0, c->max_k);
    add_integers(o, "reached", c->reached, 1, c->max_k);
    add_integers(o, "tested_at", c->offered, 1, c->max_k);
    add_hazards(o, c);
    add_definitions(o, c);
    if (ts_stat_flag(c))
        cJSON_AddStringToObject(o, "suspicious", ts_stat_flag(c));
    return o;
}

const char *ts_match_verdict(const ts_match *m)
{
    return m->level == TS_MATCH_EXACT ? "SAME" : m->alarm ? "DIFFERS" : "NO DIFFERENCE SEEN";
}

static void print_paired(const ts_match *m)
{
    printf("teacher-forced: %" PRIu64 " rounds differ, of them %" PRIu64 " in a or the final token\n", m->unequal,
           m->splits);
    for (int i = 1; i <= m->max_k; i++)
        printf("%s draft %d agrees in %" PRIu64 " of %" PRIu64 "%s", i == 1 ? " " : ",", i, m->agreed[i],
               m->drafted[i], i == m->max_k ? "\n" : "");
    printf("  accepted more %" PRIu64 ", fewer %" PRIu64 ": sign test p = %.4g (alpha %g)\n", m->more, m->fewer,
           m->sign_p, m->alpha);
    for (int i = 1; i <= m->max_k; i++)
        if (m->alone[0][i] + m->alone[1][i] > 0)
            printf("  hazard %d: kept by the first alone %" PRIu64 ", by the second alone %" PRIu64 ", p = %.4g\n",
                   i, m->alone[0][i], m->alone[1][i], m->alone_p[i]);
    if (m->capped)
        printf("  cap: %" PRIu64 " rounds with a slack below %g, %" PRIu64 " split\n", m->cap, m->near, m->splits);
    else
        puts("  no cap: --near X allows as many splits as the first record has rounds with less slack than X");
}

static void print_mean(const ts_match *m)
{
    printf("independent streams: mean a differs by %+.5f, p = %.4g\n", m->difference, m->p);
    printf("  of rounds of a prompt and a k that both have: %" PRIu64 " and %" PRIu64 "\n", m->compared[0],
           m->compared[1]);
    if (!m->estimated) {
        puts("  rounds without a spread: no standard error, and no power to state");
        return;
    }
    printf("  %g %% between %+.5f and %+.5f; standard error %.5f, ", 100.0 * (1.0 - m->alpha), m->low, m->high,
           m->error);
    if (m->clusters)
        printf("jackknife over %zu prompts\n", m->clusters);
    else
        puts("rounds as independent: one prompt");
    printf("  a shift of 2 %% of the mean is seen with probability %.3f; for 0.9: %.0f rounds each\n", m->power,
           m->rounds_each);
}

static void print_histogram(const ts_match *m)
{
    printf("  histogram: %s = %.3f, %g degrees of freedom, p = %.4g; by position:\n",
           m->clusters ? "Mantel-Haenszel by prompt" : "G", m->G, m->G_df, m->G_p);
    for (int i = 0; i < m->parts; i++) {
        const ts_match_part *p = &m->part[i];
        printf("    k %d, a = %d", p->k, p->lo);
        if (p->hi > p->lo)
            printf("..%d", p->hi);
        printf(": beyond %.5f and %.5f, %s = %.3f, p = %.4g\n", share(p->beyond[0], p->here[0] + p->beyond[0]),
               share(p->beyond[1], p->here[1] + p->beyond[1]), m->clusters ? "chi2" : "G", p->G, p->p);
    }
}

/* Whether it is one stream, which another drafter or a rounding in it leaves alone and another target does not. */
static void print_tokens(const ts_match *m, const ts_stat_record *a)
{
    const ts_stat_tokens *t = &m->tokens;
    if (t->parted == 0)
        printf("target streams: the same %" PRIu64 " tokens of %zu prompts\n", t->same, t->prompts);
    else if (t->at < 0)
        printf("target streams: %zu of %zu prompts part, first '%s': they begin elsewhere\n", t->parted, t->prompts,
               a->prompts.name[t->prompt]);
    else
        printf("target streams: %zu of %zu prompts part, first '%s' at %" PRId64 ": %d and %d\n", t->parted,
               t->prompts, a->prompts.name[t->prompt], t->at, (int)t->id[0], (int)t->id[1]);
}

void ts_match_print(const ts_match *m, const ts_stat_side *a, const ts_stat_side *b)
{
    if (m->level == TS_MATCH_EXACT)
        printf("every round is identical: prompt, n, anchor, k, drafts, a, final\n");
    else if (m->first < a->record->n && m->first < b->record->n)
        printf("first difference: round %zu, n = %" PRId64 " (prompt '%s'): %s\n", m->first,
               a->record->round[m->first].n, a->record->prompts.name[a->record->round[m->first].prompt], m->what);
    else
        printf("first difference: one record ends after %zu rounds\n", m->first);
    if (m->level == TS_MATCH_PAIRED)
        print_paired(m);
    if (m->level == TS_MATCH_FREE) {
        print_tokens(m, a->record);
        print_mean(m);
        print_histogram(m);
    }
    puts(ts_match_verdict(m));
}

static void add_parts(cJSON *o, const ts_match *m)
{
    cJSON *parts = cJSON_AddArrayToObject(o, "parts");
    for (int i = 0; i < m->parts; i++) {
        const ts_match_part *p = &m->part[i];
        cJSON *x = cJSON_CreateObject();
        cJSON_AddNumberToObject(x, "k", p->k);
        cJSON_AddNumberToObject(x, "from", p->lo);
        cJSON_AddNumberToObject(x, "to", p->hi);
        add_integers(x, "here", p->here, 0, 1);
        add_integers(x, "beyond", p->beyond, 0, 1);
        cJSON_AddNumberToObject(x, "G", p->G);
        cJSON_AddNumberToObject(x, "p", p->p);
        cJSON_AddItemToArray(parts, x);
    }
}

static void add_paired(cJSON *o, const ts_match *m)
{
    cJSON_AddNumberToObject(o, "more", (double)m->more);
    cJSON_AddNumberToObject(o, "fewer", (double)m->fewer);
    cJSON_AddNumberToObject(o, "splits", (double)m->splits);
    cJSON_AddNumberToObject(o, "sign_p", m->sign_p);
    add_integers(o, "drafted", m->drafted, 1, m->max_k);
    add_integers(o, "agreed", m->agreed, 1, m->max_k);
    add_integers(o, "first_alone", m->alone[0], 1, m->max_k);
    add_integers(o, "second_alone", m->alone[1], 1, m->max_k);
    if (m->capped)
        cJSON_AddNumberToObject(o, "cap", (double)m->cap);
}

static void add_free(cJSON *o, const ts_match *m)
{
    cJSON *streams = cJSON_AddObjectToObject(o, "streams");
    cJSON_AddNumberToObject(streams, "prompts", (double)m->tokens.prompts);
    cJSON_AddNumberToObject(streams, "parted", (double)m->tokens.parted);
    cJSON_AddNumberToObject(streams, "same_tokens", (double)m->tokens.same);
    add_integers(o, "compared", m->compared, 0, 1);
    cJSON_AddNumberToObject(o, "difference", m->difference);
    cJSON_AddNumberToObject(o, "clusters", (double)m->clusters);
    cJSON_AddNumberToObject(o, "p", m->p);
    if (m->estimated) {
        cJSON_AddNumberToObject(o, "standard_error", m->error);
        cJSON_AddNumberToObject(o, "low", m->low);
        cJSON_AddNumberToObject(o, "high", m->high);
        cJSON_AddNumberToObject(o, "power_2_percent", m->power);
    }
    cJSON_AddStringToObject(o, "histogram_test", m->clusters ? "mantel-haenszel" : "G");
    cJSON_AddNumberToObject(o, "G", m->G);
    cJSON_AddNumberToObject(o, "G_df", m->G_df);
    cJSON_AddNumberToObject(o, "G_p", m->G_p);
    if (m->estimated && isfinite(m->rounds_each))
        cJSON_AddNumberToObject(o, "rounds_each", m->rounds_each);
    add_parts(o, m);
}

cJSON *ts_match_json(const ts_match *m)
{
    static const char *const level[] = {"exact", "paired", "free"};
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "level", level[m->level]);
    cJSON_AddStringToObject(o, "verdict", ts_match_verdict(m));
    cJSON_AddNumberToObject(o, "alpha", m->alpha);
    if (m->level != TS_MATCH_EXACT) {
        cJSON_AddNumberToObject(o, "first_difference", (double)m->first);
        cJSON_AddStringToObject(o, "what", m->what);
        cJSON_AddNumberToObject(o, "unequal", (double)m->unequal);
    }
    if (m->level == TS_MATCH_PAIRED)
        add_paired(o, m);
    if (m->level == TS_MATCH_FREE)
        add_free(o, m);
    return o;
}
