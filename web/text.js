"use strict";
/*
 * Texts, offsets and events; nothing here knows the page.
 *
 * The server counts code points, JavaScript counts UTF-16 units. So a text that offsets point into
 * is an array with one code point per item.
 */

/** Adds a piece to a text. Half a pair at the end waits for its other half in the next piece. */
function addText(points, piece) {
  const last = points[points.length - 1];
  const isHalf = last !== undefined && last.length === 1 && /[\uD800-\uDBFF]/.test(last);
  if (isHalf && /^[\uDC00-\uDFFF]/.test(piece)) {
    points[points.length - 1] = last + piece[0];
    piece = piece.slice(1);
  }
  for (const point of piece) points.push(point);
}

/** Those with a span, first things first: smallest start, then largest end, then detector. */
function ranked(findings) {
  const hasSpan = (f) => Number.isInteger(f.start) && Number.isInteger(f.end) && f.end > f.start;
  const byId = (a, b) => (a.detector_id < b.detector_id ? -1 : a.detector_id > b.detector_id ? 1 : 0);
  return findings.filter(hasSpan).sort((a, b) => a.start - b.start || b.end - a.end || byId(a, b));
}

/**
 * A text cut where findings begin and end: [{text, findings}], in order and complete. Offsets
 * beyond the text so far are cut off.
 */
function cutText(points, findings) {
  const spans = ranked(findings).filter((f) => f.start < points.length);
  const edges = new Set([0, points.length]);
  for (const f of spans) edges.add(f.start).add(Math.min(f.end, points.length));
  const cuts = [...edges].sort((a, b) => a - b);
  const pieces = [];
  let open = [];
  let next = 0;
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [from, to] = [cuts[i], cuts[i + 1]];
    open = open.filter((f) => f.end > from);
    while (next < spans.length && spans[next].start <= from) open.push(spans[next++]);
    pieces.push({ text: points.slice(from, to).join(""), findings: [...open] });
  }
  return pieces;
}

function fillTemplate(template, finding) {
  const known = { detection: 1, detection_type: 1, detector_id: 1 };
  return template.replace(/\{([a-z_]+)\}/g, (all, name) => (known[name] ? String(finding[name] ?? "") : all));
}

/**
 * A text in which findings were replaced, the same way: the offsets are those of the text before.
 * Where the words are not what the template says, the rest is left unmarked.
 */
function cutRedacted(points, findings, template) {
  const pieces = [];
  let at = 0; /* in what came */
  let original = 0; /* in what the model said */
  let until = 0; /* the end of the present run; the first one may begin at 0 */
  let run = null;
  for (const f of ranked(findings)) {
    if (run !== null && f.start <= until) {
      until = Math.max(until, f.end);
      run.findings.push(f);
      original = until;
      continue;
    }
    const begin = at + (f.start - original);
    const words = [...fillTemplate(template, f)];
    if (begin > points.length || points.slice(begin, begin + words.length).join("") !== words.join("")) break;
    if (begin > at) pieces.push({ text: points.slice(at, begin).join(""), findings: [] });
    run = { text: words.join(""), findings: [f], isRedacted: true };
    pieces.push(run);
    at = begin + words.length;
    until = original = f.end;
  }
  if (at < points.length) pieces.push({ text: points.slice(at).join(""), findings: [] });
  return pieces;
}

/** A text as a redacting route would send it on: each run of findings replaced by its first. */
function redactPieces(points, findings, template) {
  const pieces = [];
  let at = 0;
  let run = null;
  for (const f of ranked(findings)) {
    if (run !== null && f.start <= at) {
      at = Math.max(at, f.end);
      run.findings.push(f);
      continue;
    }
    if (f.start > at) pieces.push({ text: points.slice(at, f.start).join(""), findings: [] });
    run = { text: fillTemplate(template, f), findings: [f], isRedacted: true };
    pieces.push(run);
    at = f.end;
  }
  if (at < points.length) pieces.push({ text: points.slice(at).join(""), findings: [] });
  return pieces;
}

/** A text as a masking route sends it on, with the tokens that the server has told of. */
function tokenPieces(points, findings, tokens) {
  const pieces = [];
  let at = 0;
  for (const { start, end, token } of tokens.toSorted((a, b) => a.start - b.start)) {
    if (start > at) pieces.push({ text: points.slice(at, start).join(""), findings: [] });
    const inside = findings.filter((f) => f.start >= start && f.end <= end);
    pieces.push({ text: token, findings: inside, isRedacted: true });
    at = end;
  }
  if (at < points.length) pieces.push({ text: points.slice(at).join(""), findings: [] });
  return pieces;
}

/** Server-sent events out of pieces of text. push gives those that are complete: [{name, data}]. */
class EventReader {
  #rest = "";
  #name = "";
  #data = [];

  push(piece) {
    const found = [];
    const text = this.#rest + piece;
    const lines = /\r\n|\n|\r(?!$)/g;
    let from = 0;
    for (let end = lines.exec(text); end !== null; end = lines.exec(text)) {
      this.#line(text.slice(from, end.index), found);
      from = lines.lastIndex;
    }
    this.#rest = text.slice(from);
    return found;
  }

  #line(line, found) {
    if (line === "") {
      if (this.#data.length > 0) found.push({ name: this.#name || "message", data: this.#data.join("\n") });
      this.#name = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    if (field === "event") this.#name = value;
  }
}

/** One argument for a POSIX shell. */
function shellQuote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function curlCommand(url, headers, body) {
  const parts = [`curl -sN ${shellQuote(url)}`];
  for (const [name, value] of Object.entries(headers)) {
    /* A key stays out of clipboards and shell histories. */
    const isKey = name === "authorization";
    parts.push(isKey ? `-H "authorization: Bearer $WEIR_API_KEY"` : `-H ${shellQuote(`${name}: ${value}`)}`);
  }
  parts.push(`-d ${shellQuote(JSON.stringify(body))}`);
  return parts.join(" \\\n  ");
}

function milliseconds(ms) {
  if (ms < 0.0005) return "< 1 µs";
  if (ms >= 1000) return `${Number((ms / 1000).toFixed(ms >= 10000 ? 1 : 2))} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : ms >= 1 ? `${ms.toFixed(1)} ms` : `${Math.round(ms * 1000)} µs`;
}

function counted(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}
