/* Every reader takes a path: the input becomes a file in memory that has one. */
#ifndef TS_FUZZ_INPUT_H
#define TS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TS_INPUT_PATH = 64 };

/* Replaces the file's content. path stays the same for the life of the process. */
void ts_input_file(const uint8_t *data, size_t size, char path[TS_INPUT_PATH]);

#endif
