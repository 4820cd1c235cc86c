#define _GNU_SOURCE /* memfd_create */
#include "fuzz/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void ts_input_file(const uint8_t *data, size_t size, char path[TS_INPUT_PATH])
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("input", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
        perror("input file");
        exit(2);
    }
    snprintf(path, TS_INPUT_PATH, "/proc/self/fd/%d", fd);
}
