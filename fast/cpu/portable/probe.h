#ifndef TS_FAST_PORTABLE_PROBE_H
#define TS_FAST_PORTABLE_PROBE_H

#include "cpu/probe.h"

extern const ts_probe ts_portable_probe;

#endif
