/*
 * The APIs that a route serves: how each is asked, what its events say, and the same request by the
 * clients people have. A dialect's `take` fills in the run that is shown (stream.js).
 */

const MOST_TOKENS = 1000; /* Messages want to be told */

/** A finding's place: which text it is in, and where the part of that text begins. */
function placeAt(r, name, channel) {
  const isThought = /^(reasoning|thinking|summary)/.test(channel ?? "");
  const isText = [undefined, "content", "text"].includes(channel);
  return { channel: isThought ? "reasoning" : isText ? undefined : channel, offset: r.starts[name] ?? 0 };
}

function beginPart(r, name, isThought) {
  r.starts[name] = (isThought ? r.thoughts : r.points).length;
  if (!isThought) r.lastPiece = r.points.length;
}

/** What was said last is what was said instead of an answer. */
function takeBlock(r, words) {
  r.isBlocked = true;
  r.fallback = r.points.splice(r.lastPiece).join("") || words;
}

/** The last event tells of everything that was found, also of what rode on earlier ones. */
function takeLast(r, detections, placeOf) {
  if (!detections) return;
  r.findings = [];
  takeDetections(r, { output: detections.output, input: r.inputFindings.length > 0 ? [] : detections.input }, placeOf);
}

/* ---- chat completions ---- */

function takeChoice(r, choice) {
  const delta = choice.delta ?? {};
  if (typeof delta.content === "string" && delta.content !== "") {
    r.lastPiece = r.points.length;
    addText(r.points, delta.content);
  }
  for (const name of ["reasoning", "reasoning_content"]) {
    if (typeof delta[name] === "string") addText(r.thoughts, delta[name]);
  }
  if (typeof delta.refusal === "string") r.refusal += delta.refusal;
  if (choice.finish_reason === "content_filter" && r.request.route !== null && !r.isBlocked) {
    r.isBlocked = true;
    r.fallback = r.refusal || r.points.splice(r.lastPiece).join("");
  }
}

function takeChat(r, event) {
  if (event.detections) takeDetections(r, event.detections, (entry) => ({ channel: entry.channel, offset: 0 }));
  for (const choice of event.choices ?? []) takeChoice(r, choice);
}

/* ---- Anthropic's Messages ---- */

function takeMessage(r, event) {
  const placeOf = (entry) => placeAt(r, entry.index, entry.channel);
  const delta = event.delta ?? {};
  if (event.type === "message_delta") takeLast(r, event.detections, placeOf);
  else if (event.detections) takeDetections(r, event.detections, placeOf);
  if (event.type === "content_block_start") beginPart(r, event.index, event.content_block.type === "thinking");
  if (typeof delta.text === "string") addText(r.points, delta.text);
  if (typeof delta.thinking === "string") addText(r.thoughts, delta.thinking);
  if (delta.stop_reason === "refusal") takeBlock(r, delta.stop_details?.explanation ?? "");
}

/* ---- OpenAI's Responses ---- */

function takeResponse(r, event) {
  const nameOf = (where) => `${where.output_index}.${where.content_index ?? where.summary_index ?? 0}`;
  const placeOf = (entry) => placeAt(r, nameOf(entry), entry.channel);
  const [, stem, step] = /^response\.(.*)\.(\w+)$/.exec(event.type) ?? [];
  const isThought = /^reasoning/.test(stem ?? "") || event.part?.type === "reasoning_text";
  if (step === "added" && event.part !== undefined) beginPart(r, nameOf(event), isThought);
  if (event.detections) takeDetections(r, event.detections, placeOf);
  if (step === "delta" && typeof event.delta === "string") {
    if (isThought) addText(r.thoughts, event.delta);
    else if (stem === "output_text" || stem === "refusal") addText(r.points, event.delta);
  }
  if (!["response.completed", "response.incomplete", "response.failed"].includes(event.type)) return;
  takeLast(r, event.response.detections, placeOf);
  if (event.response.incomplete_details?.reason === "content_filter") takeBlock(r, "");
  if (event.type === "response.failed") r.error = event.response.error?.message ?? "The response failed.";
}

/* ---- snippets ---- */

function pythonClient(name, package_, base, hasKey) {
  return [
    ...(hasKey ? ["import os", ""] : []),
    `from ${package_} import ${name}`,
    "",
    `client = ${name}(`,
    `    base_url=${JSON.stringify(base)},`,
    `    api_key=${hasKey ? 'os.environ["WEIR_API_KEY"]' : '"none"'},`,
    ")",
  ];
}

function scriptClient(name, package_, base, hasKey) {
  return [
    `import ${name} from "${package_}";`,
    "",
    `const client = new ${name}({`,
    `  baseURL: ${JSON.stringify(base)},`,
    `  apiKey: ${hasKey ? "process.env.WEIR_API_KEY" : '"none"'},`,
    "});",
  ];
}

/** Each takes {base, model, prompt, hasKey}. The key stands where keys belong. */
const DIALECTS = {
  chat: {
    label: "Chat completions",
    path: "/chat/completions",
    body: (model, messages) => ({ model, stream: true, messages }),
    take: takeChat,
    base: (base) => base,
    python: ({ base, model, prompt, hasKey }) => [
      ...pythonClient("OpenAI", "openai", base, hasKey),
      "stream = client.chat.completions.create(",
      `    model=${JSON.stringify(model)},`,
      `    messages=[{"role": "user", "content": ${JSON.stringify(prompt)}}],`,
      "    stream=True,",
      ")",
      "for event in stream:",
      "    for choice in event.choices:",
      '        print(choice.delta.content or "", end="", flush=True)',
    ],
    javascript: ({ base, model, prompt, hasKey }) => [
      ...scriptClient("OpenAI", "openai", base, hasKey),
      "const stream = await client.chat.completions.create({",
      `  model: ${JSON.stringify(model)},`,
      `  messages: [{ role: "user", content: ${JSON.stringify(prompt)} }],`,
      "  stream: true,",
      "});",
      "for await (const event of stream) {",
      '  process.stdout.write(event.choices[0]?.delta?.content ?? "");',
      "}",
    ],
  },
  responses: {
    label: "OpenAI Responses",
    path: "/responses",
    body: (model, messages) => ({ model, stream: true, input: messages }),
    take: takeResponse,
    base: (base) => base,
    python: ({ base, model, prompt, hasKey }) => [
      ...pythonClient("OpenAI", "openai", base, hasKey),
      `stream = client.responses.create(`,
      `    model=${JSON.stringify(model)},`,
      `    input=${JSON.stringify(prompt)},`,
      "    stream=True,",
      ")",
      "for event in stream:",
      '    if event.type == "response.output_text.delta":',
      '        print(event.delta, end="", flush=True)',
    ],
    javascript: ({ base, model, prompt, hasKey }) => [
      ...scriptClient("OpenAI", "openai", base, hasKey),
      "const stream = await client.responses.create({",
      `  model: ${JSON.stringify(model)},`,
      `  input: ${JSON.stringify(prompt)},`,
      "  stream: true,",
      "});",
      "for await (const event of stream) {",
      '  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);',
      "}",
    ],
  },
  messages: {
    label: "Anthropic Messages",
    path: "/messages",
    body: (model, messages) => ({ model, max_tokens: MOST_TOKENS, stream: true, messages }),
    take: takeMessage,
    base: (base) => base.replace(/\/v1$/, "") /* its clients add /v1 themselves */,
    python: ({ base, model, prompt, hasKey }) => [
      ...pythonClient("Anthropic", "anthropic", base, hasKey),
      "with client.messages.stream(",
      `    model=${JSON.stringify(model)},`,
      `    max_tokens=${MOST_TOKENS},`,
      `    messages=[{"role": "user", "content": ${JSON.stringify(prompt)}}],`,
      ") as stream:",
      "    for text in stream.text_stream:",
      '        print(text, end="", flush=True)',
    ],
    javascript: ({ base, model, prompt, hasKey }) => [
      ...scriptClient("Anthropic", "@anthropic-ai/sdk", base, hasKey),
      "const stream = client.messages.stream({",
      `  model: ${JSON.stringify(model)},`,
      `  max_tokens: ${MOST_TOKENS},`,
      `  messages: [{ role: "user", content: ${JSON.stringify(prompt)} }],`,
      "});",
      'stream.on("text", (text) => process.stdout.write(text));',
      "await stream.done();",
    ],
  },
};
