#include "cpu/isa.h"

#include <sys/auxv.h>

#include "cpu/neon/schedules.h"

static bool has_neon(void)
{
    unsigned long has = getauxval(AT_HWCAP);
    return (has & HWCAP_ASIMD) != 0 && (has & HWCAP_ASIMDDP) != 0;
}

const ts_isa ts_isas[] = {
    {.name = "neon", .present = has_neon, .schedules = ts_neon_schedules},
    {.name = NULL},
};
