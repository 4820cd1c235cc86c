#include <stdio.h>
#include <string.h>

#include "case/table.h"
#include "check/check.h"
#include "format/json.h"
#include "num/sha256.h"

static void check_table(ts_check *k, const cJSON *tables, const ts_table *t)
{
    char hex[TS_SHA256_HEX], detail[256];
    ts_sha256(t->data, t->size, hex);
    ts_report_begin(k->report, "tables", t->name);
    const char *want = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(tables, t->name));
    snprintf(detail, sizeof detail, "sha256 of the table in this binary %s\nrecorded as %s\n", hex,
             want ? want : "nothing");
    bool same = want && strcmp(want, hex) == 0;
    ts_report_add(k->report, "tables.json", "", same ? TS_EXACT : TS_FAIL, 0, same ? NULL : detail);
}

void ts_check_tables(ts_check *k)
{
    char path[512];
    cJSON *json = NULL;
    ts_error err = {0};
    ts_check_path(k, "own/tables.json", path, sizeof path);
    ts_report_begin(k->report, "tables", "tables.json");
    ts_status s = ts_json_load(path, &json, &err);
    if (s) {
        ts_report_error(k->report, "tables.json", s, &err);
        return;
    }
    const cJSON *tables = cJSON_GetObjectItemCaseSensitive(json, "sha256");
    size_t n = 0;
    for (; ts_table_at(n); n++)
        check_table(k, tables, ts_table_at(n));
    if ((int)n != cJSON_GetArraySize(tables))
        ts_report_add(k->report, "tables.json", "", TS_FAIL, 0, "it names tables that this binary does not have\n");
    cJSON_Delete(json);
}
