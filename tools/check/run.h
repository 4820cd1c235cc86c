/* Running a selection of cases. */
#ifndef TS_CHECK_RUN_H
#define TS_CHECK_RUN_H

#include "check/check.h"

bool ts_check_selects(const ts_check *k, const ts_case *c);
/* Canaries, tables, files, then every selected case; findings go to k->report. */
void ts_check_run(ts_check *k, ts_case *cases, size_t n);

#endif
