/*
 * A stream drawn over time, from the server's weir-trace events: how much text had come, how much
 * had left, and when each detector was at work. The area between the two curves is what was held.
 */

const SVG = "http://www.w3.org/2000/svg";
const CHART = {
  width: 760,
  left: 96,
  right: 12,
  top: 8,
  curves: 130,
  row: 22,
}; /* width: as wide as there is room */

class Trace {
  raw = []; /* [{t, end}] */
  batches = [];
  verdicts = new Map(); /* detector: [{t, ms}] */

  add(note) {
    if (note.channel !== undefined) return; /* other channels are texts of their own */
    if (note.kind === "raw") this.raw.push({ t: note.t_ms, end: note.end });
    if (note.kind === "batch") this.batches.push({ t: note.t_ms, end: note.end });
    if (note.kind === "verdict") {
      if (!this.verdicts.has(note.detector)) this.verdicts.set(note.detector, []);
      this.verdicts.get(note.detector).push({ t: note.t_ms, ms: note.ms });
    }
  }

  get came() {
    return this.raw.length > 0 ? this.raw[this.raw.length - 1].end : 0;
  }
  get left() {
    return this.batches.length > 0 ? this.batches[this.batches.length - 1].end : 0;
  }
  get last() {
    const t = (list) => (list.length > 0 ? list[list.length - 1].t : 0);
    return Math.max(t(this.raw), t(this.batches), ...[...this.verdicts.values()].map(t));
  }
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A step that is a round number and gives about `wanted` of them. */
function roundStep(range, wanted) {
  const rough = range / wanted;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough) ?? power * 10;
}

/** The points of a curve that goes up in steps, from the axis at time 0. */
function steps(list, x, y, endT) {
  let path = `M${x(0)} ${y(0)}`;
  for (const { t, end } of list) path += `H${x(t).toFixed(1)}V${y(end).toFixed(1)}`;
  return `${path}H${x(endT).toFixed(1)}`;
}

function backwards(list, x, y, endT) {
  let path = "";
  let before = list.length > 0 ? list[list.length - 1].end : 0;
  path += `V${y(before).toFixed(1)}`;
  for (let i = list.length - 1; i >= 0; i--) {
    before = i > 0 ? list[i - 1].end : 0;
    path += `H${x(list[i].t).toFixed(1)}V${y(before).toFixed(1)}`;
  }
  return `${path}H${x(0)}Z`;
}

/** One stroke per pixel, however many there were. */
function strokes(list, x, top, height) {
  const columns = new Set(list.map(({ t }) => Math.round(x(t) * 2) / 2));
  return [...columns].map((column) => `M${column} ${top}v${height}`).join("");
}

function drawRow(label, y) {
  return [
    draw(
      "text",
      { x: CHART.left - 10, y: y + 14, "text-anchor": "end" },
      label.length > 14 ? `${label.slice(0, 13)}…` : label,
    ),
    draw("path", { class: "grid", d: `M${CHART.left} ${y + 10.5}H${CHART.width - CHART.right}` }),
  ];
}

function drawAxes(x, y, endT, most) {
  const parts = [];
  const bottom = CHART.top + CHART.curves;
  const stepT = roundStep(endT, CHART.width < 500 ? 3 : 6);
  for (let t = 0; t <= endT; t += stepT) {
    parts.push(draw("path", { class: "grid", d: `M${x(t).toFixed(1)} ${CHART.top}V${bottom}` }));
    parts.push(
      draw("text", { x: x(t), y: bottom + 15, "text-anchor": "middle" }, t === 0 ? "0" : milliseconds(t)),
    );
  }
  const stepY = roundStep(most, 3);
  for (let n = stepY; n <= most; n += stepY) {
    parts.push(
      draw("path", { class: "grid", d: `M${CHART.left} ${y(n).toFixed(1)}H${CHART.width - CHART.right}` }),
    );
    parts.push(draw("text", { x: CHART.left - 10, y: y(n) + 4, "text-anchor": "end" }, String(n)));
  }
  parts.push(draw("text", { x: CHART.left - 10, y: bottom + 4, "text-anchor": "end" }, "characters"));
  return parts;
}

function drawLanes(trace, x, top) {
  const parts = [];
  for (const [detector, answers] of trace.verdicts) {
    parts.push(...drawRow(detector, top));
    for (const { t, ms } of answers.slice(-500)) {
      const from = x(Math.max(0, t - ms));
      const width = Math.max(3, x(t) - from);
      parts.push(
        draw("rect", {
          class: "lane",
          x: from.toFixed(1),
          y: top + 4,
          width: width.toFixed(1),
          height: 13,
          rx: 2,
        }),
      );
    }
    top += CHART.row;
  }
  return parts;
}

function drawTimeline(into, trace) {
  CHART.width = Math.max(into.clientWidth, 260);
  const endT = Math.max(trace.last, 0.1);
  const most = Math.max(trace.came, 1);
  const rows = CHART.top + CHART.curves + 28;
  const height = rows + CHART.row * (2 + trace.verdicts.size) + 4;
  const x = (t) => CHART.left + (t / endT) * (CHART.width - CHART.left - CHART.right);
  const y = (n) => CHART.top + CHART.curves * (1 - n / most);
  const words = `Over ${milliseconds(endT)}: ${counted(trace.raw.length, "piece")} came, ${counted(trace.batches.length, "batch", "batches")} left.`;
  const parts = [
    ...drawAxes(x, y, endT, most),
    draw("path", {
      class: "between",
      d: steps(trace.raw, x, y, endT) + backwards(trace.batches, x, y, endT),
    }),
    draw("path", { class: "came", d: steps(trace.raw, x, y, endT) }),
    draw("path", { class: "left", d: steps(trace.batches, x, y, endT) }),
    ...drawRow("from the model", rows),
    draw("path", { class: "ticks", d: strokes(trace.raw, x, rows + 5, 11) }),
    ...drawRow("released", rows + CHART.row),
    draw("path", { class: "frames", d: strokes(trace.batches, x, rows + CHART.row + 4, 13) }),
    ...drawLanes(trace, x, rows + 2 * CHART.row),
  ];
  into.replaceChildren(
    draw("svg", { viewBox: `0 0 ${CHART.width} ${height}`, role: "img", "aria-label": words }, ...parts),
  );
}

function fillLatency(table, trace) {
  const rows = [...trace.verdicts].map(([detector, answers]) => {
    const times = answers.map((a) => a.ms).sort((a, b) => a - b);
    const cells = [
      String(times.length),
      milliseconds(times[times.length >> 1]),
      milliseconds(times[times.length - 1]),
    ];
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, detector),
      ...cells.map((words) => make("td", {}, words)),
    );
  });
  table.tBodies[0].replaceChildren(...rows);
  show(table, rows.length > 0);
}
