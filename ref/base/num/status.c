#include "num/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Copies what fits. Names come from files, so: control characters become '?'
 * (an error stays one line), and a cut never leaves half a UTF-8 character. */
static void copy_text(char *to, size_t size, const char *from)
{
    size_t len = from ? strlen(from) : 0;
    if (len >= size)
        for (len = size - 1; len > 0 && ((unsigned char)from[len] & 0xc0) == 0x80;)
            len--;
    for (size_t i = 0; i < len; i++)
        to[i] = (unsigned char)from[i] < 0x20 || from[i] == 0x7f ? '?' : from[i];
    to[len] = '\0';
}

ts_status ts_fail(ts_error *err, ts_status status, const char *file, const char *tensor, const char *format, ...)
{
    if (!err)
        return status;
    char reason[1024];
    va_list args;
    va_start(args, format);
    if (vsnprintf(reason, sizeof reason, format, args) < 0)
        reason[0] = '\0';
    va_end(args);
    ts_error made; /* apart from *err: file, tensor and the arguments may point into it */
    copy_text(made.file, sizeof made.file, file);
    copy_text(made.tensor, sizeof made.tensor, tensor);
    copy_text(made.reason, sizeof made.reason, reason);
    *err = made;
    return status;
}

char *ts_error_text(const ts_error *err, char *buf, unsigned long size)
{
    snprintf(buf, size, "%s%s%s%s%s", err->file, err->file[0] ? ": " : "", err->tensor, err->tensor[0] ? ": " : "",
             err->reason);
    return buf;
}

ts_status ts_no_memory(ts_error *err, unsigned long bytes)
{
    return ts_fail(err, TS_BAD, NULL, NULL, "out of memory (%lu bytes)", bytes);
}
