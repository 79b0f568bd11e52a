// npm `@anthropic-ai/sdk`: the stream as it is, its accumulator with its listeners, and a whole
// message. A job is {base, way, ask}.
"use strict";
const Anthropic = require("@anthropic-ai/sdk");
const { main } = require("./common.cjs");

const ways = {
  async create(client, ask) {
    return { message: await client.messages.create(ask) };
  },
  /** Every event; what deltas say, by block. */
  async events(client, ask) {
    const got = { events: [], blocks: [] };
    for await (const event of await client.messages.create({ ...ask, stream: true })) {
      got.events.push(event.type);
      if (event.type === "content_block_start") got.blocks.push("");
      const delta = event.delta ?? {};
      if (event.type === "content_block_delta")
        got.blocks[event.index] += delta.text ?? delta.thinking ?? delta.partial_json ?? "";
    }
    return got;
  },
  /** Its text by listener, in its message's blocks, and as it says it in the end. */
  async stream(client, ask) {
    const got = { text: "", thinking: "", inputs: [], blocks: 0 };
    const stream = client.messages.stream(ask);
    stream.on("text", (delta) => (got.text += delta));
    stream.on("thinking", (delta) => (got.thinking += delta));
    stream.on("inputJson", (_, snapshot) => (got.inputs[0] = snapshot));
    stream.on("contentBlock", () => got.blocks++);
    got.message = await stream.finalMessage();
    got.final = got.message.content.some((block) => block.type === "text") ? await stream.finalText() : "";
    return got;
  },
};

main((job) => {
  const client = new Anthropic({ apiKey: "none", baseURL: job.base, maxRetries: 0 });
  return ways[job.way](client, job.ask);
});
