// Commits in time: a dot each, coloured by what became of it; arcs lead from a change to what took it back or mended it.
import { day, h, s } from "./dom.js";
import { VERDICTS } from "./hits.js";

const WIDTH = 900;
const HEIGHT = 108;
const BASE = 78;
const EDGE = 22;

export function timeline(hits, choose) {
  const commits = hits.map((hit, position) => ({ hit, position, time: Date.parse(hit.commit && hit.commit.date) }))
    .filter((entry) => entry.hit.source === "history" && Number.isFinite(entry.time));
  if (commits.length < 2) return null;
  const arcs = [];
  for (const entry of commits) {
    for (const fact of (entry.hit.commit.outcome && entry.hit.commit.outcome.evidence) || []) {
      const time = typeof fact.date === "number" ? fact.date * 1000 : Date.parse(fact.date);
      if (fact.confidence >= 0.5 && Number.isFinite(time)) arcs.push({ entry, fact, time });
    }
  }
  const times = [...commits.map((entry) => entry.time), ...arcs.map((arc) => arc.time)];
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const x = (time) => EDGE + ((WIDTH - 2 * EDGE) * (time - first)) / Math.max(1, last - first);
  stack(commits, x);
  const dots = commits.map((entry, i) => dot(entry, i, commits, x, choose));
  return h("section", { class: "timeline", "aria-label": "Hits in time" },
    s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "One dot for each commit; arrow keys move between them" },
      s("line", { class: "axis", x1: 8, x2: WIDTH - 8, y1: BASE + 8, y2: BASE + 8 }), years(first, last, x),
      arcs.map((arc) => link(arc, commits, x)), dots),
    h("ul", { class: "legend" }, Object.entries(VERDICTS).map(([verdict, label]) => h("li", null, h("span", { class: `swatch ${verdict}`, "aria-hidden": "true" }), label))));
}

// Dots that would lie on each other stand on each other.
function stack(commits, x) {
  const levels = [];
  for (const entry of [...commits].sort((a, b) => a.time - b.time)) {
    const left = x(entry.time);
    let level = levels.findIndex((right) => left - right > 13);
    if (level < 0) level = levels.length < 5 ? levels.length : 0;
    levels[level] = left;
    entry.level = level;
  }
}

const top = (entry) => BASE - 13 * entry.level;

function dot(entry, i, commits, x, choose) {
  const { hit, position } = entry;
  const verdict = (hit.commit.outcome && hit.commit.outcome.verdict) || "unknown";
  const name = `${day(hit.commit.date)}: ${hit.commit.subject}, ${VERDICTS[verdict] || verdict}`;
  const move = (event) => {
    const order = [...commits].sort((a, b) => a.time - b.time);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Enter" || event.key === " ") choose(position);
    else if (step) {
      const next = order[order.indexOf(entry) + step];
      if (next) {
        for (const other of commits) other.node.setAttribute("tabindex", other === next ? "0" : "-1");
        next.node.focus();
      }
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  entry.node = s("g", { class: `commit ${verdict}`, role: "button", tabindex: i ? "-1" : "0", "aria-label": name, data: { position },
    onclick: () => choose(position), onkeydown: move },
    s("title", null, name), s("circle", { class: "reach", cx: x(entry.time), cy: top(entry), r: 12 }),
    s("circle", { class: "core", cx: x(entry.time), cy: top(entry), r: Math.max(4.5, 8 - position * 0.35) }));
  return entry.node;
}

function link({ entry, fact, time }, commits, x) {
  const target = commits.find((other) => other.hit.commit.sha === fact.sha);
  const [from, to] = [x(entry.time), x(time)];
  const end = target ? top(target) : BASE + 8;
  const height = Math.min(44, 14 + Math.abs(to - from) / 6);
  return s("g", { class: `arc ${fact.kind}` }, s("title", null, `${fact.kind} by ${fact.sha.slice(0, 9)} ${fact.note || ""}`),
    s("path", { d: `M${from} ${top(entry) - 6}C${from} ${top(entry) - 6 - height} ${to} ${end - 6 - height} ${to} ${end - 4}` }),
    target ? null : s("circle", { class: "far", cx: to, cy: BASE + 8, r: 3 }));
}

function years(first, last, x) {
  const [from, to] = [new Date(first).getUTCFullYear(), new Date(last).getUTCFullYear()];
  const step = Math.max(1, Math.ceil((to - from) / 12));
  const marks = [];
  for (let year = from; year <= to; year += step) {
    const at = Date.UTC(year, 0, 1);
    const left = Math.max(EDGE, x(at));
    if (left > WIDTH - EDGE) continue;
    marks.push(s("line", { class: "tick", x1: left, x2: left, y1: BASE + 4, y2: BASE + 12 }),
      s("text", { class: "label", x: left, y: BASE + 25, "text-anchor": "middle" }, year));
  }
  return marks;
}
