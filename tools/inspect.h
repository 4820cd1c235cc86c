/* What touchstone inspect finds out, as one JSON object that is printed as such or as text. */
#ifndef TS_TOOLS_INSPECT_H
#define TS_TOOLS_INSPECT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include "config/config.h"
#include "num/dtype.h"

/* Each adds its members to `o`, "what" first. */
ts_status ts_inspect_model(const char *dir, cJSON *o, ts_error *err);
ts_status ts_inspect_safetensors(const char *path, bool stats, cJSON *o, ts_error *err);
/* A tokenizer.json, a config.json, a shard index or a case. TS_BAD for JSON of another kind. */
ts_status ts_inspect_json(const char *path, cJSON *o, ts_error *err);

void ts_inspect_config(const ts_config *c, cJSON *o);
/* Members line by line, lists of objects as tables. */
void ts_inspect_print(const cJSON *o);

#endif
