#include "cpu/avx2/avx2.h"
#include "cpu/avx2/schedules.h"

enum { WIDTH = 32, LINE = 64, BLOCK = 512, AHEAD = 4096 };

static uint64_t fold(const __m256i *lane, int n)
{
    __m256i sum = lane[0];
    uint64_t word[WIDTH / 8], all = 0;
    for (int i = 1; i < n; i++)
        sum = ts_ymm_xor(sum, lane[i]);
    ts_ymm_store(word, sum);
    for (int i = 0; i < WIDTH / 8; i++)
        all ^= word[i];
    return all;
}

static uint64_t issue(int64_t n)
{
    __m256 c[TS_PROBE_CHAINS], half = ts_ymm_set_f32(0.5f);
    __m256i bits[TS_PROBE_CHAINS];
    for (int i = 0; i < TS_PROBE_CHAINS; i++)
        c[i] = ts_ymm_set_f32((float)i);
    for (int64_t r = 0; r < n; r++)
        for (int i = 0; i < TS_PROBE_CHAINS; i++)
            c[i] = ts_ymm_fma(c[i], half, half);
    for (int i = 0; i < TS_PROBE_CHAINS; i++)
        bits[i] = ts_ymm_bits(c[i]);
    return fold(bits, TS_PROBE_CHAINS);
}

static uint64_t read_all(const void *p, size_t bytes)
{
    __m256i lane[BLOCK / LINE];
    for (int i = 0; i < BLOCK / LINE; i++)
        lane[i] = ts_ymm_set64(0);
    for (size_t at = 0; at < bytes; at += BLOCK)
        for (int i = 0; i < BLOCK / LINE; i++) {
            const char *line = (const char *)p + at + LINE * i;
            ts_prefetch(line + AHEAD);
            lane[i] = ts_ymm_xor(lane[i], ts_ymm_xor(ts_ymm_load(line), ts_ymm_load(line + WIDTH)));
        }
    return fold(lane, BLOCK / LINE);
}

static void update(void *p, size_t bytes)
{
    volatile int64_t zero = 0;
    __m256i add = ts_ymm_set64(zero);
    for (size_t at = 0; at < bytes; at += LINE) {
        char *line = (char *)p + at;
        ts_prefetch(line + AHEAD);
        ts_ymm_store(line, ts_ymm_add64(ts_ymm_load(line), add));
        ts_ymm_store(line + WIDTH, ts_ymm_add64(ts_ymm_load(line + WIDTH), add));
    }
}

const ts_probe ts_avx2_probe = {
    .name = "vfmadd ymm",
    .unit = "f32",
    .macs = 8,
    .issue = issue,
    .read = read_all,
    .update = update,
};
