// The explanation of a hit: its rank in every lane beside those of the other hits, then each step of its score.
import { h, rounded, s } from "./dom.js";

const KINDS = { "natural-language": "A question in plain words", question: "A question", symbol: "A name", report: "A report", literal: "Exact text", pattern: "A pattern" };

export function whyPanel(answer, position, close) {
  const hit = answer.hits[position];
  const why = hit.why || { lanes: {}, stages: [] };
  return [
    h("div", { class: "side-head" }, h("h2", null, `Why hit ${position + 1}`),
      h("button", { type: "button", class: "icon close", "aria-label": "Close this panel", onclick: close }, "×")),
    h("p", { class: "muted" }, `${KINDS[answer.intent] || answer.intent}, read as ${answer.mode}, ranking ${answer.ranking}`),
    ranks(answer, position),
    lanes(why),
    pushes(hit, why),
  ];
}

const LANE_WIDTH = 300;
const LANE_HEIGHT = 170;

// For each hit a line from its rank in the lanes to its rank in the answer.
function ranks(answer, position) {
  const source = answer.hits[position].source;
  const peers = answer.hits.filter((hit) => hit.source === source);
  const names = [...new Set(peers.flatMap((hit) => Object.keys((hit.why && hit.why.lanes) || {})))].slice(0, 4);
  if (!names.length || peers.length < 2) return null;
  const deepest = Math.max(2, answer.hits.length, ...peers.flatMap((hit) => names.map((name) => rankIn(hit, name) || 1)));
  const x = (column) => 34 + (column * (LANE_WIDTH - 68)) / names.length;
  const y = (rank) => 24 + (LANE_HEIGHT - 38) * (Math.log(rank) / Math.log(deepest));
  const line = (hit, place) => {
    const points = names.map((name, i) => [x(i), rankIn(hit, name)]).filter((point) => point[1]).map(([left, rank]) => [left, y(rank)]);
    points.push([x(names.length), y(place + 1)]);
    return points;
  };
  const drawn = peers.map((hit) => ({ points: line(hit, answer.hits.indexOf(hit)), chosen: hit === answer.hits[position] }));
  drawn.sort((a, b) => a.chosen - b.chosen);
  const chosen = answer.hits[position];
  const ranksText = names.map((name) => `${name} ${rankIn(chosen, name) || "not found"}`).join(", ");
  return h("section", null, h("h3", null, "From lanes to the answer"),
    s("svg", { class: "ranks", viewBox: `0 0 ${LANE_WIDTH} ${LANE_HEIGHT}`, role: "img", "aria-label": `Ranks of this hit: ${ranksText}; in the answer ${position + 1}` },
      [...names, "answer"].map((name, i) => [
        s("line", { class: "axis", x1: x(i), x2: x(i), y1: 22, y2: LANE_HEIGHT - 10 }),
        s("text", { class: "label", x: x(i), y: 12, "text-anchor": "middle" }, name),
      ]),
      drawn.map(({ points, chosen: own }) => [
        s("polyline", { class: own ? "path chosen" : "path", points: points.map((point) => point.join(",")).join(" ") }),
        points.map(([left, top]) => s("circle", { class: own ? "knot chosen" : "knot", cx: left, cy: top, r: own ? 4 : 2.2 })),
      ]),
      [1, deepest].map((rank) => s("text", { class: "label", x: 4, y: y(rank) + 4 }, `#${rank}`))));
}

const rankIn = (hit, lane) => hit.why && hit.why.lanes && hit.why.lanes[lane] && hit.why.lanes[lane].rank;

function lanes(why) {
  const entries = Object.entries(why.lanes || {});
  if (!entries.length) return null;
  return h("section", null, h("h3", null, "Lanes"), h("ul", { class: "lanes" }, entries.map(([name, lane]) => {
    const terms = Object.entries(lane.terms || {}).sort((a, b) => b[1] - a[1]).slice(0, 8);
    const most = Math.max(...terms.map((term) => term[1]), 1e-9);
    return h("li", null, h("div", { class: "lane" }, h("b", null, name), h("span", null, `rank ${lane.rank}`), h("span", { class: "value" }, rounded(lane.score))),
      terms.map(([term, weight]) => h("div", { class: "term" }, h("code", null, term), bar(0, weight / most, "plain"), h("span", { class: "value" }, rounded(weight)))));
  })));
}

// A waterfall chart: each stage starts from the score after the one before.
function pushes(hit, why) {
  const stages = why.stages || [];
  if (!stages.length) return h("section", null, h("h3", null, "Score"), h("p", { class: "muted" }, `${rounded(hit.score)}, changed by no stage.`));
  const rows = steps(stages, 0);
  const fromFused = steps(stages, why.fused || 0);
  const end = (list) => list[list.length - 1].to;
  const near = (value) => Math.abs(value - hit.score) <= 1e-3 * Math.max(1, Math.abs(hit.score));
  let shown = rows;
  if (!near(end(rows)) && why.fused) shown = [{ stage: "fused", from: 0, to: why.fused, label: rounded(why.fused), note: "the lanes combined" }, ...fromFused];
  const top = Math.max(...shown.flatMap((row) => [row.from, row.to]), hit.score, 1e-9);
  return h("section", null, h("h3", null, "Fusion and stages"), h("ol", { class: "pushes" }, shown.map((row) => h("li", { title: row.note || null },
    h("span", { class: "stage" }, row.stage), bar(Math.min(row.from, row.to) / top, Math.max(row.from, row.to) / top, row.stage === "scale" ? "plain" : row.to >= row.from ? "up" : "down"),
    h("span", { class: "value" }, row.label), row.note ? h("span", { class: "note" }, row.note) : null)),
    h("li", { class: "total" }, h("span", { class: "stage" }, "score"), bar(0, hit.score / top, "sum"), h("span", { class: "value" }, rounded(hit.score)))));
}

function steps(stages, start) {
  let at = start;
  return stages.map((stage) => {
    const from = at;
    if (stage.factor !== undefined) at *= stage.factor;
    if (stage.amount !== undefined) at += stage.amount;
    const sign = stage.amount >= 0 ? "+" : "−";
    const label = stage.factor !== undefined ? `× ${rounded(stage.factor)}` : `${sign} ${rounded(Math.abs(stage.amount || 0))}`;
    return { stage: stage.stage, from, to: at, label, note: stage.note };
  });
}

function bar(from, to, kind) {
  const clamp = (value) => 100 * Math.min(1, Math.max(0, value));
  const width = Math.max(0.8, clamp(to) - clamp(from));
  return s("svg", { class: "push", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "rail", x: 0, y: 0, width: 100, height: 8, rx: 1 }),
    s("rect", { class: kind, x: Math.min(clamp(from), 99.2), y: 0, width, height: 8, rx: 1 }));
}
