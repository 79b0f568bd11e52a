// npm `openai` in Responses: the stream as it is, its accumulator, and a whole response.
// A job is {base, way, ask}.
"use strict";
const OpenAI = require("openai");
const { main } = require("./common.cjs");

const ways = {
  async create(client, ask) {
    const response = await client.responses.create(ask);
    return { text: response.output_text, status: response.status };
  },
  async events(client, ask) {
    const got = { deltas: "", done: "", events: [], numbers: [] };
    for await (const event of await client.responses.create({ ...ask, stream: true })) {
      got.events.push(event.type);
      got.numbers.push(event.sequence_number);
      if (event.type === "response.output_text.delta") got.deltas += event.delta;
      if (event.type === "response.output_text.done") got.done += event.text;
    }
    return got;
  },
  async stream(client, ask) {
    let deltas = "";
    const stream = client.responses.stream(ask);
    stream.on("response.output_text.delta", (event) => (deltas += event.delta));
    const response = await stream.finalResponse();
    const calls = response.output.filter((item) => item.type === "function_call");
    return { deltas, text: response.output_text, status: response.status, calls: calls.map((c) => c.arguments) };
  },
};

main((job) => {
  const client = new OpenAI({ apiKey: "none", baseURL: job.base + "/v1", maxRetries: 0 });
  return ways[job.way](client, job.ask);
});
