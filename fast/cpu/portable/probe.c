#include "cpu/portable/probe.h"

#include <string.h>

static uint64_t issue(int64_t n)
{
    uint64_t c[TS_PROBE_CHAINS], sum = 0;
    for (int i = 0; i < TS_PROBE_CHAINS; i++)
        c[i] = (uint64_t)i + (uint64_t)n;
    for (int64_t r = 0; r < n; r++)
        for (int i = 0; i < TS_PROBE_CHAINS; i++)
            c[i] = c[i] * 6364136223846793005u + 1442695040888963407u;
    for (int i = 0; i < TS_PROBE_CHAINS; i++)
        sum += c[i];
    return sum;
}

/* Loops that compilers turn into vectors. */
static uint64_t read_all(const void *p, size_t bytes)
{
    uint64_t sum = 0, word;
    for (size_t at = 0; at < bytes; at += sizeof word) {
        memcpy(&word, (const char *)p + at, sizeof word);
        sum ^= word;
    }
    return sum;
}

/* Adds a zero that the compiler does not know. */
static void update(void *p, size_t bytes)
{
    volatile uint64_t zero = 0;
    uint64_t word, add = zero;
    for (size_t at = 0; at < bytes; at += sizeof word) {
        memcpy(&word, (char *)p + at, sizeof word);
        word += add;
        memcpy((char *)p + at, &word, sizeof word);
    }
}

const ts_probe ts_portable_probe = {
    .name = "64-bit multiply-add",
    .unit = "int64",
    .macs = 1,
    .issue = issue,
    .read = read_all,
    .update = update,
};
