/* Tail probabilities of the tests of touchstone stats. */
#ifndef TS_TOOLS_STATS_TAILS_H
#define TS_TOOLS_STATS_TAILS_H

#include <stdint.h>

/* P(X >= x) for chi-square with df degrees of freedom; relative error below 1e-12 above 1e-280. */
double ts_chi2_tail(double x, double df);
double ts_normal_cdf(double z);
/* z with ts_normal_cdf(z) = p, 0 < p < 1. */
double ts_normal_quantile(double p);
/* P(|T| >= |t|) for Student's t with df degrees of freedom. */
double ts_student_two_sided(double t, double df);
/* t with ts_student_two_sided(t, df) = p, 0 < p < 1. */
double ts_student_quantile(double p, double df);
/* Exact two-sided test of b against c with probability 1/2: twice the smaller tail, at most 1. */
double ts_sign_two_sided(uint64_t b, uint64_t c);
/* P(X >= x) for a binomial of n trials. */
double ts_binomial_tail(uint64_t x, uint64_t n, double p);

#endif
