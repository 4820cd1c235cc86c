#include <stdio.h>
#include <string.h>

#include "inspect.h"

enum { COLUMNS = 12, WIDEST = 64 };

static void value_text(const cJSON *v, char *out, size_t size)
{
    char *text = cJSON_IsString(v) ? NULL : cJSON_PrintUnformatted(v);
    snprintf(out, size, "%s", cJSON_IsString(v) ? v->valuestring : text ? text : "?");
    cJSON_free(text);
}

/* A list of objects: a line each, as wide as its widest cells; rows may lack cells. */
static void print_table(const cJSON *list)
{
    int width[COLUMNS] = {0};
    char cell[512];
    for (const cJSON *row = list->child; row; row = row->next) {
        int n = 0;
        for (const cJSON *v = row->child; v && n < COLUMNS; v = v->next, n++) {
            value_text(v, cell, sizeof cell);
            int len = (int)strlen(cell);
            width[n] = len > width[n] ? len < WIDEST ? len : WIDEST : width[n];
        }
    }
    for (const cJSON *row = list->child; row; row = row->next) {
        int n = 0;
        for (const cJSON *v = row->child; v && n < COLUMNS; v = v->next, n++) {
            value_text(v, cell, sizeof cell);
            const char *label = n >= 1 && (cJSON_IsNumber(v) || cJSON_IsRaw(v)) ? v->string : "";
            printf("  %s%s%*s", label, *label ? " " : "", v->next ? n < 2 ? -width[n] : width[n] : 0, cell);
        }
        putchar('\n');
    }
}

static void print_members(const cJSON *o, int depth)
{
    char text[4096];
    for (const cJSON *v = o->child; v; v = v->next) {
        if (cJSON_IsArray(v) && cJSON_IsObject(v->child)) {
            printf("%*s%s\n", 2 * depth, "", v->string);
            print_table(v);
        } else if (cJSON_IsObject(v)) {
            if (v->child)
                printf("%*s%s\n", 2 * depth, "", v->string);
            if (depth < 3)
                print_members(v, depth + 1);
        } else if (strcmp(v->string, "schema") != 0 || depth > 0) {
            value_text(v, text, sizeof text);
            printf("%*s%s: %s\n", 2 * depth, "", v->string, text);
        }
    }
}

void ts_inspect_print(const cJSON *o)
{
    print_members(o, 0);
}
