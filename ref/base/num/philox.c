#include "num/philox.h"

/* The constants of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3". */
enum { ROUNDS = 10 };
static const uint32_t multiplier[2] = {0xd2511f53, 0xcd9e8d57};
static const uint32_t weyl[2] = {0x9e3779b9, 0xbb67ae85};

void ts_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int i = 0; i < ROUNDS; i++, k0 += weyl[0], k1 += weyl[1]) {
        uint64_t a = (uint64_t)multiplier[0] * x0, b = (uint64_t)multiplier[1] * x2;
        x0 = (uint32_t)(b >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)b;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)a;
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
}

double ts_uniform(uint64_t seed, uint64_t position, uint32_t purpose)
{
    uint32_t counter[4] = {(uint32_t)position, (uint32_t)(position >> 32), purpose, 0};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, x[4];
    ts_philox(counter, key, x);
    return (double)(((uint64_t)x[0] << 32 | x[1]) >> 11) * 0x1p-53;
}
