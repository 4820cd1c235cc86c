#include "plugin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/profile.h"
#include "cpu/isa.h"
#include "dynamic.h"
#include "rehearse.h"

/* Names stand in file names, reports and shell commands. */
static bool good_name(const char *name)
{
    size_t n = strnlen(name, 40);
    return n > 0 && n < 40 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

static bool known_inner(const ts_op *op, const char *name, size_t n)
{
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++)
        if (op->field[i].role == TS_INNER && strlen(op->field[i].name) == n &&
            memcmp(op->field[i].name, name, n) == 0)
            return true;
    return false;
}

static bool good_exposes(const ts_op *op, const char *list)
{
    for (size_t n; *list; list += n + (list[n] == ','))
        if (!known_inner(op, list, n = strcspn(list, ",")))
            return false;
    return true;
}

static bool taken(const char *name, const ts_schedule *const *earlier, size_t n)
{
    bool found = ts_schedule_find(name) != NULL;
    for (int i = 0; ts_schedule_absent(i); i++)
        found |= strcmp(ts_schedule_absent(i)->name, name) == 0;
    for (size_t i = 0; i < n; i++)
        found |= strcmp(earlier[i]->name, name) == 0;
    return found;
}

static bool known_isa(const char *isa)
{
    for (int i = 0; isa && ts_isas[i].name; i++)
        if (strcmp(ts_isas[i].name, isa) == 0)
            return true;
    return !isa;
}

/* What it needs beside the call: TS_BAD if there is no such thing. */
static ts_status check_needs(const ts_schedule *s, const char *file, ts_error *err)
{
    const ts_packing *p = s->packing;
    if (strcmp(s->backend, "cpu") != 0)
        return ts_fail(err, TS_BAD, file, s->name, "backend '%.40s': there is only 'cpu'", s->backend);
    if (!known_isa(s->isa))
        return ts_fail(err, TS_BAD, file, s->name, "isa '%.40s' is none of this architecture's", s->isa);
    if (p && (!p->name || !p->name[0] || !p->size || !p->pack || p->rows <= 0))
        return ts_fail(err, TS_BAD, file, s->name, "a packing must have a name, rows above 0, size and pack");
    return TS_OK;
}

ts_status ts_plugin_check(const ts_schedule *s, const ts_schedule *const *earlier, size_t n, const char *file,
                          ts_error *err)
{
    if (!s->name || !good_name(s->name))
        return ts_fail(err, TS_BAD, file, "name", "a schedule's name has 1 to 39 letters, digits and . _ -");
    if (taken(s->name, earlier, n))
        return ts_fail(err, TS_BAD, file, s->name, "another schedule has this name");
    if ((unsigned)s->op >= TS_OP_COUNT)
        return ts_fail(err, TS_BAD, file, s->name, "operation %d: there are 0 to %d", (int)s->op, TS_OP_COUNT - 1);
    const ts_op *op = &ts_op_table[s->op];
    size_t length = strlen(op->name);
    if (strncmp(s->name, op->name, length) != 0 || s->name[length] != '.')
        return ts_fail(err, TS_BAD, file, s->name, "the name of a schedule of %s starts with '%s.'", op->name,
                       op->name);
    if (!s->backend || !s->shapes || !s->order || !s->profile || !s->exposes || !s->run)
        return ts_fail(err, TS_BAD, file, s->name,
                       "backend, shapes, order, profile, exposes and run must be given");
    if (strcmp(s->order, op->order) != 0)
        return ts_fail(err, TS_BAD, file, s->name, "order '%.40s', but %s is defined in order '%s'", s->order,
                       op->name, op->order);
    if (strcmp(s->profile, "any") != 0 && !ts_profile_find(s->profile))
        return ts_fail(err, TS_BAD, file, s->name, "profile '%.40s' is neither 'any' nor a profile", s->profile);
    if (!good_exposes(op, s->exposes))
        return ts_fail(err, TS_BAD, file, s->name, "exposes '%.40s': not inner tensors of %s", s->exposes,
                       op->name);
    return check_needs(s, file, err);
}

static ts_status add_schedules(const ts_schedule *const *list, const char *path, ts_plugins *out, ts_error *err)
{
    for (size_t i = 0; list[i]; i++) {
        if (out->schedules == TS_MAX_PLUGIN_SCHEDULES)
            return ts_fail(err, TS_BAD, path, "ts_plugin_schedules", "no NULL behind the last, or more than %d",
                           TS_MAX_PLUGIN_SCHEDULES);
        ts_status s = ts_plugin_check(list[i], out->schedule, out->schedules, path, err);
        if (s)
            return s;
        out->schedule[out->schedules++] = list[i];
    }
    return list[0] ? TS_OK : ts_fail(err, TS_BAD, path, "ts_plugin_schedules", "there is no schedule in it");
}

static ts_status add(const char *path, ts_plugins *out, ts_error *err)
{
    const void *abi, *list;
    void **library = &out->library[out->n];
    ts_status s = ts_dynamic_open(path, library, err);
    if (s)
        return s;
    out->n++;
    s = ts_dynamic_object(*library, path, "ts_plugin_abi", &abi, err);
    if (s)
        return s;
    uint32_t have;
    memcpy(&have, abi, sizeof have);
    if (have != TS_PLUGIN_ABI)
        return ts_fail(err, TS_BAD, path, "ts_plugin_abi",
                       "%u, but this touchstone has %u: compile it with its touchstone.h", (unsigned)have,
                       (unsigned)TS_PLUGIN_ABI);
    s = ts_dynamic_object(*library, path, "ts_plugin_schedules", &list, err);
    return s ? s : add_schedules(list, path, out, err);
}

typedef struct {
    const char *path;
    ts_plugins plugins;
} attempt;

static void try_add(void *context)
{
    attempt *a = context;
    add(a->path, &a->plugins, NULL);
}

/* A truncated file is a bus error in dlopen, and a constructor may do anything. */
static ts_status try_first(const char *path, const ts_plugins *so_far, ts_error *err)
{
    attempt a = {path, *so_far};
    char text[128];
    if (ts_rehearse(try_add, &a, 20, text, sizeof text))
        return ts_fail(err, TS_BAD, path, NULL, "loading it %s", text);
    return TS_OK;
}

static ts_status open_all(const char *const *path, size_t n, ts_plugins *out, ts_error *err)
{
    ts_status s = TS_OK;
    for (size_t i = 0; !s && i < n; i++) {
        s = out->n < TS_MAX_PLUGINS ? try_first(path[i], out, err)
                                    : ts_fail(err, TS_BAD, path[i], NULL, "more than %d plugins", TS_MAX_PLUGINS);
        if (!s)
            s = add(path[i], out, err);
    }
    return s;
}

/* What constructors print goes to standard error: standard output is for the report. */
ts_status ts_plugins_open(const char *const *path, size_t n, ts_plugins *out, ts_error *err)
{
    memset(out, 0, sizeof *out);
    fflush(stdout);
    int report = dup(STDOUT_FILENO);
    if (report < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return ts_fail(err, TS_BAD, "stdout", NULL, "%s", strerror(errno));
    ts_status s = open_all(path, n, out, err);
    fflush(stdout);
    dup2(report, STDOUT_FILENO);
    close(report);
    return s;
}
