/* Private to config: the head of multi-token prediction, wherever its tensors are. */
#ifndef TS_CONFIG_BIND_MTP_H
#define TS_CONFIG_BIND_MTP_H

#include "config/bind.h"

/* prefix: of Hugging Face's names ("mtp."); NULL: GGUF's, of block `number`. Fills head, whose ckpt stays NULL;
 * embedding and head are the target's unless a GGUF block has its own. */
ts_status ts_bind_mtp(ts_binder *b, const char *prefix, int64_t number, const ts_weights *target, ts_weights *head);

#endif
