// npm `openai`: its stream() accumulator, and what its events add up to.
"use strict";
const OpenAI = require("openai");
const { fetchFor, main } = require("./common.cjs");

main(async (job) => {
  const client = new OpenAI({
    apiKey: "none",
    baseURL: job.base + "/v1",
    fetch: fetchFor(job),
    maxRetries: 0,
  });
  const { messages, model, ...rest } = job.ask;
  const stream = client.chat.completions.stream({ messages, model, ...rest });
  let content = "";
  let events = 0;
  const calls = [];
  stream.on("content", (delta) => (content += delta));
  stream.on("chunk", () => events++);
  stream.on("tool_calls.function.arguments.done", (call) =>
    calls.push({ index: call.index, name: call.name, arguments: call.arguments }));
  const completion = await stream.finalChatCompletion();
  return { completion, content, calls, events };
});
