#include "override.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "config/quant.h"

static ts_status check(ts_affine k, const char *bits_of, const char *group_of, ts_error *err)
{
    if (!ts_quant_bits_ok(k.bits))
        return ts_fail(err, TS_USAGE, NULL, bits_of, "%d is none of 2, 3, 4, 5, 6, 8", k.bits);
    if (!ts_quant_group_ok(k.group))
        return ts_fail(err, TS_USAGE, NULL, group_of, "%d is none of 32, 64, 128", k.group);
    return TS_OK;
}

/* "BITS", "BITS:GROUP" or "none" */
static bool parse_kind(char *text, ts_affine *kind)
{
    int64_t bits = 0, group = kind->group;
    char *colon = strchr(text, ':');
    if (strcmp(text, "none") == 0) {
        kind->bits = 0;
        return true;
    }
    if (colon)
        *colon = '\0';
    if (!ts_parse_int(text, 1, 64, &bits) || (colon && !ts_parse_int(colon + 1, 1, 1 << 20, &group)))
        return false;
    *kind = (ts_affine){(int)bits, (int)group};
    return true;
}

/* One "PATTERN=KIND" of n bytes; the last "=" counts. */
static ts_status read_one(const char *text, size_t n, ts_overrides *o, ts_error *err)
{
    char copy[TS_PATTERN];
    if (n >= sizeof copy)
        return ts_fail(err, TS_USAGE, NULL, "--override", "longer than %d bytes: '%.60s...'", TS_PATTERN - 1, text);
    if (o->n == TS_MAX_OVERRIDES)
        return ts_fail(err, TS_USAGE, NULL, "--override", "more than %d patterns", TS_MAX_OVERRIDES);
    memcpy(copy, text, n);
    copy[n] = '\0';
    char *equals = strrchr(copy, '=');
    ts_affine kind = o->all;
    if (equals)
        *equals = '\0';
    if (!equals || equals == copy || !parse_kind(equals + 1, &kind))
        return ts_fail(err, TS_USAGE, NULL, "--override", "'%.*s' is not PATTERN=BITS[:GROUP] or PATTERN=none",
                       (int)n, text);
    strcpy(o->own[o->n].pattern, copy);
    o->own[o->n++].kind = kind;
    return kind.bits ? check(kind, "--override", "--override", err) : TS_OK;
}

ts_status ts_overrides_read(ts_affine all, const ts_option_list *texts, ts_overrides *out, ts_error *err)
{
    *out = (ts_overrides){.all = all};
    ts_status status = check(all, "--bits", "--group", err);
    for (size_t i = 0; i < texts->n; i++)
        for (const char *p = texts->text[i]; !status; p++) {
            size_t n = strcspn(p, ",");
            status = read_one(p, n, out, err);
            p += n;
            if (*p == '\0')
                break;
        }
    return status;
}

static bool matches(const char *pattern, const char *module)
{
    return fnmatch(pattern, module, 0) == 0 || fnmatch(pattern, ts_quant_plain(module), 0) == 0;
}

bool ts_overrides_find(ts_overrides *o, const char *module, ts_affine *out)
{
    bool found = false;
    *out = o->all;
    for (size_t i = 0; i < o->n; i++)
        if (matches(o->own[i].pattern, module)) {
            o->own[i].used = found = true;
            *out = o->own[i].kind;
        }
    return found;
}

ts_status ts_overrides_check_used(const ts_overrides *o, ts_error *err)
{
    for (size_t i = 0; i < o->n; i++)
        if (!o->own[i].used)
            return ts_fail(err, TS_USAGE, NULL, "--override", "'%s' matches no module", o->own[i].pattern);
    return TS_OK;
}
