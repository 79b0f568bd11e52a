// Vercel's `ai` on its provider for OpenAI-compatible servers: streamText, every part of it.
"use strict";
const { streamText, jsonSchema, tool } = require("ai");
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");
const { fetchFor, main } = require("./common.cjs");

/** The request's tools, in this library's words. */
function toolsOf(asked) {
  const tools = {};
  for (const { function: f } of asked ?? []) {
    const schema = jsonSchema(f.parameters ?? { type: "object" });
    tools[f.name] = tool({ description: f.description, inputSchema: schema });
  }
  return tools;
}

main(async (job) => {
  const provider = createOpenAICompatible({
    name: "weir",
    apiKey: "none",
    baseURL: job.base + "/v1",
    includeUsage: true,
    fetch: fetchFor(job),
  });
  const { messages, model, tools } = job.ask;
  const result = streamText({
    model: provider.chatModel(model),
    messages,
    tools: toolsOf(tools),
    maxRetries: 0,
    onError: () => {},
  });
  const got = { text: "", reasoning: "", calls: [], inputs: {}, errors: [], deltas: 0 };
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") {
      got.text += part.text;
      got.deltas++;
    } else if (part.type === "reasoning-delta") {
      got.reasoning += part.text;
    } else if (part.type === "tool-input-delta") {
      got.inputs[part.id] = (got.inputs[part.id] ?? "") + part.delta;
    } else if (part.type === "tool-call") {
      got.calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
    } else if (part.type === "error") {
      got.errors.push(String(part.error?.message ?? part.error));
    } else if (part.type === "finish") {
      got.finish = part.finishReason;
      got.usage = part.totalUsage;
    }
  }
  return got;
});
