// npm `openai` and Vercel's `ai` at weir's routes: what an application that uses them is given, or
// what they throw. Jobs and results are those of ../python/more_clients.py, with the job's `library`.
"use strict";
const OpenAI = require("openai");
const { zodResponseFormat } = require("openai/helpers/zod");
const { generateObject, generateText, streamText, tool } = require("ai");
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");
const { z } = require("zod");
const { main } = require("./common.cjs");

const CONTACT = z.object({ name: z.string(), mail: z.string() });
const TO = { type: "object", properties: { to: { type: "string" } }, required: ["to"] };
const TOOL = { type: "function", function: { name: "send", description: "Sends a message.", parameters: TO } };

/** What was thrown, and what a stream had said before. Some of `ai`'s errors are the event as it came. */
function raised(error, said = null) {
  if (!(error instanceof Error)) return { class: typeof error, status: null, words: JSON.stringify(error), said };
  const name = error.name.startsWith("AI_") ? error.name : error.constructor.name;
  return { class: name, status: error.status ?? error.statusCode ?? null, words: error.message, said };
}

/** The texts of a stream together. */
async function gather(pieces) {
  let said = "";
  try {
    for await (const piece of pieces) said += piece ?? "";
  } catch (error) {
    return raised(error, said);
  }
  return { said };
}

async function* texts(stream) {
  for await (const event of stream) yield event.choices[0]?.delta?.content;
}

async function openai(job) {
  const client = new OpenAI({ apiKey: job.key, baseURL: job.base, maxRetries: 0 });
  const ask = { model: job.model, messages: [{ role: "user", content: job.text }], ...job.extra };
  const { completions } = client.chat;
  if (job.call === "stream") return gather(texts(await completions.create({ ...ask, stream: true })));
  if (job.call === "json") {
    const format = zodResponseFormat(CONTACT, "contact");
    const { message } = (await completions.parse({ ...ask, response_format: format })).choices[0];
    return { said: message.parsed, refusal: message.refusal };
  }
  if (job.call === "tools") ask.tools = [TOOL];
  const { message, finish_reason: finish } = (await completions.create(ask)).choices[0];
  if (message.tool_calls) return { said: JSON.parse(message.tool_calls[0].function.arguments) };
  return { said: message.content, refusal: message.refusal, finish };
}

/** The provider sends no members it does not know: they are added on the way. */
function adding(extra) {
  return (url, init) =>
    fetch(url, { ...init, body: JSON.stringify({ ...JSON.parse(init.body), ...extra }) });
}

async function* parts(stream) {
  for await (const part of stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") yield part.text;
  }
}

async function ai(job) {
  const provider = createOpenAICompatible({
    name: "weir", apiKey: job.key, baseURL: job.base, fetch: adding(job.extra),
    supportsStructuredOutputs: true,
  });
  const options = { model: provider.chatModel(job.model), prompt: job.text, maxRetries: 0 };
  if (job.call === "stream") return gather(parts(streamText({ ...options, onError() {} }).fullStream));
  if (job.call === "json") return { said: (await generateObject({ ...options, schema: CONTACT })).object };
  if (job.call === "tools") {
    options.tools = { send: tool({ description: "Sends a message.", inputSchema: z.object({ to: z.string() }) }) };
  }
  const result = await generateText(options);
  if (result.toolCalls.length > 0) return { said: result.toolCalls[0].input };
  return { said: result.text, finish: result.finishReason.replace("-", "_") };
}

async function run(job) {
  try {
    return await (job.library === "ai (npm)" ? ai(job) : openai(job));
  } catch (error) {
    return raised(error);
  }
}

main(run);
