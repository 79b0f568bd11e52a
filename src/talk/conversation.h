#ifndef WEIR_TALK_CONVERSATION_H
#define WEIR_TALK_CONVERSATION_H

#include "base/buf.h"
#include "talk/walk.h"

/*
 * The conversation of a request, as detectors of the type text_chat are shown it: messages of chat
 * completions. A request of that API has them; of other dialects everything that somebody says is
 * one, in its order, under the role that the walk gives it:
 *
 *   {"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"Hi"},…]}]}
 *   {"role":"system","content":"Be brief."},{"role":"user","content":"Hi\n…"}
 *
 * What nobody says (definitions, metadata) is left out. Appends messages with commas between them;
 * nothing: there is no conversation. `walk` is of `json`. Pure.
 */
void weir_conversation_write(const struct weir_json *json, const struct weir_walk *walk,
                             struct weir_buf *out);

/* The member of a request that has it: "messages", "prompt" or "input". */
const char *weir_conversation_member(const struct weir_json *json);

#endif
