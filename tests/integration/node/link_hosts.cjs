// Spellings of addresses, in the places where a page or a markdown text has them, with the host that
// a browser's URL parser makes of each: `node link_hosts.cjs SEED COUNT` prints a JSON object a line.
// The file tests/quality/link_hosts.jsonl is what seed 1 gave; test_link_hosts.py draws others.
"use strict";

const [seed, count] = process.argv.slice(2).map(Number);
let state = BigInt(seed) * 0x9e3779b97f4a7c15n + 1n;
const below = (n) => {
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  return Number((state >> 33n) % BigInt(n));
};
const one = (list) => list[below(list.length)];
const chance = (percent) => below(100) < percent;

const HOME = "ok.test";
const AWAY = ["evil.example", "a-b.evil.example", "203.0.113.9", "x.test", "not" + HOME, "ok.test.evil.example"];
const DOTS = [".", "\u3002", "\uff0e", "\uff61", "%2e", "%E3%80%82"];
const IGNORED = ["\u00ad", "\u200b", "\u2060", "\ufe0f", "\u034f", "\u180b"];

// Any character: those that no host may have are sorted out by the parser below.
const anything = () => {
  const ranges = [[0x21, 0x5e], [0xa1, 0x500], [0x2000, 0xc00], [0x3000, 0x400], [0xa000, 0x800],
    [0xfe00, 0x200], [0x1d400, 0x400], [0x1f000, 0xb00]];
  const [from, n] = one(ranges);
  return String.fromCodePoint(from + below(n));
};

const dressed = (letter) => {
  const i = letter.charCodeAt(0) - 97;
  if (i < 0 || i > 25) return letter;
  const forms = [0xff41, 0xff21, 0x1d41a, 0x1d5ba, 0x24d0, 0x1d670];
  return chance(40) ? letter.toUpperCase() : String.fromCodePoint(one(forms) + i);
};

const respell = (host) => {
  let out = "";
  for (const c of host) {
    if (c === "." && chance(30)) out += one(DOTS);
    else if (chance(8)) out += "%" + c.charCodeAt(0).toString(16);
    else if (chance(15)) out += dressed(c);
    else out += c;
    if (chance(4)) out += one(IGNORED);
  }
  return out;
};

const host = () => {
  switch (below(8)) {
    case 0: return HOME + anything() + "." + one(AWAY);
    case 1: return HOME + one(DOTS) + one(AWAY);
    case 2: return HOME + anything() + one(AWAY);
    case 3: return HOME + one(["@", ":x@", "%40@", "%2f@", "\u2044@", ";@", ",@", ":80@"]) + one(AWAY);
    case 4: return one(["0x7f.1", "2130706433", "017700000001", "127.1", "1.1", "[::1]", "[2001:db8::7]"]);
    case 5: return respell(HOME);
    case 6: return "sub." + HOME;
    default: return respell(one(AWAY));
  }
};

const address = (isTarget) => {
  const schemes = ["https:", "http:", "HTTPS:", "hTTp:", "ws:", "ftp:"];
  const slashes = isTarget ? ["//", "//", "/", "", "\\\\", "/\\", "\\/", "///", "//\\"] : ["//", "//", "//", "\\\\", "/\\"];
  const tail = one(["", "", "/", "/a?b=c", ":8443/x", "?q=1", "#f", ":80", "./x", "\\x"]);
  const scheme = isTarget && chance(25) ? "" : one(schemes);
  return scheme + (scheme === "" ? one(["//", "\\\\", "/\\", "///"]) : one(slashes)) + host() + tail;
};

const entity = (c) => one([`&#${c.codePointAt(0)};`, `&#x${c.codePointAt(0).toString(16)};`,
  `&#0${c.codePointAt(0)};`]);
const NAMED = { ".": "&period;", "/": "&sol;", ":": "&colon;", "@": "&commat;", "\\": "&bsol;" };

// How an address is written in an attribute: references, and tabs and newlines anywhere.
const written = (url, hasGaps, mustHide, isMarkdown = false) => {
  let out = "";
  for (const c of url) {
    if (isMarkdown && c === "\\") out += "\\\\";
    else if (mustHide.includes(c)) out += entity(c);
    else if (NAMED[c] !== undefined && chance(6)) out += NAMED[c];
    else if (chance(5)) out += entity(c);
    else out += c;
    if (hasGaps && chance(5)) out += one(["\t", "\n", "\r\n", "&Tab;", "&NewLine;"]);
  }
  return out;
};

const hasAny = (url, chars) => [...url].some((c) => chars.includes(c));
const fits = (url) => !hasAny(url, " \t\n()<>[]`*_|\"'\\{}");

const PLACES = [
  (u) => [false, `see ${u} there`],
  (u) => [false, u],
  (u) => [false, `"${u}"`, '"'],
  (u) => [false, `Read (${u}) first`, "()"],
  (u) => [true, `<a href="${written(u, true, '"')}">x</a>`],
  (u) => [true, `<a class='b' href = '${written(u, true, "'")}'>x</a>`],
  (u) => [true, `<img alt=x src=${written(u, false, "\"'>` \t\n")}>`],
  (u) => [true, `<img src=" ${written(u, true, '"')} ">`],
  (u) => [true, `<form action="${written(u, true, '"')}">`],
  (u) => [true, `<meta http-equiv=refresh content="0; url=${written(u, false, "\"' >")}">`],
  (u) => [true, `[x](<${written(u, false, "<>\n", true)}>)`],
  (u) => [true, `![x](${written(u, false, "() <\n", true)})`],
  (u) => [true, `[x]: ${written(u, false, " <>", true)}\n`],
  (u) => [true, `<style>a { background: url("${u}") }</style>`, '"\\'],
];

let made = 0;
while (made < count) {
  const place = one(PLACES);
  const isTarget = place("")[0];
  const url = address(isTarget);
  const [, text, without] = place(url);
  if (without !== undefined && hasAny(url, without)) continue;
  if (!isTarget && !fits(url.replace(/[\\[\]]/g, ""))) continue;
  let name;
  try {
    // Both kinds of page, since `https:x` means another thing on each.
    name = new URL(url, url.toLowerCase().startsWith("https") ? "http://page.test/" : "https://page.test/").hostname;
  } catch {
    continue;
  }
  if (name === "" || name === "page.test") continue;
  console.log(JSON.stringify({ text, host: name }));
  made += 1;
}
