/* Reading and atomic writing of whole files. */
#include "format/file.h"
#include "format/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static ts_status fail_errno(ts_error *err, const char *path, const char *what)
{
    return ts_fail(err, TS_BAD, path, NULL, "cannot %s: %s", what, strerror(errno));
}

ts_status ts_file_open(const char *path, int *fd, size_t *size, ts_error *err)
{
    /* O_NONBLOCK: opening a pipe must not wait for a writer. */
    int f = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (f < 0)
        return fail_errno(err, path, "open");
    struct stat st;
    ts_status status = TS_OK;
    if (fstat(f, &st) != 0)
        status = fail_errno(err, path, "stat");
    else if (!S_ISREG(st.st_mode))
        status = ts_fail(err, TS_BAD, path, NULL, "%s, not a regular file",
                         S_ISDIR(st.st_mode) ? "a folder" : "a device or pipe");
    if (status != TS_OK) {
        close(f);
        return status;
    }
    *fd = f;
    *size = (size_t)st.st_size;
    return TS_OK;
}

ts_status ts_file_map(const char *path, unsigned char **map, size_t *size, ts_error *err)
{
    int fd = -1;
    ts_status status = ts_file_open(path, &fd, size, err);
    if (status != TS_OK)
        return status;
    void *p = *size > 0 ? mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (p == MAP_FAILED)
        status = fail_errno(err, path, "map");
    else
        *map = p;
    close(fd);
    return status;
}

static ts_status read_exactly(int fd, const char *path, char *text, size_t size, ts_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, text + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, path, "read");
        if (n == 0)
            return ts_fail(err, TS_BAD, path, NULL, "shrank from %zu to %zu bytes while it was read", size, done);
        done += (size_t)n;
    }
    return TS_OK;
}

ts_status ts_file_read(const char *path, size_t limit, char **text, size_t *size, ts_error *err)
{
    int fd;
    size_t n;
    ts_status status = ts_file_open(path, &fd, &n, err);
    if (status != TS_OK)
        return status;
    char *buffer = NULL;
    if (n > limit)
        status = ts_fail(err, TS_BAD, path, NULL, "%zu bytes, more than the %zu allowed", n, limit);
    else if ((buffer = malloc(n + 1)) == NULL)
        status = ts_no_memory(err, n + 1);
    else
        status = read_exactly(fd, path, buffer, n, err);
    close(fd);
    if (status != TS_OK) {
        free(buffer);
        return status;
    }
    buffer[n] = '\0';
    *text = buffer;
    *size = n;
    return TS_OK;
}

ts_status ts_read_file(const char *file, char **text, size_t *size, ts_error *err)
{
    return ts_file_read(file, SIZE_MAX - 1, text, size, err);
}

/* A new file beside `path`, with the permissions a plain open would give it. */
static int open_beside(const char *path, char *name, size_t size)
{
    for (int i = 0; i < 1000; i++) {
        snprintf(name, size, "%s.tmp-%ld-%d", path, (long)getpid(), i);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

ts_status ts_out_open(ts_out *o, const char *path, ts_error *err)
{
    struct stat st;
    *o = (ts_out){.path = path, .fd = -1};
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        o->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        size_t size = strlen(path) + 48;
        o->temporary = malloc(size);
        if (o->temporary == NULL)
            return ts_no_memory(err, size);
        o->fd = open_beside(path, o->temporary, size);
    }
    if (o->fd >= 0)
        return TS_OK;
    ts_status status = fail_errno(err, path, "write");
    free(o->temporary);
    o->temporary = NULL;
    return status;
}

ts_status ts_out_write(ts_out *o, const void *data, size_t size, ts_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(o->fd, (const char *)data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, o->path, "write");
        done += (size_t)n;
    }
    return TS_OK;
}

ts_status ts_out_close(ts_out *o, ts_status status, ts_error *err)
{
    if (status == TS_OK && o->temporary != NULL && fsync(o->fd) != 0)
        status = fail_errno(err, o->path, "write");
    if (close(o->fd) != 0 && status == TS_OK)
        status = fail_errno(err, o->path, "write");
    if (o->temporary != NULL) {
        if (status == TS_OK && rename(o->temporary, o->path) != 0)
            status = fail_errno(err, o->path, "replace");
        if (status != TS_OK)
            unlink(o->temporary);
        free(o->temporary);
    }
    o->temporary = NULL;
    o->fd = -1;
    return status;
}

ts_status ts_write_file(const char *file, const void *data, size_t size, ts_error *err)
{
    ts_out out;
    ts_status status = ts_out_open(&out, file, err);
    if (status != TS_OK)
        return status;
    return ts_out_close(&out, ts_out_write(&out, data, size, err), err);
}
