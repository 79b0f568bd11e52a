// npm `openai` and Vercel's `ai` at a route's own base URL, as anybody would use them: what they make
// of streams and of whole answers.
//
// A job is {base, client, call, ask, headers}: `base` is the URL up to /v1, `client` openai or ai,
// `call` stream or create.
"use strict";
const OpenAI = require("openai");
const { streamText, generateText } = require("ai");
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");
const { main } = require("./common.cjs");

async function openai(job) {
  const client = new OpenAI({
    apiKey: "none", baseURL: job.base, maxRetries: 0, defaultHeaders: job.headers,
  });
  if (job.call === "models") return { models: (await client.models.list()).data };
  const completion =
    job.call === "stream"
      ? await client.chat.completions.stream(job.ask).finalChatCompletion()
      : await client.chat.completions.create(job.ask);
  const [choice] = completion.choices;
  return { message: choice.message, finish: choice.finish_reason, usage: completion.usage ?? null };
}

/** The provider sends no members it does not know: they are added on the way. */
function adding(extra) {
  return (url, init) =>
    fetch(url, { ...init, body: JSON.stringify({ ...JSON.parse(init.body), ...extra }) });
}

async function ai(job) {
  const { model, messages, ...extra } = job.ask;
  const provider = createOpenAICompatible({
    name: "weir", apiKey: "none", baseURL: job.base, includeUsage: true, fetch: adding(extra),
    headers: job.headers,
  });
  const options = { model: provider.chatModel(model), messages, maxRetries: 0 };
  if (job.call === "create") {
    const result = await generateText(options);
    return { text: result.text, reasoning: result.reasoningText ?? "", finish: result.finishReason };
  }
  const got = { text: "", reasoning: "", finish: null, errors: [] };
  for await (const part of streamText({ ...options, onError: () => {} }).fullStream) {
    if (part.type === "text-delta") got.text += part.text;
    else if (part.type === "reasoning-delta") got.reasoning += part.text;
    else if (part.type === "finish") got.finish = part.finishReason;
    else if (part.type === "error") got.errors.push(String(part.error?.message ?? part.error));
  }
  return got;
}

main((job) => (job.client === "ai" ? ai(job) : openai(job)));
