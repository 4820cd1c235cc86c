#include "staging.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ts_status ts_folder_holds_files(const char *path, bool *holds, ts_error *err)
{
    *holds = false;
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? TS_OK : ts_fail(err, TS_USAGE, path, NULL, "%s", strerror(errno));
    for (struct dirent *e = readdir(d); e && !*holds; e = readdir(d))
        *holds = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return TS_OK;
}

ts_status ts_staging_open(ts_staging *s, const char *target, ts_error *err)
{
    size_t n = strlen(target);
    *s = (ts_staging){.n = 0};
    while (n > 1 && target[n - 1] == '/')
        n--;
    if (n == 0 || n >= sizeof s->target)
        return ts_fail(err, TS_USAGE, target, NULL, "not a usable path");
    memcpy(s->target, target, n);
    ts_status status = ts_folder_holds_files(s->target, &s->replace, err);
    if (status)
        return status;
    snprintf(s->folder, sizeof s->folder, "%s.tmp-%ld", s->target, (long)getpid());
    if (mkdir(s->folder, 0777))
        return ts_fail(err, TS_BAD, s->folder, NULL, "%s", strerror(errno));
    return TS_OK;
}

const char *ts_staging_add(ts_staging *s, const char *name, char buf[TS_STAGING_PATH + 128])
{
    s->file[s->n++] = name;
    snprintf(buf, TS_STAGING_PATH + 128, "%s/%s", s->folder, name);
    return buf;
}

static ts_status replace_file(const ts_staging *s, const char *name, ts_error *err)
{
    char from[TS_STAGING_PATH + 128], to[TS_STAGING_PATH + 128];
    snprintf(from, sizeof from, "%s/%s", s->folder, name);
    snprintf(to, sizeof to, "%s/%s", s->target, name);
    return rename(from, to) == 0 ? TS_OK : ts_fail(err, TS_BAD, to, NULL, "%s", strerror(errno));
}

static bool is_new(const ts_staging *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->file[i], name) == 0)
            return true;
    return false;
}

static ts_status remove_stale(const ts_staging *s, const char *name, ts_error *err)
{
    char path[TS_STAGING_PATH + 128];
    snprintf(path, sizeof path, "%s/%s", s->target, name);
    if (is_new(s, name) || unlink(path) == 0 || errno == ENOENT)
        return TS_OK;
    return ts_fail(err, TS_BAD, path, NULL, "%s", strerror(errno));
}

ts_status ts_staging_commit(ts_staging *s, const char *const *stale, ts_error *err)
{
    ts_status status = TS_OK;
    if (!s->replace) {
        if (rename(s->folder, s->target))
            return ts_fail(err, TS_BAD, s->target, NULL, "%s", strerror(errno));
        return TS_OK;
    }
    for (; *stale && !status; stale++)
        status = remove_stale(s, *stale, err);
    for (int i = 0; i < s->n && !status; i++)
        status = replace_file(s, s->file[i], err);
    if (!status)
        rmdir(s->folder);
    return status;
}

void ts_staging_abort(ts_staging *s)
{
    char path[TS_STAGING_PATH + 128];
    for (int i = 0; i < s->n; i++) {
        snprintf(path, sizeof path, "%s/%s", s->folder, s->file[i]);
        unlink(path);
    }
    if (s->folder[0])
        rmdir(s->folder);
}
