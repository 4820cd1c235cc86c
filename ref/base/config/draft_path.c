/* Where drafters and their configs lie. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "config/draft.h"

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static ts_status fits(int length, size_t size, const char *path, ts_error *err)
{
    return length >= 0 && (size_t)length < size ? TS_OK : ts_fail(err, TS_BAD, path, NULL, "path too long");
}

ts_status ts_draft_beside(const ts_weights *target, const char *name, char *out, size_t size, ts_error *err)
{
    const char *path = target->path, *slash = strrchr(path, '/');
    if (is_folder(path))
        return fits(snprintf(out, size, "%s/%s", path, name), size, path, err);
    const int folder = slash != NULL ? (int)(slash + 1 - path) : 0;
    return fits(snprintf(out, size, "%.*s%s", folder, path, name), size, path, err);
}

ts_status ts_draft_config(const char *path, char *out, size_t size, ts_error *err)
{
    const size_t n = strlen(path), end = strlen(".safetensors");
    const bool named = n > end && strcmp(path + n - end, ".safetensors") == 0;
    if (is_folder(path))
        return fits(snprintf(out, size, "%s/config.json", path), size, path, err);
    return fits(snprintf(out, size, "%.*s-config.json", (int)(named ? n - end : n), path), size, path, err);
}
