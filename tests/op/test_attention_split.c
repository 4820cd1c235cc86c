/* Attention in its two steps: records and their merge. Their composition is
 * attention to the bit, records without keys are nothing wherever they stand, and a NaN shows. */
#include "call.h"

enum { T = 6, HQ = 4, HKV = 2, D = 40, PARTS = 4, LEN = 3 * 128 + 20, RECORDS = T * HQ * PARTS, PAGE = 16 };

static const int32_t pos[T] = {LEN - 1, 300, 256, 127, 128, 9}, len[T] = {LEN, 301, 257, 128, 129, 0};

typedef struct {
    float o[T * HQ * D], m[RECORDS], l[RECORDS], acc[RECORDS * D], M[T * HQ], L[T * HQ];
} result;

static ts_attention_args arguments(const float *q, const float *rows, int32_t *table, int64_t window, result *r)
{
    for (int i = 0; i <= LEN / PAGE; i++)
        table[i] = LEN / PAGE - i;
    ts_kv kv = {.page = PAGE,
                .pages = LEN / PAGE + 1,
                .table = table,
                .k = floats((LEN + PAGE) * HKV * D),
                .v = floats((LEN + PAGE) * HKV * D)};
    ts_kv_store_args put = {LEN, HKV, D, 0, rows, rows + LEN * HKV * D, kv};
    ts_ref32.op(TS_OP_KV_STORE, &put);
    return (ts_attention_args){.T = T,
                               .Hq = HQ,
                               .Hkv = HKV,
                               .D = D,
                               .parts = PARTS,
                               .window = window,
                               .scale = 0.2,
                               .q = q,
                               .pos = pos,
                               .len = len,
                               .kv = kv,
                               .o = r->o,
                               .m = r->m,
                               .l = r->l,
                               .acc = r->acc,
                               .M = r->M,
                               .L = r->L};
}

static void merge(int64_t parts, const float *m, const float *l, const float *acc, result *r)
{
    ts_attention_merge_args a = {T, HQ, D, parts, m, l, acc, r->o, r->M, r->L};
    ts_ref32.op(TS_OP_ATTENTION_MERGE, &a);
}

static void same_merged(const result *a, const result *b)
{
    same_bits(a->o, b->o, T * HQ * D);
    same_bits(a->M, b->M, T * HQ);
    same_bits(a->L, b->L, T * HQ);
}

/* Records and result of attention in one; the caller frees both. */
static result *whole_result(int64_t window, float spoilt, result **steps)
{
    float *q = generated("normal", 1, T * HQ * D), *rows = generated("normal", 2, 2 * LEN * HKV * D);
    int32_t table[LEN / PAGE + 1];
    result *whole = room(1, sizeof *whole);
    *steps = room(1, sizeof **steps);
    memset(*steps, 0xff, sizeof **steps); /* what nobody writes is a NaN */
    rows[17 * HKV * D] = spoilt;
    ts_attention_args a = arguments(q, rows, table, window, whole);
    ts_ref32.op(TS_OP_ATTENTION, &a);
    a.m = (*steps)->m;
    a.l = (*steps)->l;
    a.acc = (*steps)->acc;
    a.o = a.M = a.L = NULL;
    ts_ref32.op(TS_OP_ATTENTION_PARTIAL, &a);
    merge(PARTS, a.m, a.l, a.acc, *steps);
    free(q);
    free(rows);
    free(a.kv.k);
    free(a.kv.v);
    return whole;
}

static void composition_is_attention(void **state)
{
    (void)state;
    static const int64_t window[] = {0, 1, 15, 16, 17, 127, 128, 129, 130, 300};
    static const float spoilt[] = {0, NAN, INFINITY, -INFINITY, 1e30f};
    for (size_t i = 0; i < 50; i++) {
        result *steps, *whole = whole_result(window[i / 5], spoilt[i % 5], &steps);
        same_merged(steps, whole);
        same_bits(steps->m, whole->m, RECORDS);
        same_bits(steps->l, whole->l, RECORDS);
        same_bits(steps->acc, whole->acc, RECORDS * D);
        free(whole);
        free(steps);
    }
}

/* The sum of exp(s) over the keys is L exp(M); a row without keys has none. */
static void sums_are_those_of_the_row(void **state)
{
    (void)state;
    result *steps, *r = whole_result(0, 0, &steps);
    for (int i = 0; i < T * HQ; i++) {
        double sum = 0;
        for (int p = 0; p < PARTS; p++)
            sum += (double)r->l[i * PARTS + p] * exp((double)r->m[i * PARTS + p]);
        if (len[i / HQ] == 0)
            assert_true(r->M[i] == -INFINITY && r->L[i] == 0 && r->o[i * D] == 0);
        else
            assert_true(fabs((double)r->L[i] * exp((double)r->M[i]) / sum - 1) < 1e-5);
    }
    free(r);
    free(steps);
}

/* Records with one more in front of number `at` of every row: m, l = 0 and anything in acc. */
static void with_absent(const result *r, int at, float m, float acc, float *out_m, float *out_l, float *out_acc)
{
    for (int i = 0; i < T * HQ * (PARTS + 1); i++) {
        int p = i % (PARTS + 1), from = i / (PARTS + 1) * PARTS + p - (p > at);
        out_m[i] = p == at ? m : r->m[from];
        out_l[i] = p == at ? 0 : r->l[from];
        for (int c = 0; c < D; c++)
            out_acc[i * D + c] = p == at ? acc : r->acc[from * D + c];
    }
}

static void absent_records_change_nothing(void **state)
{
    (void)state;
    result *steps, *r = whole_result(0, 0, &steps), *again = room(1, sizeof *again);
    float m[T * HQ * (PARTS + 1)], l[T * HQ * (PARTS + 1)], *acc = floats(T * HQ * (PARTS + 1) * D);
    static const float absent_m[] = {-INFINITY, 1e30f, NAN}, absent_acc[] = {0, NAN, INFINITY};
    for (int at = 0; at <= PARTS; at++)
        for (int i = 0; i < 3; i++) {
            with_absent(r, at, absent_m[i], absent_acc[i], m, l, acc);
            merge(PARTS + 1, m, l, acc, again);
            same_merged(again, r);
        }
    free(acc);
    free(again);
    free(r);
    free(steps);
}

static void a_nan_shows(void **state)
{
    (void)state;
    result *steps, *r = whole_result(0, 0, &steps), *again = room(1, sizeof *again);
    for (int p = 0; p < PARTS; p++) /* of row 0, head 0, which has keys in all */
        for (int what = 0; what < 3; what++) {
            *again = *r;
            float *x = what == 0 ? again->m + p : what == 1 ? again->l + p : again->acc + p * D;
            *x = NAN;
            merge(PARTS, again->m, again->l, again->acc, again);
            assert_true(isnan(again->o[0]));
            assert_true(what == 2 ? !isnan(again->o[1]) : isnan(again->o[1]) && isnan(again->L[0]));
            same_bits(again->o + D, r->o + D, (T * HQ - 1) * D);
        }
    free(again);
    free(r);
    free(steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composition_is_attention),
        cmocka_unit_test(sums_are_those_of_the_row),
        cmocka_unit_test(absent_records_change_nothing),
        cmocka_unit_test(a_nan_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
