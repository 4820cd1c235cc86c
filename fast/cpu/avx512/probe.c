#include "cpu/avx512/avx512.h"
#include "cpu/avx512/schedules.h"

enum { LINE = 64, BLOCK = 512, AHEAD = 4096 };

static uint64_t issue(int64_t n)
{
    __m512i c[TS_PROBE_CHAINS], a = ts_zmm_set32((int32_t)n), sum = ts_zmm_set32(0);
    for (int i = 0; i < TS_PROBE_CHAINS; i++)
        c[i] = ts_zmm_set32(i);
    for (int64_t r = 0; r < n; r++)
        for (int i = 0; i < TS_PROBE_CHAINS; i++)
            c[i] = ts_zmm_dot_u8s8(c[i], a, a);
    for (int i = 0; i < TS_PROBE_CHAINS; i++)
        sum = ts_zmm_add64(sum, c[i]);
    return ts_zmm_sum64(sum);
}

static uint64_t read_all(const void *p, size_t bytes)
{
    __m512i lane[BLOCK / LINE], sum = ts_zmm_set32(0);
    for (int i = 0; i < BLOCK / LINE; i++)
        lane[i] = sum;
    for (size_t at = 0; at < bytes; at += BLOCK)
        for (int i = 0; i < BLOCK / LINE; i++) {
            const char *line = (const char *)p + at + LINE * i;
            ts_prefetch(line + AHEAD);
            lane[i] = ts_zmm_xor(lane[i], ts_zmm_load(line));
        }
    for (int i = 0; i < BLOCK / LINE; i++)
        sum = ts_zmm_xor(sum, lane[i]);
    return ts_zmm_sum64(sum);
}

static void update(void *p, size_t bytes)
{
    volatile int32_t zero = 0;
    __m512i add = ts_zmm_set32(zero);
    for (size_t at = 0; at < bytes; at += LINE) {
        char *line = (char *)p + at;
        ts_prefetch(line + AHEAD);
        ts_zmm_store(line, ts_zmm_add64(ts_zmm_load(line), add));
    }
}

const ts_probe ts_avx512_probe = {
    .name = "vpdpbusd zmm",
    .unit = "int8",
    .macs = 64,
    .issue = issue,
    .read = read_all,
    .update = update,
};
