/* gdn_chunk64 in ref32 to the bit, against a plain coding with whole matrices. */
#include "call.h"

enum { LMAX = 64, DK = 70, DV = 67 };

static float exp32(float x)
{
    float y;
    ts_map_args a = {1, &x, &y};
    ts_ref32.op(TS_OP_EXP, &a);
    return y;
}

typedef struct {
    float kb[LMAX][DK], A[LMAX][LMAX], P[LMAX][LMAX], U[LMAX][DV], W[LMAX][DK], V[LMAX][DV];
} matrices;

static float chain(float acc, const float *a, int64_t stride_a, const float *b, int64_t stride_b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        acc = fmaf(a[i * stride_a], b[i * stride_b], acc);
    return acc;
}

/* x_i <- x_i - sum_{j<i} A_ij x_j for one column of a matrix */
static void solve(float A[LMAX][LMAX], float *x, int64_t stride, int64_t L)
{
    for (int64_t i = 0; i < L; i++)
        for (int64_t j = 0; j < i; j++)
            x[i * stride] = fmaf(-A[i][j], x[j * stride], x[i * stride]);
}

static void scores(const float *q, const float *k, const float *beta, const float *G, int64_t L, matrices *m)
{
    for (int64_t i = 0; i < L; i++)
        for (int64_t c = 0; c < DK; c++)
            m->kb[i][c] = beta[i] * k[i * DK + c];
    for (int64_t i = 0; i < L; i++)
        for (int64_t j = 0; j <= i; j++) {
            float D = exp32(G[i] - G[j]);
            m->A[i][j] = chain(0, m->kb[i], 1, k + j * DK, 1, DK) * D;
            m->P[i][j] = chain(0, q + i * DK, 1, k + j * DK, 1, DK) * D;
        }
}

/* One chunk of one head. q, k [L][DK], v, o [L][DV], S [DK][DV]. */
static void plain(const float *q, const float *k, const float *v, const float *g, const float *beta, int64_t L,
                  float *S, float *o, matrices *m)
{
    float G[LMAX], E[LMAX], row[DK];
    for (int64_t i = 0; i < L; i++) {
        G[i] = i ? G[i - 1] + g[i] : g[0];
        E[i] = exp32(G[i]);
    }
    scores(q, k, beta, G, L, m);
    for (int64_t i = 0; i < L; i++) {
        for (int64_t j = 0; j < DV; j++)
            m->U[i][j] = beta[i] * v[i * DV + j];
        for (int64_t c = 0; c < DK; c++)
            m->W[i][c] = m->kb[i][c] * E[i];
    }
    for (int64_t j = 0; j < DV; j++)
        solve(m->A, &m->U[0][j], DV, L);
    for (int64_t c = 0; c < DK; c++)
        solve(m->A, &m->W[0][c], DK, L);
    for (int64_t i = 0; i < L; i++) {
        for (int64_t c = 0; c < DK; c++)
            row[c] = q[i * DK + c] * E[i];
        for (int64_t j = 0; j < DV; j++) {
            m->V[i][j] = m->U[i][j] - chain(0, m->W[i], 1, S + j, DV, DK);
            o[i * DV + j] = chain(chain(0, row, 1, S + j, DV, DK), m->P[i], 1, &m->V[0][j], DV, i + 1);
        }
    }
    for (int64_t c = 0; c < DK; c++)
        for (int64_t j = 0; j < DV; j++) {
            float acc = S[c * DV + j] * E[L - 1];
            for (int64_t i = 0; i < L; i++)
                acc = fmaf(k[i * DK + c] * exp32(G[L - 1] - G[i]), m->V[i][j], acc);
            S[c * DV + j] = acc;
        }
}

/* 100 rows from absolute position 50: chunks of 14, 64 and 22 rows. */
static void to_the_bit(void **state)
{
    (void)state;
    enum { T = 100, POS = 50 };
    float *q = generated("normal:0.125", 1, T * DK), *k = generated("normal:0.125", 2, T * DK);
    float *v = generated("normal", 3, T * DV), *g = generated("uniform:-0.5:0", 4, T);
    float *beta = generated("uniform:0:1", 5, T), *S = generated("normal", 6, DK * DV);
    float *S2 = copied(S, DK * DV), *o = floats(T * DV), *o2 = floats(T * DV);
    ts_gdn_args a = {T, 1, 1, DK, DV, POS, 0, q, k, v, g, beta, S, o};
    ts_ref32.op(TS_OP_GDN_CHUNK64, &a);
    matrices *m = room(1, sizeof *m);
    for (int64_t t = 0, L; t < T; t += L) {
        L = 64 - (POS + t) % 64 < T - t ? 64 - (POS + t) % 64 : T - t;
        plain(q + t * DK, k + t * DK, v + t * DV, g + t, beta + t, L, S2, o2 + t * DV, m);
    }
    same_bits(o, o2, T * DV);
    same_bits(S, S2, DK * DV);
    void *all[] = {q, k, v, g, beta, S, S2, o, o2, m};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_the_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
