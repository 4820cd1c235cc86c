/* Memory that notices: an array in shared pages, its last byte against pages that
 * fault, the room before it filled with a canary behind other such pages. */
#ifndef TS_CHECK_GUARD_H
#define TS_CHECK_GUARD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *map; /* guard pages, slack and array, guard pages; NULL if there is none */
    size_t mapped;
    char *data;
    size_t size;
} ts_guard;

/* data is aligned as far as size is (a multiple of the element size). False: out of memory. */
bool ts_guard_new(ts_guard *g, size_t size);
void ts_guard_free(ts_guard *g);
/* From here on a write faults, in this process. */
bool ts_guard_read_only(const ts_guard *g);
bool ts_guard_writable(const ts_guard *g);
/* Bytes before the array that were changed, 0 if the canary is whole; afterwards it is. */
size_t ts_guard_underrun(const ts_guard *g);
/* Is address in this mapping? Then *offset = bytes from the array's start (negative: before it). */
bool ts_guard_holds(const ts_guard *g, const void *address, long long *offset);

#endif
