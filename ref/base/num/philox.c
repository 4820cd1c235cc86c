#include "num/philox.h"

#include "num/coef.h"

enum { ROUNDS = 10 };

void ts_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int i = 0; i < ROUNDS; i++, k0 += ts_coef_philox_weyl[0], k1 += ts_coef_philox_weyl[1]) {
        uint64_t a = (uint64_t)ts_coef_philox_multiplier[0] * x0, b = (uint64_t)ts_coef_philox_multiplier[1] * x2;
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
