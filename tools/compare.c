#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compare.h"
#include "num/convert.h"

/* How the elements of a dtype are read. */
typedef enum { PATTERN, UNSIGNED, SIGNED, FLOATING } kind;

typedef struct {
    ts_dtype dtype;
    kind kind;
    int bytes;
    int mantissa; /* FLOATING: stored bits of it */
} reading;

static const reading readings[] = {
    {TS_BOOL, UNSIGNED, 1, 0}, {TS_U8, UNSIGNED, 1, 0},   {TS_U16, UNSIGNED, 2, 0},  {TS_U32, UNSIGNED, 4, 0},
    {TS_U64, UNSIGNED, 8, 0},  {TS_I8, SIGNED, 1, 0},     {TS_I16, SIGNED, 2, 0},    {TS_I32, SIGNED, 4, 0},
    {TS_I64, SIGNED, 8, 0},    {TS_F16, FLOATING, 2, 10}, {TS_BF16, FLOATING, 2, 7}, {TS_F32, FLOATING, 4, 23},
    {TS_F64, FLOATING, 8, 52}, {TS_C64, PATTERN, 8, 0},
};

/* The 8-bit floats and the packed ones are compared as bytes. */
static reading reading_of(ts_dtype d)
{
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
        if (readings[i].dtype == d)
            return readings[i];
    return (reading){d, PATTERN, 1, 0};
}

/* What two tensors have in common; `as` is the narrower of F32 and F64. */
typedef struct {
    const ts_tensor *a, *b;
    reading as;
    int64_t count, columns;
} pair;

static uint64_t element(const ts_tensor *t, const reading *as, int64_t i)
{
    uint64_t bits = 0;
    if (t->dtype == TS_F64 && as->dtype == TS_F32)
        return ts_bits((float)ts_tensor_get(t, i));
    memcpy(&bits, (const char *)t->data + i * as->bytes, (size_t)as->bytes);
    return bits;
}

static uint64_t magnitude_mask(const reading *as)
{
    return ((uint64_t)1 << (as->bytes * 8 - 1)) - 1;
}

static bool is_nan(const reading *as, uint64_t bits)
{
    uint64_t mask = magnitude_mask(as), mantissa = ((uint64_t)1 << as->mantissa) - 1;
    return as->kind == FLOATING && (bits & mask) > (mask ^ mantissa);
}

static uint64_t ulp_distance(const reading *as, uint64_t x, uint64_t y)
{
    uint64_t mask = magnitude_mask(as);
    bool differ_in_sign = (x ^ y) & ~mask;
    if (is_nan(as, x) || is_nan(as, y))
        return TS_ULP_NAN;
    if (as->kind == FLOATING) {
        x &= mask, y &= mask;
        if (differ_in_sign)
            return x + y;
    } else if (as->kind == SIGNED) {
        x ^= mask + 1, y ^= mask + 1; /* offset binary orders like the integers */
    }
    return x > y ? x - y : y - x;
}

static bool same(const reading *as, uint64_t x, uint64_t y)
{
    return x == y || (is_nan(as, x) && is_nan(as, y));
}

static int bin_of(uint64_t ulp)
{
    static const uint64_t last[TS_ULP_BINS - 1] = {0, 1, 2, 4, 16, 256, 65536, TS_ULP_NAN - 1};
    int i = 0;
    while (i < TS_ULP_BINS - 1 && ulp > last[i])
        i++;
    return i;
}

const char *ts_ulp_bin_name(int bin)
{
    static const char *const name[TS_ULP_BINS] = {
        "0 (sign of zero)", "1", "2", "3-4", "5-16", "17-256", "257-65536", "more", "NaN against a number",
    };
    return name[bin];
}

static void shape_text(const ts_tensor *t, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%s ", ts_dtype_table[t->dtype].name);
    ts_shape_text(t->ndim, t->dim, buf + n, size - (size_t)n);
}

static bool mixed_floats(ts_dtype a, ts_dtype b)
{
    return (a == TS_F32 && b == TS_F64) || (a == TS_F64 && b == TS_F32);
}

static bool comparable(const ts_tensor *a, const ts_tensor *b)
{
    return (a->dtype == b->dtype || mixed_floats(a->dtype, b->dtype)) && a->ndim == b->ndim &&
           memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof *a->dim) == 0;
}

static pair pair_of(const ts_tensor *a, const ts_tensor *b)
{
    pair p = {.a = a, .b = b, .as = reading_of(a->dtype), .columns = 1};
    if (a->dtype != b->dtype)
        p.as = reading_of(TS_F32);
    p.count = ts_dtype_table[a->dtype].bits < 8 ? (int64_t)a->size : ts_tensor_count(a);
    if (ts_dtype_table[a->dtype].bits < 8)
        p.columns = p.count;
    else if (a->ndim > 0)
        p.columns = a->dim[a->ndim - 1];
    return p;
}

static void add_value_difference(const pair *p, int64_t i, ts_comparison *out)
{
    double x = ts_tensor_get(p->a, i), y = ts_tensor_get(p->b, i), d = fabs(x - y);
    if (x == y || isnan(d))
        return;
    double rel = isinf(d) ? d : d / fmax(fabs(x), fabs(y));
    out->max_abs = fmax(out->max_abs, d);
    out->max_rel = fmax(out->max_rel, rel);
}

static void add_difference(int64_t i, uint64_t ulp, ts_comparison *out)
{
    if (out->differing++ == 0)
        out->first = i, out->first_ulp = ulp;
    out->bin[bin_of(ulp)]++;
    if (ulp != TS_ULP_NAN && (out->worst < 0 || ulp > out->max_ulp))
        out->worst = i, out->max_ulp = ulp;
}

ts_status ts_compare(const ts_tensor *a, const ts_tensor *b, ts_comparison *out)
{
    *out = (ts_comparison){.first = -1, .worst = -1};
    if (!comparable(a, b)) {
        char sa[64], sb[64];
        shape_text(a, sa, sizeof sa);
        shape_text(b, sb, sizeof sb);
        snprintf(out->mismatch, sizeof out->mismatch, "%s against %s", sa, sb);
        return TS_DIFFERS;
    }
    pair p = pair_of(a, b);
    out->count = p.count;
    out->mixed = a->dtype != b->dtype;
    if (!out->mixed && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0))
        return TS_OK;
    for (int64_t i = 0; i < p.count; i++) {
        uint64_t x = element(a, &p.as, i), y = element(b, &p.as, i);
        if (!same(&p.as, x, y))
            add_difference(i, ulp_distance(&p.as, x, y), out);
        if (p.as.kind != PATTERN && (out->mixed || x != y))
            add_value_difference(&p, i, out);
    }
    return out->differing ? TS_DIFFERS : TS_OK;
}

static void ulp_text(uint64_t ulp, char *buf, size_t size)
{
    if (ulp == TS_ULP_NAN)
        snprintf(buf, size, "NaN against a number");
    else
        snprintf(buf, size, "%" PRIu64 " ulp%s", ulp, ulp == 0 ? " (sign of zero)" : "");
}

/* Decimal with enough digits to tell any two apart, and bits in hex. */
static void value_text(const ts_tensor *t, const reading *as, int64_t i, char *buf, size_t size)
{
    int digits = t->dtype == TS_F64 ? 17 : as->kind == FLOATING ? 9 : 20;
    if (as->kind == PATTERN)
        snprintf(buf, size, "-");
    else if (t->dtype == TS_U64)
        snprintf(buf, size, "%" PRIu64, element(t, as, i));
    else if (t->dtype == TS_I64)
        snprintf(buf, size, "%" PRId64, (int64_t)element(t, as, i));
    else
        snprintf(buf, size, "%.*g", digits, ts_tensor_get(t, i));
}

static void bits_text(const ts_tensor *t, const reading *as, int64_t i, char *buf, size_t size)
{
    reading own = reading_of(t->dtype); /* the rounded form of an F64 is not what lies in the file */
    if (own.dtype == as->dtype || own.kind == PATTERN)
        own = *as;
    snprintf(buf, size, "0x%0*" PRIx64, own.bytes * 2, element(t, &own, i));
}

static void index_text(const pair *p, int64_t i, char *buf, size_t size)
{
    int64_t stride = p->count;
    size_t n = 0;
    bool packed = ts_dtype_table[p->a->dtype].bits < 8;
    buf[0] = '\0';
    for (int d = 0; !packed && d < p->a->ndim && n < size; d++) {
        stride /= p->a->dim[d];
        n += (size_t)snprintf(buf + n, size - n, "[%" PRId64 "]%s", i / stride, d + 1 == p->a->ndim ? " " : "");
        i %= stride;
    }
}

static void print_first(FILE *f, const char *label_a, const char *label_b, const pair *p, const ts_comparison *c)
{
    char index[128], ulp[64], value[32], bits[24];
    int64_t i = c->first;
    index_text(p, i, index, sizeof index);
    ulp_text(c->first_ulp, ulp, sizeof ulp);
    fprintf(f, "  first at %srow %" PRId64 " col %" PRId64 " (flat %" PRId64 "): %s\n", index, i / p->columns,
            i % p->columns, i, ulp);
    for (int k = 0; k < 2; k++) {
        const ts_tensor *t = k ? p->b : p->a;
        value_text(t, &p->as, i, value, sizeof value);
        bits_text(t, &p->as, i, bits, sizeof bits);
        fprintf(f, "    %-24s %-18s %s\n", value, bits, k ? label_b : label_a);
    }
}

static void print_histogram(FILE *f, const ts_comparison *c)
{
    fprintf(f, "  elements by ulp distance:");
    for (int i = 0, n = 0; i < TS_ULP_BINS; i++)
        if (c->bin[i])
            fprintf(f, "%s %s: %" PRId64, n++ ? "," : "", ts_ulp_bin_name(i), c->bin[i]);
    fputc('\n', f);
}

/* One row: the cells of a, the cells of b, and an x for every column that differs. */
static void print_row(FILE *f, const pair *p, int64_t row, int64_t from, int64_t to)
{
    fprintf(f, "  %6" PRId64 " ", row);
    for (int k = 0; k < 2; k++) {
        for (int64_t i = from; i < to; i++)
            fprintf(f, " %0*" PRIx64, p->as.bytes * 2, element(k ? p->b : p->a, &p->as, row * p->columns + i));
        fputs(k ? "  " : " |", f);
    }
    for (int64_t i = from; i < to; i++) {
        int64_t at = row * p->columns + i;
        fputc(same(&p->as, element(p->a, &p->as, at), element(p->b, &p->as, at)) ? '.' : 'x', f);
    }
    fputc('\n', f);
}

static void print_rows(FILE *f, const pair *p, int64_t first, int rows)
{
    int64_t width = p->as.bytes == 8 ? 3 : p->as.bytes == 4 ? 6 : 8;
    int64_t row = first / p->columns, from = first % p->columns - width / 2;
    from = from + width > p->columns ? p->columns - width : from;
    from = from < 0 ? 0 : from;
    int64_t to = from + width < p->columns ? from + width : p->columns;
    if (rows > 0)
        fprintf(f, "  rows from %" PRId64 ", columns %" PRId64 " to %" PRId64 ": a | b, x where they differ\n", row,
                from, to - 1);
    for (int r = 0; r < rows && (row + r) * p->columns < p->count; r++)
        print_row(f, p, row + r, from, to);
}

/* NaN if only NaNs stand against numbers: then there is no distance, and it is not 0. */
static double known(const ts_comparison *c, double max)
{
    return max == 0 && c->bin[TS_ULP_BINS - 1] > 0 ? (double)NAN : max;
}

void ts_compare_print_line(FILE *f, const ts_tensor *a, const ts_comparison *c)
{
    char shape[64], ulp[64];
    shape_text(a, shape, sizeof shape);
    if (c->mismatch[0]) {
        fprintf(f, "%s: %s\n", a->name, c->mismatch);
        return;
    }
    fprintf(f, "%s %s: ", a->name, shape);
    if (c->differing == 0)
        fprintf(f, "identical%s", c->mixed ? " after rounding to f32" : "");
    else
        fprintf(f, "%" PRId64 " of %" PRId64 " elements differ%s", c->differing, c->count,
                c->mixed ? " as f32" : "");
    ulp_text(c->max_ulp, ulp, sizeof ulp);
    if (c->worst >= 0)
        fprintf(f, ", at most %s (flat %" PRId64 ")", ulp, c->worst);
    if (isnan(known(c, c->max_abs)))
        fputs(", max abs undefined: NaN against a number", f);
    else if (c->differing || c->mixed)
        fprintf(f, ", max abs %.3g, max rel %.3g", c->max_abs, c->max_rel);
    fputc('\n', f);
}

void ts_compare_print(FILE *f, const char *label_a, const char *label_b, const ts_tensor *a, const ts_tensor *b,
                      const ts_comparison *c, int rows)
{
    ts_compare_print_line(f, a, c);
    if (c->mismatch[0] || c->differing == 0)
        return;
    pair p = pair_of(a, b);
    print_first(f, label_a, label_b, &p, c);
    print_histogram(f, c);
    print_rows(f, &p, c->first, rows);
}

/* Integers beyond 2^53 survive as digits. */
static void add_u64(cJSON *o, const char *key, uint64_t v)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, v);
    if (v == TS_ULP_NAN)
        cJSON_AddNullToObject(o, key);
    else
        cJSON_AddRawToObject(o, key, digits);
}

void ts_compare_add_number(cJSON *o, const char *key, double v)
{
    if (isfinite(v))
        cJSON_AddNumberToObject(o, key, v);
    else
        cJSON_AddNullToObject(o, key);
}

static void add_element(cJSON *o, const char *key, const ts_tensor *t, const reading *as, int64_t i)
{
    char value[32], bits[24];
    cJSON *e = cJSON_AddObjectToObject(o, key);
    value_text(t, as, i, value, sizeof value);
    bits_text(t, as, i, bits, sizeof bits);
    cJSON_AddStringToObject(e, "value", value); /* text: JSON has no NaN and no infinity */
    cJSON_AddStringToObject(e, "bits", bits);
}

static void add_difference_json(cJSON *o, const pair *p, const ts_comparison *c)
{
    cJSON *first = cJSON_AddObjectToObject(o, "first");
    add_u64(first, "index", (uint64_t)c->first);
    add_u64(first, "row", (uint64_t)(c->first / p->columns));
    add_u64(first, "col", (uint64_t)(c->first % p->columns));
    add_u64(first, "ulp", c->first_ulp);
    add_element(first, "a", p->a, &p->as, c->first);
    add_element(first, "b", p->b, &p->as, c->first);
    add_u64(o, "max_ulp", c->worst < 0 ? TS_ULP_NAN : c->max_ulp);
    cJSON *bins = cJSON_AddObjectToObject(o, "ulp_histogram");
    for (int i = 0; i < TS_ULP_BINS; i++)
        add_u64(bins, ts_ulp_bin_name(i), (uint64_t)c->bin[i]);
}

cJSON *ts_compare_json(const ts_tensor *a, const ts_tensor *b, const ts_comparison *c)
{
    char shape[64];
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "tensor", a->name);
    if (c->mismatch[0]) {
        cJSON_AddStringToObject(o, "mismatch", c->mismatch);
        return o;
    }
    pair p = pair_of(a, b);
    shape_text(a, shape, sizeof shape);
    cJSON_AddStringToObject(o, "shape", shape);
    cJSON_AddBoolToObject(o, "by_value", c->mixed);
    add_u64(o, "elements", (uint64_t)c->count);
    add_u64(o, "differing", (uint64_t)c->differing);
    ts_compare_add_number(o, "max_abs", known(c, c->max_abs));
    ts_compare_add_number(o, "max_rel", known(c, c->max_rel));
    if (c->differing)
        add_difference_json(o, &p, c);
    return o;
}
