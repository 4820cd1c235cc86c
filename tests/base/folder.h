/* A scratch folder for tests that need files. */
#ifndef TS_TESTS_BASE_FOLDER_H
#define TS_TESTS_BASE_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDER_PATH = 512 };

typedef struct {
    char path[64];
} folder;

static inline void folder_make(folder *f)
{
    snprintf(f->path, sizeof f->path, "/tmp/touchstone-test-XXXXXX");
    if (mkdtemp(f->path) == NULL) {
        perror(f->path);
        exit(1);
    }
}

static inline const char *folder_file(const folder *f, const char *name, char out[FOLDER_PATH])
{
    snprintf(out, FOLDER_PATH, "%s/%s", f->path, name);
    return out;
}

static inline int folder_count(const folder *f)
{
    int n = 0;
    DIR *d = opendir(f->path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d != NULL)
        closedir(d);
    return n;
}

static inline void folder_empty(const folder *f)
{
    char file[FOLDER_PATH];
    DIR *d = opendir(f->path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove(folder_file(f, e->d_name, file));
    if (d != NULL)
        closedir(d);
}

static inline void folder_remove(const folder *f)
{
    folder_empty(f);
    rmdir(f->path);
}

static inline void folder_write(const folder *f, const char *name, const void *data, size_t size)
{
    char path[FOLDER_PATH];
    FILE *out = fopen(folder_file(f, name, path), "wb");
    if (out == NULL || fwrite(data, 1, size, out) != size || fclose(out) != 0) {
        perror(path);
        exit(1);
    }
}

static inline void folder_text(const folder *f, const char *name, const char *text)
{
    folder_write(f, name, text, strlen(text));
}

#endif
