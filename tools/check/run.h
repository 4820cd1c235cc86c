/* Running a selection of cases. */
#ifndef TS_CHECK_RUN_H
#define TS_CHECK_RUN_H

#include "check/check.h"

bool ts_check_selects(const ts_check *k, const ts_case *c);
/* TS_USAGE: o.schedule names none, or one that cannot run here. */
ts_status ts_check_find_schedule(const ts_check *k, ts_error *err);
/* Canaries, tables, files, then every selected case; findings go to k->report. */
void ts_check_run(ts_check *k, ts_case *cases, size_t n);

#endif
