// A timeline: a dot for each commit, coloured by its outcome; arcs lead to the commits that reverted or fixed it.
import { day, h, s } from "./dom.js";
import { EVIDENCE, VERDICTS } from "./hits.js";

const WIDTH = 900;
const EDGE = 22;
const STEP = 13;

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
  const base = 14 + STEP * stack(commits, x) + 0.75 * Math.max(0, ...arcs.map((arc) => rise(x(arc.entry.time), x(arc.time))));
  for (const entry of commits) entry.top = base - STEP * entry.level;
  const dots = commits.map((entry, i) => dot(entry, i, commits, x, choose));
  return h("section", { class: "timeline", "aria-label": "Timeline of the hits" },
    s("svg", { viewBox: `0 0 ${WIDTH} ${base + 30}`, role: "group", "aria-label": "One dot for each commit; arrow keys move between them" },
      s("line", { class: "axis", x1: 8, x2: WIDTH - 8, y1: base + 8, y2: base + 8 }), years(first, last, x, base),
      arcs.map((arc) => link(arc, commits, x, base)), dots),
    h("ul", { class: "legend" }, Object.entries(VERDICTS).map(([verdict, label]) => h("li", null, h("span", { class: `swatch ${verdict}`, "aria-hidden": "true" }), label))));
}

// Stacks dots that would overlap; returns the highest level.
function stack(commits, x) {
  const levels = [];
  for (const entry of [...commits].sort((a, b) => a.time - b.time)) {
    const left = x(entry.time);
    let level = levels.findIndex((right) => left - right > STEP);
    if (level < 0) level = levels.length < 5 ? levels.length : 0;
    levels[level] = left;
    entry.level = level;
  }
  return levels.length - 1;
}

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
    s("title", null, name), s("circle", { class: "reach", cx: x(entry.time), cy: entry.top, r: 12 }),
    s("circle", { class: "core", cx: x(entry.time), cy: entry.top, r: Math.max(4.5, 8 - position * 0.35) }));
  return entry.node;
}

const rise = (from, to) => Math.min(44, 14 + Math.abs(to - from) / 6);

function link({ entry, fact, time }, commits, x, base) {
  const target = commits.find((other) => other.hit.commit.sha === fact.sha);
  const [from, to] = [x(entry.time), x(time)];
  const end = target ? target.top : base + 8;
  const height = rise(from, to);
  return s("g", { class: `arc ${fact.kind}` }, s("title", null, `${EVIDENCE[fact.kind] || fact.kind} by ${fact.sha.slice(0, 9)} ${fact.note || ""}`),
    s("path", { d: `M${from} ${entry.top - 6}C${from} ${entry.top - 6 - height} ${to} ${end - 6 - height} ${to} ${end - 4}` }),
    target ? null : s("circle", { class: "far", cx: to, cy: base + 8, r: 3 }));
}

function years(first, last, x, base) {
  const [from, to] = [new Date(first).getUTCFullYear(), new Date(last).getUTCFullYear()];
  const step = Math.max(1, Math.ceil((to - from) / 12));
  const marks = [];
  let before = -100;
  for (let year = from; year <= to; year += step) {
    const at = Date.UTC(year, 0, 1);
    const left = Math.max(EDGE, x(at));
    if (left > WIDTH - EDGE || left - before < 34) continue;
    before = left;
    marks.push(s("line", { class: "tick", x1: left, x2: left, y1: base + 4, y2: base + 12 }),
      s("text", { class: "label", x: left, y: base + 25, "text-anchor": "middle" }, year));
  }
  return marks;
}
