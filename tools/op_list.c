#include "op_list.h"

#include <stdio.h>
#include <string.h>

#include "case/op.h"
#include "tool.h"

static const char *const role_name[] = {"in", "in and out", "out", "inner"};
static const char *const kind_name[] = {"real", "i8", "i32", "matrix", "kv pool"};

static void shape_text(const ts_field *f, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < 4 && f->dim[i] && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? "," : "", f->dim[i]);
    if (n < size)
        snprintf(out + n, size - n, "]");
}

/* "+pos ?both Hv%Hk": " (pos may be 0, both may be 0 or left out, Hk divides Hv)" */
static void print_rules(const char *rules)
{
    for (const char *p = rules; *p; p += strspn(p, " ")) {
        int n = (int)strcspn(p, " "), left = (int)strcspn(p, "%");
        printf(p == rules ? " (" : ", ");
        if (*p == '+' || *p == '?')
            printf("%.*s may be 0%s", n - 1, p + 1, *p == '?' ? " or left out" : "");
        else if (left < n)
            printf("%.*s divides %.*s", n - left - 1, p + left + 1, left, p);
        else
            printf("%.*s", n, p);
        p += n;
    }
    puts(*rules ? ")" : "");
}

static void print_op(const ts_op *op)
{
    char shape[96];
    printf("%s, order %s, version %d%s\n  dims  ", op->name, op->order, op->version,
           op->ref_only ? ", reference only" : "");
    for (int i = 0; i < TS_MAX_OP_DIMS && op->dim[i].name; i++)
        printf(" %s", op->dim[i].name);
    print_rules(op->rules);
    if (op->param[0].name)
        printf("  params");
    for (int i = 0; i < TS_MAX_PARAMS && op->param[i].name; i++)
        printf(" %s%s", op->param[i].name, i + 1 == TS_MAX_PARAMS || !op->param[i + 1].name ? "\n" : "");
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++) {
        const ts_field *f = &op->field[i];
        shape_text(f, shape, sizeof shape);
        printf("  %-8s %-10s %-7s %s\n", f->name, role_name[f->role], kind_name[f->kind], shape);
    }
}

static cJSON *to_json(const ts_op *op)
{
    char shape[96];
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "op", op->name);
    cJSON_AddStringToObject(o, "order", op->order);
    cJSON_AddNumberToObject(o, "version", op->version);
    cJSON *dims = cJSON_AddArrayToObject(o, "dims"), *params = cJSON_AddArrayToObject(o, "params");
    for (int i = 0; i < TS_MAX_OP_DIMS && op->dim[i].name; i++)
        cJSON_AddItemToArray(dims, cJSON_CreateString(op->dim[i].name));
    for (int i = 0; i < TS_MAX_PARAMS && op->param[i].name; i++)
        cJSON_AddItemToArray(params, cJSON_CreateString(op->param[i].name));
    cJSON_AddStringToObject(o, "rules", op->rules);
    cJSON_AddBoolToObject(o, "ref_only", op->ref_only);
    cJSON *fields = cJSON_AddArrayToObject(o, "fields");
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++) {
        const ts_field *f = &op->field[i];
        cJSON *e = cJSON_CreateObject();
        shape_text(f, shape, sizeof shape);
        cJSON_AddStringToObject(e, "name", f->name);
        cJSON_AddStringToObject(e, "role", role_name[f->role]);
        cJSON_AddStringToObject(e, "dtype", kind_name[f->kind]);
        cJSON_AddStringToObject(e, "shape", shape);
        cJSON_AddItemToArray(fields, e);
    }
    return o;
}

int ts_op_list(bool json)
{
    cJSON *o = json ? ts_tool_json() : NULL, *list = cJSON_AddArrayToObject(o, "operations");
    for (int i = 0; i < TS_OP_COUNT; i++)
        if (json)
            cJSON_AddItemToArray(list, to_json(&ts_op_table[i]));
        else
            print_op(&ts_op_table[i]);
    return json ? ts_tool_print(o, TS_OK) : ts_tool_flush(false);
}
