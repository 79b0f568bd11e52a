/*
 * What both tabs use: elements, requests, errors in words, marks, lists of findings. What comes
 * from a model or a detector is hostile: it becomes text nodes and nothing else.
 */

const $ = (id) => document.getElementById(id);

/** An element with a class, properties and children; strings become text. */
function make(tag, { className, ...properties } = {}, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function show(element, isShown) {
  element.hidden = !isShown;
}

let toastTimer = 0;
function toast(words) {
  $("toast").textContent = words;
  $("toast").classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => $("toast").classList.remove("shown"), 2200);
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  } catch {
    $("copy-text").textContent = text; /* no clipboard without https or a permission */
    $("copy-by-hand").showModal();
    getSelection().selectAllChildren($("copy-text"));
  }
}

/* ---- talking to the server ---- */

const KEY_NAME = "weir-key";
let apiKey = "";

function requestHeaders(extra = {}) {
  const headers = { "content-type": "application/json", ...extra };
  if (apiKey !== "") headers.authorization = `Bearer ${apiKey}`;
  return headers;
}

/** An answer that is not a good one, in words. */
class Refusal extends Error {
  constructor(status, words, requestId = "") {
    super(words);
    this.status = status;
    this.requestId = requestId;
  }
}

const STATUS_WORDS = {
  400: "The request was not understood",
  404: "There is no such path or model here",
  413: "The text is too large",
  422: "The request was refused",
  429: "Too many requests",
  500: "The server met an error",
  502: "The model server answered with an error",
  503: "A service behind the server is not available",
  504: "A service behind the server did not answer in time",
};

function errorWords(status, body) {
  let detail = "";
  try {
    const json = JSON.parse(body);
    detail = json.error?.message ?? json.details ?? json.message ?? "";
  } catch {
    detail = body.slice(0, 300);
  }
  if (status === 401) return apiKey === "" ? "An API key is needed here." : "This API key is not valid.";
  const general = STATUS_WORDS[status] ?? `The server answered with status ${status}`;
  return detail ? `${general}: ${detail}` : `${general}.`;
}

/** fetch that throws a Refusal for anything but a good answer. */
async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The server cannot be reached. Is it still running?");
  }
  if (!response.ok) {
    if (response.status === 401) openKeyPanel();
    const words = errorWords(response.status, await response.text());
    throw new Refusal(response.status, words, response.headers.get("x-request-id") ?? "");
  }
  return response;
}

function openKeyPanel() {
  show($("key-panel"), true);
  $("key-open").setAttribute("aria-expanded", "true");
}

/* ---- findings ---- */

const known = { version: "", model: null, public_api: false, routes: [], detectors: [] };

/** A detector's tint: the same everywhere on the page. */
function tintOf(detectorId) {
  const index = known.detectors.findIndex((d) => d.id === detectorId);
  return `t${index < 0 ? 7 : index % 8}`;
}

function findingName(f) {
  return String(f.detection ?? f.detection_type ?? "finding");
}

function findingTitle(f) {
  const score = typeof f.score === "number" ? `, score ${f.score.toFixed(2)}` : "";
  return `${f.detection_type ?? ""} / ${findingName(f)} by ${f.detector_id ?? "?"}${score}`;
}

/** A piece of cutText or cutRedacted as a node; `label` is behind it where a finding ends. */
function markNode(piece, label) {
  const first = piece.findings[0];
  if (first === undefined) return document.createTextNode(piece.text);
  const mark = make("mark", { className: tintOf(first.detector_id) }, piece.text);
  if (piece.isRedacted) mark.classList.add("redacted");
  mark.title = piece.findings.map(findingTitle).join("\n");
  mark.dataset.starts = piece.findings.map((f) => f.start).join(" ");
  if (label !== "") mark.dataset.label = label;
  return mark;
}

const drawnPieces = new WeakMap(); /* element: [{key, text, nodes}] */

/**
 * Makes an element show these pieces and touches only what is new: what was read stays read, for
 * screen readers, and what is selected stays selected.
 */
function drawPieces(into, pieces) {
  const before = drawnPieces.get(into) ?? [];
  const after = pieces.map((piece, i) => {
    const first = piece.findings[0];
    const goesOn = piece.isRedacted || pieces[i + 1]?.findings.includes(first) === true;
    const label = first === undefined || goesOn ? "" : findingName(first);
    const titles = piece.findings.map((f) => `${f.start} ${findingTitle(f)}`);
    return { piece, label, text: piece.text, key: JSON.stringify([label, ...titles]), nodes: [] };
  });
  let same = 0;
  while (same < before.length && same < after.length) {
    const [old, now] = [before[same], after[same]];
    const grows = now.piece.findings.length === 0 && now.text.startsWith(old.text);
    if (old.key !== now.key || (old.text !== now.text && !grows)) break;
    now.nodes = old.nodes;
    if (old.text !== now.text) {
      const rest = document.createTextNode(now.text.slice(old.text.length));
      old.nodes[old.nodes.length - 1].after(rest);
      now.nodes = [...old.nodes, rest];
    }
    same++;
  }
  for (const old of before.slice(same)) for (const node of old.nodes) node.remove();
  for (const now of after.slice(same)) {
    now.nodes = [markNode(now.piece, now.label)];
    into.append(...now.nodes);
  }
  drawnPieces.set(into, after);
}

/** A sentence or two in a frame; with the id that the server's log has for the request. */
function drawNotice(element, title, words, requestId = "") {
  const id = requestId === "" ? [] : [make("small", {}, "Request id ", make("code", {}, requestId))];
  show(element, title !== "");
  element.replaceChildren(make("strong", {}, title), words, ...id);
}

/** One line of a list of findings. `where`: the element its mark is in, if it is anywhere. */
function findingItem(f, where, note) {
  const hasSpan = Number.isInteger(f.start) && Number.isInteger(f.end) && f.end > f.start;
  const place = hasSpan ? `${f.start}–${f.end}` : "whole text";
  const score = typeof f.score === "number" ? ` · ${f.score.toFixed(2)}` : "";
  const button = make(
    "button",
    { className: "finding", type: "button", title: findingTitle(f) },
    make("i", { className: tintOf(f.detector_id) }),
    make("b", {}, findingName(f)),
    make("span", {}, `${place}${score}`),
    make("span", { className: "what" }, [f.detector_id, note, f.text].filter(Boolean).join(" · ")),
  );
  button.addEventListener("click", () => flash(where, f.start));
  return make("li", {}, button);
}

function flash(where, start) {
  const marks = [...(where?.querySelectorAll("mark") ?? [])];
  const mark = marks.find((m) => m.dataset.starts.split(" ").includes(String(start)));
  if (!mark) return;
  mark.scrollIntoView({ block: "center", behavior: "smooth" });
  mark.classList.add("flash");
  setTimeout(() => mark.classList.remove("flash"), 1400);
}

/** A checkbox for each detector of these types. */
function detectorChecks(into, types, isChecked) {
  into.replaceChildren(
    ...known.detectors
      .filter((d) => types.includes(d.type))
      .map((d) =>
        make(
          "label",
          { className: "check" },
          make("input", { type: "checkbox", value: d.id, checked: isChecked(d) }),
          make("i", { className: tintOf(d.id) }),
          d.id,
        ),
      ),
  );
}

/** {id: {}} of the checked ones. */
function checkedDetectors(into) {
  const boxes = [...into.querySelectorAll("input:checked")];
  return Object.fromEntries(boxes.map((box) => [box.value, {}]));
}

/** Examples as buttons: [name, text, detector that must be there]. */
function addChips(into, examples, use) {
  const isUseful = (needs) => needs === undefined || known.detectors.some((d) => d.id === needs);
  into.replaceChildren(
    ...examples
      .filter(([, , needs]) => isUseful(needs))
      .map(([name, text]) => {
        const chip = make("button", { type: "button", title: text }, name);
        chip.addEventListener("click", () => use(text));
        return chip;
      }),
  );
}
