/* The rooms of `touchstone check`; one file each. */
#ifndef TS_CHECK_CHECK_H
#define TS_CHECK_CHECK_H

#include "case/case.h"
#include "check/report.h"
#include "config/profile.h"
#include "config/weights.h"

typedef struct {
    const char *golden;                           /* folder with models/, external/, own/, SHA256SUMS */
    const char *op, *case_glob, *schedule, *only; /* filters, NULL = all */
    const char *covers;                           /* only cases that cover this report */
    const char *seed;                             /* replaces every op case's seed: hashes are then not compared */
    const struct ts_schedule *const *extra;       /* NULL-terminated schedules beside the registry's, or NULL */
    int timeout;                                  /* seconds a schedule may take, 0: 20 */
    bool no_own;                                  /* the hashes recorded in op and stream cases are not compared */
    bool grid;           /* every variant of every stream, not the two prompts of `check` */
    bool full;           /* grid, and every prompt of the cases of speculation */
    bool rewrite;        /* `golden`: put what ref32 gives into the case files */
    const char *made_by; /* version text for rewritten cases */
} ts_check_options;

typedef struct {
    ts_check_options o;
    ts_report *report;
    struct ts_model_cache **models; /* shared by all cases of a run */
} ts_check;

/* Every file under golden/ is what SHA256SUMS says, and nothing else is there (hidden files aside). */
void ts_check_files(ts_check *k);
/* Every coefficient and layout table of this binary is what golden/own/tables.json says. */
void ts_check_tables(ts_check *k);
/* One case of each kind. A case in rewrite mode changes c->json. */
void ts_check_op_case(ts_check *k, ts_case *c);
void ts_check_stream_case(ts_check *k, ts_case *c);
void ts_check_external_case(ts_check *k, ts_case *c);

/* The i-th schedule that can run here, the registry's first, then those of o.extra; NULL past the last. */
const struct ts_schedule *ts_check_schedule_at(const ts_check *k, int i);
/* The i-th of either that cannot, for lack of its isa or because TS_CPU forbids it. */
const struct ts_schedule *ts_check_absent_at(const ts_check *k, int i);
/* Within the seconds that a schedule may take on a case. */
int ts_check_seconds(const ts_check *k);

/* A model below golden/, loaded once; bits > 0: quantised to MLX by `quantize` in a temporary folder first. */
ts_status ts_check_model(ts_check *k, const char *model, int bits, const ts_weights **out, ts_error *err);
/* The same as a GGUF file whose matrices are of `type`, made by `convert` in a temporary folder first. */
ts_status ts_check_model_as(ts_check *k, const char *model, const char *type, const ts_weights **out,
                            ts_error *err);
void ts_check_models_free(ts_check *k);

/* Joins the golden folder and a path. */
void ts_check_path(const ts_check *k, const char *path, char *out, size_t size);

/* A stream case that has a drafter. */
void ts_check_rounds_case(ts_check *k, ts_case *c);
/* Holds ref32's hash against expect[key], or records it in rewrite mode. */
void ts_check_expect(ts_check *k, ts_case *c, const char *key, const char *hex);
/* Sets expect[key] = value (rewrite mode). */
void ts_check_set_expect(const ts_case *c, const char *key, const char *value);

/* |x - golden| <= 2e-13 * max|golden| (or `limit`) for every element; adds the finding. */
void ts_check_close(ts_check *k, const char *what, const ts_tensor *x, const ts_tensor *golden, double limit);

/* Adds a failure: the text, then how far x is from ref as a whole. Of one shape. */
void ts_check_add_differs(ts_check *k, const char *what, double worst, const char *text, const ts_tensor *ref,
                          const ts_tensor *x);

bool ts_check_same(const ts_tensor *a, const ts_tensor *b);
/* Bits of a and b equal (NaN equals NaN); adds the finding EXACT or FAIL with the first place. */
void ts_check_equal(ts_check *k, const char *what, const char *label_a, const char *label_b, const ts_tensor *a,
                    const ts_tensor *b);

#endif
