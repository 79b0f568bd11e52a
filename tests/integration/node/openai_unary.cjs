// npm `openai` without streams, straight at `baseURL`: no fetch of our own, only the path in the
// request's options, and the members it does not know beside those it does.
//
// A job is {base, resource, path, ask}: `resource` is chat, text, or raw (the client's own post).
"use strict";
const OpenAI = require("openai");
const { main } = require("./common.cjs");

const CALLS = {
  chat: (client, job) => client.chat.completions.create(job.ask, { path: job.path }),
  text: (client, job) => client.completions.create(job.ask, { path: job.path }),
  raw: (client, job) => client.post(job.path, { body: job.ask }),
  // Reads the arguments of tool calls and structured answers as well.
  parse: (client, job) => client.chat.completions.parse(job.ask, { path: job.path }),
};

main(async (job) => {
  const client = new OpenAI({ apiKey: "none", baseURL: job.base, maxRetries: 0 });
  try {
    const { data, response } = await CALLS[job.resource](client, job).withResponse();
    return { completion: data, status: response.status };
  } catch (error) {
    if (!(error instanceof OpenAI.APIError)) throw error;
    return { kind: error.constructor.name, status: error.status, message: error.message };
  }
});
