#include "rehearse.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RETURNED = 77 };

/* Whatever handlers the caller has, the parent shall see the signal. */
static void die_of_signals(void)
{
    static const int numbers[] = {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL);
}

ts_status ts_rehearse(void (*run)(void *context), void *context, int seconds, char *text, size_t size)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        die_of_signals();
        alarm((unsigned)seconds);
        run(context);
        _exit(RETURNED);
    }
    pid_t ended = child;
    do
        ended = child < 0 ? -1 : waitpid(child, &status, 0);
    while (ended < 0 && child > 0 && errno == EINTR);
    if (ended < 0)
        snprintf(text, size, "cannot be tried in a child process: %s", strerror(errno));
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(text, size, "takes more than %d seconds", seconds);
    else if (WIFSIGNALED(status))
        snprintf(text, size, "crashes: signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != RETURNED)
        snprintf(text, size, "ends the process with exit code %d", WEXITSTATUS(status));
    else
        return TS_OK;
    return TS_BAD;
}
