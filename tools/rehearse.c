#include "rehearse.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/process.h"

enum { RETURNED = 77 };

ts_status ts_rehearse(void (*run)(void *context), void *context, int seconds, char *text, size_t size)
{
    ts_process p;
    char byte;
    if (ts_process_start(&p) < 0) {
        snprintf(text, size, "cannot be tried in a child process: %s", strerror(errno));
        return TS_BAD;
    }
    if (p.pid == 0) {
        run(context);
        _exit(RETURNED);
    }
    bool late = ts_process_read(&p, &byte, 1, ts_process_clock() + seconds) < 0;
    ts_process_end(&p);
    if (late)
        snprintf(text, size, "takes more than %d seconds", seconds);
    else if (WIFSIGNALED(p.status))
        snprintf(text, size, "crashes: signal %d (%s)", WTERMSIG(p.status), strsignal(WTERMSIG(p.status)));
    else if (WEXITSTATUS(p.status) != RETURNED)
        snprintf(text, size, "ends the process with exit code %d", WEXITSTATUS(p.status));
    else
        return TS_OK;
    return TS_BAD;
}
