/* Every coefficient and layout table compiled into the binary, by name, so that
 * `check` can compare them with golden/own/tables.json bit by bit. */
#ifndef TS_CASE_TABLE_H
#define TS_CASE_TABLE_H

#include <stddef.h>

typedef struct {
    const char *name; /* the C symbol */
    const void *data;
    size_t size;
} ts_table;

/* The i-th table, or NULL past the last. */
const ts_table *ts_table_at(size_t i);

#endif
