#include "cpu/isa.h"

#include "cpu/avx2/schedules.h"
#include "cpu/avx512/schedules.h"

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("gfni");
}

const ts_isa ts_isas[] = {
    {"avx512", has_avx512, ts_avx512_schedules, &ts_avx512_probe},
    {"avx2", has_avx2, ts_avx2_schedules, &ts_avx2_probe},
    {NULL, NULL, NULL, NULL},
};
