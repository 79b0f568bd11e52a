#ifndef WEIR_TALK_OPENAI_H
#define WEIR_TALK_OPENAI_H

#include "talk/dialect.h"

/* Inside the dialects of OpenAI: reading (openai_read.c), writing (openai_write.c). */
void weir_openai_write_event(const struct weir_talk_out *e, struct weir_buf *out);
void weir_openai_write_choice(const struct weir_talk_out *e, struct weir_buf *out);
void weir_openai_write_answer(const struct weir_talk_out *e, struct weir_buf *out);
void weir_openai_write_event_of_text(const struct weir_talk_out *e, struct weir_buf *out);
void weir_openai_write_choice_of_text(const struct weir_talk_out *e, struct weir_buf *out);

#endif
