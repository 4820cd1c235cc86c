/* ChatML prompts, as the chat template of Qwen3.5 and later renders one user turn without tools. */
#ifndef TS_TOOLS_CHAT_H
#define TS_TOOLS_CHAT_H

#include <stdbool.h>
#include "num/status.h"

/* The prompt, malloc'd: `system` (NULL: none) and `user` trimmed of white space, then the assistant's turn with
 * an open <think>, or, without `think`, an empty one. TS_BAD for a message that is a tool's response, in which
 * the template sees no question. */
ts_status ts_chat_render(const char *system, const char *user, bool think, char **out, ts_error *err);

#endif
