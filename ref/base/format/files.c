#include "format/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static ts_status append(ts_files *l, const char *path, ts_error *err)
{
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 64;
        char **v = realloc(l->path, room * sizeof *v);
        if (!v)
            return ts_no_memory(err, room * sizeof *v);
        l->path = v;
        l->room = room;
    }
    l->path[l->n] = strdup(path);
    return l->path[l->n++] ? TS_OK : ts_no_memory(err, strlen(path));
}

static ts_status walk(ts_files *l, const char *folder, int depth, ts_error *err)
{
    DIR *dir = depth < 32 ? opendir(folder) : NULL;
    if (!dir)
        return ts_fail(err, TS_BAD, folder, NULL, "cannot read this folder: %s",
                       depth < 32 ? strerror(errno) : "nested too deep");
    ts_status s = TS_OK;
    for (struct dirent *e; !s && (e = readdir(dir));) {
        char path[1024];
        struct stat st;
        if (e->d_name[0] == '.')
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path)
            s = ts_fail(err, TS_BAD, folder, e->d_name, "path too long");
        else if (stat(path, &st) != 0)
            s = ts_fail(err, TS_BAD, path, NULL, "%s", strerror(errno));
        else
            s = S_ISDIR(st.st_mode) ? walk(l, path, depth + 1, err) : append(l, path, err);
    }
    closedir(dir);
    return s;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

ts_status ts_files_list(const char *folder, ts_files *out, ts_error *err)
{
    *out = (ts_files){0};
    ts_status s = walk(out, folder, 0, err);
    if (s)
        ts_files_free(out);
    else if (out->n)
        qsort(out->path, out->n, sizeof *out->path, by_path);
    return s;
}

void ts_files_free(ts_files *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->path[i]);
    free(f->path);
    *f = (ts_files){0};
}
