// Vercel's `ai` on its providers for OpenAI, whose default is Responses, and for Anthropic: texts,
// streams, objects and tool calls. A job is {base, provider, way, model, prompt}.
"use strict";
const { generateObject, generateText, jsonSchema, streamObject, streamText, tool } = require("ai");
const { createAnthropic } = require("@ai-sdk/anthropic");
const { createOpenAI } = require("@ai-sdk/openai");
const { main } = require("./common.cjs");

globalThis.AI_SDK_LOG_WARNINGS = false; // they go to standard output

const make = { openai: createOpenAI, anthropic: createAnthropic };
const person = jsonSchema({
  type: "object",
  properties: { name: { type: "string" }, mail: { type: "string" } },
  required: ["name", "mail"],
  additionalProperties: false,
});
const tools = {
  look: tool({ description: "Looks", inputSchema: jsonSchema({ type: "object", properties: { a: { type: "string" } } }) }),
};

const callsOf = (calls) => calls.map((call) => ({ name: call.toolName, input: call.input }));

const ways = {
  async text(asked) {
    const got = await generateText({ ...asked, tools });
    return { text: got.text, reasoning: got.reasoningText ?? "", calls: callsOf(got.toolCalls), finish: got.finishReason };
  },
  /** What its parts say, and what it says it was in the end. */
  async stream(asked) {
    const got = { deltas: "", reasoned: "", errors: [] };
    const result = streamText({ ...asked, tools, onError: () => {} });
    for await (const part of result.fullStream) {
      if (part.type === "text-delta") got.deltas += part.text;
      if (part.type === "reasoning-delta") got.reasoned += part.text;
      if (part.type === "error") got.errors.push(String(part.error?.message ?? part.error));
    }
    if (got.errors.length) return got;
    return {
      ...got,
      text: await result.text,
      reasoning: (await result.reasoningText) ?? "",
      calls: callsOf(await result.toolCalls),
      finish: await result.finishReason,
    };
  },
  async object(asked) {
    return { object: (await generateObject({ ...asked, schema: person })).object };
  },
  async streamObject(asked) {
    const result = streamObject({ ...asked, schema: person, onError: () => {} });
    let last;
    for await (const part of result.partialObjectStream) last = part;
    return { last, object: await result.object };
  },
};

main((job) => {
  const provider = make[job.provider]({ apiKey: "none", baseURL: job.base + "/v1" });
  return ways[job.way]({ model: provider(job.model), prompt: job.prompt ?? "Hi", maxRetries: 0 });
});
