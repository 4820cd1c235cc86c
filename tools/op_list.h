/* touchstone op --list: every operation with its dims, parameters and fields. */
#ifndef TS_TOOLS_OP_LIST_H
#define TS_TOOLS_OP_LIST_H

#include <stdbool.h>

/* As text or JSON; the exit code. */
int ts_op_list(bool json);

#endif
