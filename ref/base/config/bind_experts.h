/* Private to config/weights.c: the experts of a layer, however the file keeps them. */
#ifndef TS_CONFIG_BIND_EXPERTS_H
#define TS_CONFIG_BIND_EXPERTS_H

#include "config/bind.h"

/* prefix: of the layer's names, with the dot; C: hidden size. Fills expert_gate, _up and _down, malloc'd; left
 * NULL unless b->read. */
ts_status ts_bind_experts(ts_binder *b, const char *prefix, const ts_moe_config *m, int64_t C, ts_layer *out);

#endif
