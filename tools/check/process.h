/* Child processes that may do anything: each in a process group of its own, and nothing waits for more than the
 * child itself, whoever else holds its end of the stream. */
#ifndef TS_CHECK_PROCESS_H
#define TS_CHECK_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;
    int fd;     /* a stream both ways between child and parent */
    int status; /* of waitpid, after ts_process_end */
} ts_process;

/* Forks, as fork returns: 0 in the child, which ends with its parent, prints to standard error and has no handlers;
 * -1 with errno. The child may have one such child at a time itself, and no others. */
pid_t ts_process_start(ts_process *p);
bool ts_process_ended(const ts_process *p);
/* Bytes from the child; 0: it has ended, or closed its end; -1: nothing until that time of ts_process_clock. */
ssize_t ts_process_read(const ts_process *p, void *to, size_t size, double until);
/* Kills its group, and in such a child whatever else is left of it; a second time, does nothing. */
void ts_process_end(ts_process *p);
/* "ended the process with exit code 3", "crashed: Killed", after ts_process_end. */
void ts_process_describe(const ts_process *p, char *text, size_t size);

/* Seconds since some time. */
double ts_process_clock(void);

#endif
