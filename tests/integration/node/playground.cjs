// Drives the playground in a real browser. A job is {base, other, keyed, key, browser, folder}: three
// servers (the embedded configuration, one with another model, one that wants a key), the browser's
// program, and where pictures go. The result has what was seen, scene by scene.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");
const { main } = require("./common.cjs");

const WIDE = { viewport: { width: 1280, height: 900 } };
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
const PATIENCE_MS = 120000; // a dozen pages at once, a sanitizer behind them, a busy machine
const ENDED = /^(Done|Blocked|Failed|Stopped)/;

const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** What a checker of accessibility has against the page as it is. */
async function barriers(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")} ${n.failureSummary}`));
}

/** Whatever is on the page, as a person sees it. */
function look(page) {
  return page.evaluate(() => {
    const isSeen = (element) => element.checkVisibility();
    const words = (id) =>
      isSeen(document.getElementById(id)) ? document.getElementById(id).textContent : null;
    const marks = (id) => [...document.getElementById(id).querySelectorAll("mark")].map((m) => m.textContent);
    const texts = (selector) =>
      [...document.querySelectorAll(selector)].filter(isSeen).map((e) => e.textContent);
    return {
      state: words("state"),
      text: words("text"),
      marks: marks("text"),
      prompt_marks: marks("said"),
      received: words("received"),
      request_headers: texts("#headers dt"),
      input_note: words("input-note"),
      blocked: words("blocked"),
      failed: words("failed"),
      held: words("held-now"),
      headers: texts("#headers dd"),
      findings: texts("#findings b"),
      lanes: texts("#latency tbody th"),
      events: words("events"),
      timeline: document.querySelector("#timeline svg")?.getAttribute("aria-label") ?? null,
      width: document.documentElement.scrollWidth,
      ground: getComputedStyle(document.body).backgroundColor,
    };
  });
}

/** A page of its own for each scene; complaints of the browser are part of what was seen. */
async function scene(browser, job, { base, name, options = WIDE }, act) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  const outside = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    const isAsked = message.text().includes("the server responded with a status of");
    if (message.type() === "error" && !isAsked) complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith("data:")) outside.push(request.url());
  });
  await page.goto(`${base}/`);
  if (name !== "key") await page.waitForSelector("#send:not([disabled])");
  const more = (await act(page)) ?? {};
  await page.waitForTimeout(200); // what moves comes to rest before the picture
  await page.screenshot({ path: path.join(job.folder, `${name}.png`), fullPage: true });
  const seen = { ...(await look(page)), ...more, complaints, outside, barriers: await barriers(page) };
  await context.close();
  return seen;
}

async function ended(page) {
  await page.waitForFunction(
    (words) => new RegExp(words).test(document.getElementById("state").textContent),
    ENDED.source,
  );
}

async function guard(page, route) {
  await page.locator(`input[name=route][value="${route}"]`).check();
}

async function example(page, name) {
  await page.locator("section:not([hidden]) .chips").getByRole("button", { name, exact: true }).click();
}

async function ask(page, prompt) {
  await page.getByLabel("Prompt", { exact: true }).fill(prompt);
  await page.getByRole("button", { name: "Send" }).click();
  await ended(page);
}

/** The same prompts in another API: what is found in an answer, what a block is, and how to do it elsewhere. */
async function otherApi(page, name) {
  await page.getByLabel("Client's API", { exact: true }).selectOption({ label: name });
  await guard(page, "default");
  await example(page, "Reasoning");
  await ended(page);
  const told = await look(page);
  const thought = await page.evaluate(() => document.getElementById("thought-text").textContent);
  await guard(page, "redact");
  await example(page, "Personal data");
  await ended(page);
  const redacted = await look(page);
  const snippets = {};
  for (const language of ["Python", "JavaScript", "curl"]) {
    await page.getByRole("button", { name: language, exact: true }).click();
    snippets[language] = await page.locator("#snippet").textContent();
  }
  const base = await page.locator("#base-url").textContent();
  await guard(page, "block");
  await example(page, "Personal data");
  await ended(page);
  return { told, thought, redacted, snippets, api: base };
}

const scenes = {
  async stream(page) {
    let during = null;
    while (during === null) {
      await guard(page, "default");
      await example(page, "Personal data");
      const held = await page.waitForFunction((words) => {
        const told = (id) => document.getElementById(id).textContent;
        const n = Number(document.getElementById("held-meter").getAttribute("aria-valuenow"));
        const isOver = new RegExp(words).test(told("state"));
        return isOver ? { isMissed: true } : n > 20 && { held: told("held-now"), text: told("text") };
      }, ENDED.source);
      const seen = await held.jsonValue(); // in one moment, however slow the machine is
      await ended(page);
      if (seen.isMissed) {
        await page.reload(); // the answer was there before the page was drawn once
        await page.waitForSelector("#send:not([disabled])");
      } else {
        during = seen;
      }
    }
    await page.locator("#events-card summary").click();
    await page.locator("#headers-box summary").click();
    const lines = await page.evaluate(() =>
      [...document.querySelectorAll("#headers dt")].map((name) => {
        const range = document.createRange();
        range.selectNodeContents(name);
        return range.getClientRects().length;
      }),
    );
    return { during, lines };
  },
  async first(page) {
    return page.evaluate(() => ({
      route: document.querySelector("input[name=route]:checked").value,
      base: document.getElementById("base-url").textContent,
      snippet: document.getElementById("snippet").textContent,
      tagline: document.querySelector(".tagline").textContent,
      landmark: document.querySelector("[role=tablist]").closest("main") !== null,
    }));
  },
  async talk(page) {
    await ask(page, "My card is 4111 1111 1111 1111, say something clean.");
    const { received, prompt_marks } = await look(page);
    await ask(page, "And now something clean again.");
    const turns = await page.locator("#turns li").allTextContents();
    const [request] = await Promise.all([
      page.waitForRequest((r) => r.url().endsWith("/chat/completions")),
      ask(page, "Clean once more."),
    ]);
    const { messages } = request.postDataJSON();
    await page.getByRole("button", { name: "New conversation" }).click();
    const after = await page.locator("#state").textContent();
    await page.getByRole("button", { name: "JavaScript" }).click();
    const javascript = await page.locator("#snippet").textContent();
    return { card: { received, prompt_marks }, turns, roles: messages.map((m) => m.role), after, javascript };
  },
  async empty(page) {
    let sent = 0;
    page.on("request", (r) => (sent += r.method() === "POST"));
    await page.getByLabel("Prompt", { exact: true }).fill("  \n");
    await page.getByRole("button", { name: "Send" }).click();
    await page.waitForFunction(() => document.getElementById("prompt-empty").textContent !== "");
    return { sent, hint: await page.locator("#prompt-empty").textContent() };
  },
  async reasoning(page) {
    await guard(page, "default");
    await page.evaluate(() => {
      /* A stream whose only finding is in the reasoning. */
      const events = [
        { choices: [{ index: 0, delta: { reasoning_content: "call 212-555-0147" } }] },
        { choices: [{ index: 0, delta: { content: "Fine." } }] },
        {
          choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
          detections: {
            output: [
              {
                choice_index: 0,
                channel: "reasoning_content",
                results: [{ start: 5, end: 17, detector_id: "regex", detection: "phone", score: 1 }],
              },
            ],
          },
        },
      ];
      const text = events.map((e) => `data: ${JSON.stringify(e)}\n\n`).join("");
      window.fetch = async () => new Response(text, { headers: { "x-request-id": "id-7" } });
    });
    await ask(page, "anything");
    return { is_open: await page.evaluate(() => document.getElementById("thoughts").open) };
  },
  async broken(page) {
    await page.evaluate(() => {
      window.fetch = async () =>
        new Response('{"error":{"message":"no room"}}', { status: 503, headers: { "x-request-id": "id-8" } });
    });
    await ask(page, "anything");
  },
  async api(page) {
    await page.getByRole("tab", { name: "API" }).click();
    await page.locator(".operation").first().waitFor();
    await page.locator(".operation summary").first().click();
    await page.locator(".operation-body .schema").first().waitFor();
    return page.evaluate(() => ({
      paths: [...document.querySelectorAll(".operation > summary > code")].map((e) => e.textContent),
      members: [...document.querySelectorAll(".schema code")].map((e) => e.textContent),
    }));
  },
  async block(page) {
    await guard(page, "block");
    await example(page, "Personal data");
    await ended(page);
  },
  async block_input(page) {
    await guard(page, "block");
    await example(page, "Card in the prompt");
    await ended(page);
  },
  async redact(page) {
    await guard(page, "redact");
    await example(page, "Personal data");
    await ended(page);
  },
  async chosen(page) {
    await guard(page, ":chosen");
    await example(page, "Keys");
    await ended(page);
  },
  async stopped(page) {
    await example(page, "Long answer");
    await page.waitForFunction(() => document.getElementById("text").textContent !== "");
    await page.keyboard.press("Escape");
    await ended(page);
  },
  async keyboard(page) {
    await page.getByLabel("Prompt", { exact: true }).focus();
    await page.keyboard.type("clean");
    await page.keyboard.press("Control+Enter");
    await ended(page);
    const { state } = await look(page);
    await page.locator("#tab-stream").focus();
    await page.keyboard.press("ArrowRight");
    return { state, tab: await page.evaluate(() => document.activeElement.id) };
  },
  async curl(page) {
    await page.getByLabel("Prompt", { exact: true }).fill("it's $HOME");
    await page.getByRole("button", { name: "Copy as curl" }).click();
    return { command: await page.evaluate(() => navigator.clipboard.readText()) };
  },
  async theme(page) {
    await page.getByRole("button", { name: "Theme" }).click(); // auto, then light
    const light = (await look(page)).ground;
    await page.getByRole("button", { name: "Theme" }).click();
    await page.reload();
    return { light };
  },
  async phone(page) {
    await example(page, "Clean");
    await ended(page);
  },
  async detectors(page) {
    await page.getByRole("tab", { name: "Detectors" }).click();
    await page
      .getByLabel("Text", { exact: true })
      .pressSequentially("👩‍👧 bob@example.com <img src=x onerror=boom()> 👋 a@example.org");
    await page.waitForFunction(() => document.querySelectorAll("#scan-text mark").length === 2);
    return page.evaluate(() => ({
      scan_text: document.getElementById("scan-text").textContent,
      scan_marks: [...document.querySelectorAll("#scan-text mark")].map((m) => m.textContent),
      scan_state: document.getElementById("scan-state").textContent,
      by: [...document.querySelectorAll(".by-head")].map((e) =>
        [...e.children]
          .map((c) => c.textContent)
          .join(" ")
          .trim(),
      ),
      images: document.querySelectorAll("#scan-text img").length,
    }));
  },
  async hostile(page) {
    await ask(page, "anything");
    return { images: await page.evaluate(() => document.querySelectorAll("#text img").length) };
  },
  async messages(page) {
    return otherApi(page, "Anthropic Messages");
  },
  async responses(page) {
    return otherApi(page, "OpenAI Responses");
  },
  async mask(page) {
    await guard(page, "private");
    await ask(page, "Write to jane@example.org, please.");
    return page.evaluate(() => {
      const told = (id) => document.getElementById(id);
      return {
        columns: ["said", "received", "back"].map((id) => told(id).textContent),
        heads: [...document.querySelectorAll(".two h3")].map((h) => h.checkVisibility() && h.textContent),
        is_text_shown: told("text").checkVisibility(),
      };
    });
  },
  async refused(page) {
    await page.getByLabel("Model", { exact: true }).fill("x");
    await guard(page, ":chosen");
    for (const box of await page.locator("#pick-output input").all()) await box.uncheck();
    await ask(page, "anything");
    return { claims: await page.locator("#received-box:visible, #answer-head:visible").count() };
  },
  async key(page, job) {
    await page.waitForFunction(() => !document.getElementById("page-error").hidden);
    const before = await page.evaluate(() => document.getElementById("page-error").textContent);
    await page.getByRole("textbox", { name: "API key" }).fill("wrong");
    await page.getByRole("button", { name: "Use it" }).click();
    await page.waitForFunction(() => document.getElementById("page-error").textContent.includes("not valid"));
    const wrong = await page.evaluate(() => document.body.innerText.match(/not valid/g).length);
    await page.getByRole("textbox", { name: "API key" }).fill(job.key);
    await page.getByRole("button", { name: "Use it" }).click();
    await page.waitForSelector("input[name=route]");
    await ask(page, "clean");
    await page.getByRole("button", { name: "Copy as curl" }).click();
    return { before, wrong, command: await page.evaluate(() => navigator.clipboard.readText()) };
  },
};

/** Functions of the page that know nothing of it. */
async function functions(browser, job) {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(`${job.base}/`);
  const found = await page.evaluate(() => {
    const finding = (start, end, detection, detector_id = "a") => ({ start, end, detection, detector_id });
    const brief = (pieces) => pieces.map((p) => [p.text, ...p.findings.map((f) => f.detection)]);
    const box = document.createElement("div");
    drawPieces(box, cutText([..."one two"], [finding(4, 7, "x")]));
    const nodes = [...box.childNodes];
    drawPieces(box, cutText([..."one two three"], [finding(4, 7, "x")]));
    drawPieces(box, cutText([..."one two three four"], [finding(4, 7, "x"), finding(14, 18, "y")]));
    const kept = [box.textContent, box.childNodes.length, nodes.every((n, i) => n === box.childNodes[i])];
    drawPieces(box, cutText([..."one"], []));
    kept.push(box.textContent);
    const split = [];
    addText(split, "a\ud83d");
    addText(split, "\ude00b");
    const events = new EventReader();
    const text = ": hm\r\nevent: x\r\ndata: 1\r\ndata: 2\r\n\r\ndata:3\n\nid: 4\n\ndata: 5\r\r";
    const byByte = [...text].flatMap((c) => events.push(c));
    return {
      kept,
      split,
      cut: brief(
        cutText(
          [..."a😀bcdef"],
          [finding(3, 9, "late"), finding(1, 4, "x"), finding(2, 3, "y"), finding(0, 0, "none")],
        ),
      ),
      redacted: brief(
        cutRedacted(
          [..."Hi [x]😀[y]."],
          [finding(10, 12, "z"), finding(3, 8, "x"), finding(9, 11, "y"), finding(5, 6, "w")],
          "[{detection}]",
        ),
      ),
      touching: brief(cutRedacted([..."[x]!"], [finding(2, 4, "y"), finding(0, 2, "x")], "[{detection}]")),
      unlike: brief(cutRedacted([..."abc"], [finding(1, 2, "x")], "[{detection}]")),
      events: byByte.concat(events.push("\n")),
      whole: new EventReader().push(`${text}\n`),
      quoted: shellQuote("it's"),
    };
  });
  await page.close();
  return found;
}

main(async (job) => {
  const browser = await chromium.launch({
    executablePath: job.browser,
    timeout: PATIENCE_MS,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  const copies = { ...WIDE, permissions: ["clipboard-read", "clipboard-write"] };
  const play = (name, options, base = job.base) =>
    scene(browser, job, { base, name, options }, (page) => scenes[name](page, job)).then((seen) => [
      name,
      seen,
    ]);
  try {
    // Most of the time is the demonstration model's pace, so scenes are played side by side.
    const seen = await Promise.all([
      ...[
        "stream",
        "first",
        "talk",
        "empty",
        "reasoning",
        "broken",
        "api",
        "redact",
        "detectors",
        "stopped",
        "chosen",
        "block_input",
        "keyboard",
        "theme",
        "refused",
      ].map((name) => play(name)),
      play("block", { ...WIDE, colorScheme: "dark" }),
      play("phone", { ...PHONE, colorScheme: "dark" }),
      play("hostile", WIDE, job.other),
      play("mask", WIDE, job.masked),
      play("key", copies, job.keyed),
    ]);
    // The clipboard is one for all; and a browser with too many pages at once is slow.
    seen.push(...(await Promise.all([play("curl", copies), play("messages"), play("responses")])));
    return { ...Object.fromEntries(seen), functions: await functions(browser, job) };
  } finally {
    await browser.close();
  }
});
