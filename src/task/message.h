#ifndef WEIR_TASK_MESSAGE_H
#define WEIR_TASK_MESSAGE_H

#include "task/completion.h"
#include "task/out.h"

/*
 * A message of Anthropic's API (talk/messages.h) on a route: the question is looked at as that of a
 * completion, the answer is a row of blocks (task/row.h). `request` is copied.
 *
 *             text, thinking       tool calls       other blocks       citations
 *   annotate  leave with findings  all leave, and findings are told at the end
 *   redact    leave, replaced      leave, replaced  finding: ends it   finding: left out
 *   block     a finding ends the answer, wherever it is
 *
 * Thinking is signed: where it cannot be replaced so that the caller can send it back, a finding in
 * it ends the answer on `redact`, too.
 */
void weir_task_message_start(struct weir_task_ctx *task, const struct weir_task_completion *request,
                             weir_task_done_fn done, void *ctx);
void weir_message_stream_start(struct weir_task_ctx *task,
                               const struct weir_task_completion *request, struct weir_out *out);

#endif
