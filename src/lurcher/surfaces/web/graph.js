// The import graph: what a file imports at the left, what depends on it at the right, a column for each hop.
import { counted, h, number, put, s } from "./dom.js";

const BOX = { width: 190, height: 26, gapX: 110, gapY: 9 };
const NARROW = 190;
const MOST = 44;
const LETTER = 6.7;

export function graphView(found, open) {
  const nodes = new Map(found.nodes.map((node) => [node.path, { ...node }]));
  const edges = found.edges.filter((edge) => nodes.has(edge.source) && nodes.has(edge.target));
  const labels = uniqueLabels([...nodes.keys()]);
  for (const node of nodes.values()) node.label = labels.get(node.path);
  BOX.width = Math.max(NARROW, ...[...nodes.values()].map((node) => LETTER * node.label.length + (node.fan_in > 1 ? 44 : 20)));
  const size = layout(nodes, edges);
  const view = { x: 0, y: 0, scale: 1 };
  const stage = s("g", { class: "stage" });
  const picture = s("svg", { class: "picture", role: "group", "aria-label": `Import graph of ${found.path}; arrow keys move between files, Enter opens one`, tabindex: "-1" },
    s("defs", null, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, s("path", { d: "M0 0 8 4 0 8z" }))),
    stage);
  const caption = h("p", { class: "caption", "aria-live": "polite" });
  drawEdges(stage, nodes, edges);
  drawNodes(stage, nodes, edges, found.path, open, caption, () => reveal());
  const apply = () => stage.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
  const box = () => picture.getBoundingClientRect();
  const zoom = (factor, x = box().width / 2, y = box().height / 2) => {
    const next = Math.min(2.5, Math.max(0.15, view.scale * factor));
    view.x = x - ((x - view.x) * next) / view.scale;
    view.y = y - ((y - view.y) * next) / view.scale;
    view.scale = next;
    apply();
  };
  const fit = () => {
    const { width, height } = box();
    if (!width) return;
    view.scale = Math.max(0.45, Math.min(1, (width - 40) / size.width, (height - 40) / size.height));
    const middle = nodes.get(found.path);
    view.x = width / 2 - (middle.x + BOX.width / 2) * view.scale;
    if (size.width * view.scale < width) view.x = (width - size.width * view.scale) / 2;
    view.y = height / 2 - (middle.y + BOX.height / 2) * view.scale;
    apply();
  };
  const reveal = () => {
    const node = [...nodes.values()].find((entry) => entry.element === document.activeElement);
    if (!node) return;
    const { width, height } = box();
    const [x, y] = [node.x * view.scale + view.x, node.y * view.scale + view.y];
    if (x < 10 || x + BOX.width * view.scale > width - 10) view.x = width / 2 - (node.x + BOX.width / 2) * view.scale;
    if (y < 10 || y > height - 40) view.y = height / 2 - node.y * view.scale;
    apply();
  };
  pan(picture, view, apply);
  picture.addEventListener("wheel", (event) => {
    event.preventDefault();
    const place = box();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - place.left, event.clientY - place.top);
  }, { passive: false });
  requestAnimationFrame(fit);
  const button = (label, text, work) => h("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick: work }, text);
  return h("section", { class: "graph", "aria-label": "Imports and dependents" },
    h("div", { class: "graph-tools" }, h("span", { class: "muted" }, summary(found)),
      button("Zoom in", "+", () => zoom(1.25)), button("Zoom out", "−", () => zoom(0.8)), button("Fit the picture", "⤢", fit)),
    picture, caption);
}

function summary(found) {
  const ahead = found.nodes.filter((node) => node.hop < 0).length;
  const behind = found.nodes.filter((node) => node.hop > 0).length;
  const hidden = found.total - found.nodes.length;
  return `imports ${counted(ahead, "file")}; ${counted(behind, "file")} ${behind === 1 ? "depends" : "depend"} on it${hidden > 0 ? `; ${number(hidden)} more not drawn` : ""}`;
}

// Columns by hop; within a column, files are near those they are linked with.
function layout(nodes, edges) {
  const columns = new Map();
  for (const node of nodes.values()) columns.set(node.hop, [...(columns.get(node.hop) || []), node]);
  const hops = [...columns.keys()].sort((a, b) => a - b);
  const near = new Map([...nodes.keys()].map((path) => [path, []]));
  for (const edge of edges) { near.get(edge.source).push(edge.target); near.get(edge.target).push(edge.source); }
  const tall = 34;
  for (const column of columns.values()) column.sort((a, b) => a.test - b.test || a.path.localeCompare(b.path));
  const rank = (list) => list.forEach((node, i) => { node.order = i - (list.length - 1) / 2; });
  for (const list of columns.values()) rank(list);
  for (let round = 0; round < 4; round += 1) {
    for (const hop of [...hops].sort((a, b) => Math.abs(a) - Math.abs(b))) {
      const list = columns.get(hop);
      for (const node of list) {
        const inner = near.get(node.path).map((path) => nodes.get(path)).filter((other) => Math.abs(other.hop) < Math.abs(hop));
        node.pull = inner.length ? inner.reduce((sum, other) => sum + other.order, 0) / inner.length : node.order;
      }
      list.sort((a, b) => a.pull - b.pull || a.test - b.test || a.path.localeCompare(b.path));
      rank(list);
    }
  }
  let left = 0;
  let height = 0;
  for (const hop of hops) {
    const list = columns.get(hop);
    const parts = Math.ceil(list.length / tall);
    const rows = Math.ceil(list.length / parts);
    list.forEach((node, i) => {
      const part = hop < 0 ? parts - 1 - Math.floor(i / rows) : Math.floor(i / rows);
      node.x = left + part * (BOX.width + 26);
      node.row = (i % rows) - (rows - 1) / 2;
    });
    left += parts * (BOX.width + 26) - 26 + BOX.gapX;
    height = Math.max(height, rows * (BOX.height + BOX.gapY));
  }
  for (const node of nodes.values()) node.y = height / 2 + node.row * (BOX.height + BOX.gapY);
  return { width: Math.max(BOX.width, left - BOX.gapX), height: height + BOX.height };
}

function drawEdges(stage, nodes, edges) {
  for (const edge of edges) {
    const [from, to] = [nodes.get(edge.source), nodes.get(edge.target)];
    // An import points to the left; one in the other direction, as in a cycle, starts and ends lower.
    const back = from.x < to.x;
    const same = from.x === to.x;
    const [x1, y1] = [from.x + (back || same ? BOX.width : 0), from.y + BOX.height / 2 + (back ? 6 : 0)];
    const [x2, y2] = [to.x + (back ? 0 : BOX.width), to.y + BOX.height / 2 + (back ? 6 : 0)];
    const bend = same ? 40 : (back ? -1 : 1) * Math.max(30, Math.abs(x1 - x2) / 2);
    const [c1, c2] = same ? [x1 + bend, x2 + bend] : [x1 - bend, x2 + bend];
    const path = s("path", { class: `edge${edge.confidence < 0.995 ? " unsure" : ""}${back ? " back" : ""}`, d: `M${x1} ${y1}C${c1} ${y1} ${c2} ${y2} ${x2} ${y2}`, "marker-end": "url(#tip)" },
      s("title", null, `${edge.source} imports ${edge.names.slice(0, 6).join(", ") || "all"} from ${edge.target}, line ${edge.line}`));
    edge.element = path;
    stage.append(path);
  }
}

function drawNodes(stage, nodes, edges, centre, open, caption, reveal) {
  const list = [...nodes.values()];
  for (const node of list) {
    const side = node.hop < 0 ? "imported" : node.hop > 0 ? "depends on it" : "this file";
    const label = node.label;
    const fan = node.fan_in > 1 ? ` ${node.fan_in}` : "";
    node.element = s("g", { class: `node${node.test ? " test" : ""}${node.path === centre ? " centre" : ""}`, transform: `translate(${node.x} ${node.y})`, role: "link",
      tabindex: node.path === centre ? "0" : "-1", "aria-label": `${label}${fan}, ${node.path}, ${side}${node.test ? ", a test" : ""}`, data: { path: node.path },
      onclick: () => open(node.path), onfocus: () => { highlightEdges(node, edges, caption); reveal(); }, onpointerenter: () => highlightEdges(node, edges, caption),
      onkeydown: (event) => key(event, node, list, open) },
      s("rect", { width: BOX.width, height: BOX.height, rx: 6 }),
      s("text", { x: 10, y: 17 }, label, fan ? s("tspan", { class: "fan", x: BOX.width - 8, "text-anchor": "end" }, fan) : null));
    stage.append(node.element);
  }
}

// The shortest end of each path that no other file in the picture has; common names such as index.js include their folder.
export function uniqueLabels(paths) {
  const ends = (path) => path.split("/").map((_, i, parts) => parts.slice(parts.length - 1 - i).join("/"));
  const counts = new Map();
  for (const path of paths) for (const end of ends(path)) counts.set(end, (counts.get(end) || 0) + 1);
  const found = new Map();
  const taken = new Set();
  for (const path of paths) {
    const least = /(^|\/)(index|__init__|mod|lib|main)\.[^/]*$/.test(path) ? 1 : 0;
    const all = ends(path);
    const full = all.slice(least).find((end) => counts.get(end) === 1) || path;
    const parts = full.split("/");
    const middle = `${parts[0]}/…/${parts[parts.length - 1]}`;
    const label = full.length <= MOST ? full : middle.length <= MOST && !taken.has(middle) ? middle : `…${full.slice(1 - MOST)}`;
    found.set(path, taken.has(label) ? full : label);
    taken.add(found.get(path));
  }
  return found;
}

function highlightEdges(node, edges, caption) {
  for (const edge of edges) edge.element.classList.toggle("lit", edge.source === node.path || edge.target === node.path);
  const mine = edges.filter((edge) => edge.source === node.path || edge.target === node.path).slice(0, 3);
  put(caption, h("b", null, node.path), mine.map((edge, i) => h("span", null, i ? ";" : "", edge.source === node.path
    ? ` imports ${edge.names.slice(0, 5).join(", ") || "all"} from ${edge.target} (line ${edge.line})`
    : ` is imported by ${edge.source}${edge.names.length ? ` (${edge.names.slice(0, 5).join(", ")})` : ""}`)));
}

function key(event, node, list, open) {
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); open(node.path); return; }
  const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
  if (!way) return;
  event.preventDefault();
  event.stopPropagation();
  const cost = (other) => {
    const [dx, dy] = [other.x - node.x, other.y - node.y];
    const ahead = dx * way[0] + dy * way[1];
    return ahead <= 1 ? Infinity : ahead + 3 * Math.abs(dx * way[1] + dy * way[0]);
  };
  const next = list.filter((other) => other !== node).sort((a, b) => cost(a) - cost(b))[0];
  if (!next || cost(next) === Infinity) return;
  for (const other of list) other.element.setAttribute("tabindex", other === next ? "0" : "-1");
  next.element.focus();
}

function pan(picture, view, apply) {
  let from = null;
  picture.addEventListener("pointerdown", (event) => {
    if (event.target.closest(".node")) return;
    from = { x: event.clientX - view.x, y: event.clientY - view.y };
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointermove", (event) => {
    if (!from) return;
    view.x = event.clientX - from.x;
    view.y = event.clientY - from.y;
    apply();
  });
  for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => { from = null; });
}
