#include <stdio.h>
#include <string.h>

#include "diff.h"
#include "tool.h"

enum { NEXT = 3 }; /* differing tensors named after the first */

/* What the two runs say they are; a difference here explains one below. */
static void print_runs(const ts_diff *d)
{
    static const char *const key[] = {"engine", "profile", "kv", "model_sha256", "ids", "decoded", "touchstone"};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        const char *a = ts_safetensors_meta(d->a, key[i]), *b = ts_safetensors_meta(d->b, key[i]);
        if (a && b && strcmp(a, b) != 0)
            printf("%s: %.70s against %.70s\n", key[i], a, b);
    }
}

static void print_names(const ts_diff *d, const char *what, bool in_a, size_t count)
{
    if (count == 0)
        return;
    printf("only in %s (%zu):", what, count);
    for (size_t i = 0; i < d->n; i++)
        if (in_a ? !d->entry[i].b : !d->entry[i].a)
            printf(" %s", d->entry[i].name);
    putchar('\n');
}

/* In full the first, in a line each what follows. */
static void print_differences(const ts_diff *d, int rows, bool all)
{
    size_t told = 0;
    for (size_t i = 0; i < d->n && (all || told <= NEXT); i++) {
        const ts_diff_entry *e = &d->entry[i];
        if (!e->a || !e->b || !e->differs)
            continue;
        if (told++ == 0) {
            printf("first difference: ");
            ts_compare_print(stdout, d->path_a, d->path_b, e->a, e->b, &e->c, rows);
        } else {
            printf("next: ");
            ts_compare_print_line(stdout, e->a, &e->c);
        }
    }
    if (told < d->differing)
        printf("and %zu more (--all)\n", d->differing - told);
}

void ts_diff_print(const ts_diff *d, int rows, bool all)
{
    print_runs(d);
    if (d->mixed)
        puts("F32 against F64: compared by value; elements count as different when they differ as f32");
    print_differences(d, rows, all);
    print_names(d, d->path_a, true, d->missing);
    print_names(d, d->path_b, false, d->extra);
    if (d->differing)
        printf("%zu of %zu tensors differ\n", d->differing, d->common);
    else
        printf("%zu tensors in both are identical%s\n", d->common, d->mixed ? " after rounding to f32" : "");
}

cJSON *ts_diff_json(const ts_diff *d)
{
    cJSON *o = ts_tool_json();
    cJSON_AddStringToObject(o, "a", d->path_a);
    cJSON_AddStringToObject(o, "b", d->path_b);
    cJSON_AddBoolToObject(o, "identical", d->differing + d->missing + d->extra == 0);
    cJSON_AddBoolToObject(o, "by_value", d->mixed);
    cJSON_AddNumberToObject(o, "tensors", (double)d->common);
    cJSON_AddNumberToObject(o, "differing", (double)d->differing);
    cJSON *missing = cJSON_AddArrayToObject(o, "missing"), *extra = cJSON_AddArrayToObject(o, "extra");
    cJSON *differences = cJSON_AddArrayToObject(o, "differences");
    for (size_t i = 0; i < d->n; i++) {
        const ts_diff_entry *e = &d->entry[i];
        if (!e->b)
            cJSON_AddItemToArray(missing, cJSON_CreateString(e->name));
        else if (!e->a)
            cJSON_AddItemToArray(extra, cJSON_CreateString(e->name));
        else if (e->differs || e->c.mixed)
            cJSON_AddItemToArray(differences, ts_compare_json(e->a, e->b, &e->c));
    }
    return o;
}
