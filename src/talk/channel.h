#ifndef WEIR_TALK_CHANNEL_H
#define WEIR_TALK_CHANNEL_H

/*
 * Where an answer can say something. Every channel of a choice is a text of its own.
 */
#define WEIR_CHANNEL_MAP(X)                                                                        \
    X(CONTENT, "content")                                                                          \
    X(REASONING, "reasoning")                                                                      \
    X(REASONING_CONTENT, "reasoning_content")                                                      \
    X(REFUSAL, "refusal")                                                                          \
    X(TRANSCRIPT, "audio.transcript")

enum weir_channel {
#define WEIR_CHANNEL_ENUM(name, text) WEIR_CHANNEL_##name,
    WEIR_CHANNEL_MAP(WEIR_CHANNEL_ENUM)
#undef WEIR_CHANNEL_ENUM
        WEIR_CHANNEL_TEXTS,                  /* how many of them there are */
    WEIR_CHANNEL_TOOLS = WEIR_CHANNEL_TEXTS, /* names and arguments of tool calls */
    WEIR_CHANNEL_WHOLE,                      /* a detector that looks at the whole exchange */
};

/* As it is named in answers. */
static inline const char *weir_channel_name(enum weir_channel channel)
{
    static const char *const names[] = {
#define WEIR_CHANNEL_NAME(name, text) text,
        WEIR_CHANNEL_MAP(WEIR_CHANNEL_NAME)
#undef WEIR_CHANNEL_NAME
            "tool_calls",
        "content",
    };
    return names[channel];
}

#endif
