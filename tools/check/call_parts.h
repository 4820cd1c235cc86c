/* What the two files of a call share. */
#ifndef TS_CHECK_CALL_PARTS_H
#define TS_CHECK_CALL_PARTS_H

#include "check/call.h"

void *ts_call_member(const ts_call *c, size_t offset);
/* Which of the call's matrices field i is. */
int ts_call_matrix_at(const ts_call *c, int i);
size_t ts_call_element_size(const ts_call *c, const ts_field *f);
/* Points the args struct at array i. */
void ts_call_attach(ts_call *c, int i);
/* Array i, guarded if the call is, filled. */
ts_status ts_call_allocate(ts_call *c, int i, ts_error *err);
/* The contents of array i before a run, whatever its role. */
void ts_call_fill(ts_call *c, int i);

#endif
