// What the client scripts share: jobs as JSON on standard input, results as JSON on standard output.
//
// A job is {base, path, body, headers}: the client believes to speak to OpenAI under `base`; its
// requests go to `path` instead, with `body`'s members added, which no client knows.
"use strict";

/** fetch, but to the job's path, with the job's members and headers. */
function fetchFor(job) {
  return (url, init) => {
    const body = { ...JSON.parse(init.body), ...job.body };
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(job.headers ?? {})) headers.set(name, value);
    headers.delete("content-length");
    return fetch(new URL(job.path, url), { ...init, headers, body: JSON.stringify(body) });
  };
}

async function readAll(stream) {
  let text = "";
  for await (const piece of stream.setEncoding("utf8")) text += piece;
  return text;
}

/** Runs every job, one after the other; a job that fails has {error}. */
async function main(run) {
  const results = [];
  for (const job of JSON.parse(await readAll(process.stdin))) {
    try {
      results.push(await run(job));
    } catch (error) {
      results.push({ error: { name: error.constructor.name, message: error.message } });
    }
  }
  process.stdout.write(JSON.stringify(results));
}

module.exports = { fetchFor, main };
