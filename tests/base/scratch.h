/* A test's scratch folder, made before and removed after it. */
#ifndef TS_TESTS_BASE_SCRATCH_H
#define TS_TESTS_BASE_SCRATCH_H

#include "base/folder.h"

static folder dir;

static inline int scratch_make(void **state)
{
    (void)state;
    folder_make(&dir);
    return 0;
}

static inline int scratch_remove(void **state)
{
    (void)state;
    folder_remove(&dir);
    return 0;
}

#endif
