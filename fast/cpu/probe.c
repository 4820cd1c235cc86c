#include "cpu/probe.h"

#include "cpu/isa.h"
#include "cpu/portable/probe.h"

const ts_probe *ts_probe_best(void)
{
    for (int i = 0; ts_isas[i].name; i++)
        if (ts_isas[i].probe && ts_isa_runs(ts_isas[i].name))
            return ts_isas[i].probe;
    return &ts_portable_probe;
}
