// One file: its outline, its text with the age of each line, the commit of the selected line, and similar code.
import { get } from "./api.js";
import { ago, byId, counted, day, h, number, put } from "./dom.js";
import { graphView } from "./graph.js";
import { lines, marksOf, termsOf, tokens } from "./highlight.js";
import { bestLine, fileAddress, swatch, VERDICTS } from "./hits.js";
import { lineContent } from "./marked.js";
import { address, plain } from "./route.js";

const CHUNK = 80;
const MOST_LINES = 20000;

export async function fileView(state, page, signal) {
  const { main, left, side } = page;
  const path = state.file;
  left.setAttribute("aria-label", "Outline");
  side.setAttribute("aria-label", "About this line");
  put(left);
  put(side);
  const head = h("div", { class: "file-head" });
  put(main, head, h("p", { class: "muted", role: "status" }, "Reading …"));
  const file = await get("file", { path }, signal);
  heading(head, file, state, page);
  if (state.tab === "graph") {
    const hops = state.hops || 1;
    const found = await get("graph", { path, hops, most: 150 }, signal);
    put(main, head, graphView(found, (other) => page.go({ ...state, file: other, line: 0 })));
    if (found.nodes.length < 2) main.append(h("p", { class: "empty" }, "This file imports nothing of this tree, and nothing is known to import it."));
    return;
  }
  const listing = drawText(file, state, page);
  put(main, head, listing.element);
  listing.select(state.line || 1, Boolean(state.line));
  get("outline", { path }, signal).then((found) => drawOutline(left, found, state, page), () => {});
  get("blame", { path }, signal).then((found) => { listing.heat(found.commits); listing.select(state.line || 1, false); }, () => listing.heat(null));
}

function heading(head, file, state, page) {
  const parts = file.path.split("/");
  const name = parts.pop();
  const tab = (key, text) => h("a", { href: address({ ...state, tab: key, hops: 0 }), "aria-current": state.tab === key ? "page" : null }, text);
  const hops = state.hops || 1;
  put(head, h("a", { class: "back", href: address(plain(state)) }, state.q ? "← hits" : "← start"),
    h("h1", null, h("span", { class: "folder" }, parts.length ? `${parts.join("/")}/` : ""), name),
    h("span", { class: "badge language" }, swatch(file.language), file.language), h("span", { class: "muted" }, counted(file.lines, "line")),
    h("nav", { class: "tabs", "aria-label": "Views of this file" }, tab("", "Text"), tab("graph", "Imports")),
    state.tab === "graph" ? h("label", { class: "hops" }, "hops ", h("select", { onchange: (event) => page.go({ ...state, hops: Number(event.target.value) }) },
      [1, 2, 3].map((count) => h("option", { value: count, selected: count === hops }, count)))) : null,
    page.editor ? h("button", { type: "button", class: "quiet", onclick: () => page.openEditor(file.path, state.line || 1, file.location) }, "Open in editor", h("kbd", { "aria-hidden": "true" }, "o")) : null);
}

function drawText(file, state, page) {
  const text = file.text.replace(/\n$/, "");
  const terms = state.q ? termsOf(state.q, null) : new Set();
  const marks = state.q ? marksOf(text, terms) : [];
  const raw = text.split("\n");
  const shown = Math.min(raw.length, MOST_LINES);
  let coloured = null;
  const colour = () => coloured || (coloured = lines(text, tokens(text, file.language), marks));
  const rows = [];
  const element = h("div", { class: "listing", tabindex: "0", role: "region", "aria-label": `Text of ${file.path}; arrow keys select a line` });
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      const first = Number(entry.target.dataset.first);
      [...entry.target.children].forEach((row, i) => row.lastChild.replaceWith(lineContent(colour()[first + i])));
    }
  }, { rootMargin: "600px" });
  for (let first = 0; first < shown; first += CHUNK) {
    const chunk = h("div", { class: "chunk", data: { first } });
    chunk.style.containIntrinsicBlockSize = `auto ${Math.min(CHUNK, shown - first) * 20}px`;
    for (let i = first; i < Math.min(shown, first + CHUNK); i += 1) {
      const row = h("div", { class: "line", data: { line: i + 1 } }, h("span", { class: "heat" }), h("span", { class: "no", "aria-hidden": "true" }, i + 1), h("span", { class: "code" }, raw[i]));
      rows.push(row);
      chunk.append(row);
    }
    element.append(chunk);
    seen.observe(chunk);
  }
  if (raw.length > shown) element.append(h("p", { class: "muted" }, `… ${counted(raw.length - shown, "more line")}: open the file in your editor`));
  let current = 0;
  let layers = null;
  const select = (line, reveal) => {
    current = Math.min(shown, Math.max(1, line));
    for (const row of element.querySelectorAll(".chosen")) row.classList.remove("chosen");
    rows[current - 1].classList.add("chosen");
    if (reveal) rows[current - 1].scrollIntoView({ block: "center" });
    aboutLine(file, current, layers, state, page);
  };
  const choose = (line) => {
    page.replace({ ...state, line });
    state.line = line;
    select(line, false);
    rows[current - 1].scrollIntoView({ block: "nearest" });
  };
  element.addEventListener("click", (event) => {
    const row = event.target.closest(".line");
    if (!row || String(getSelection())) return;
    choose(Number(row.dataset.line));
    page.openSheet();
  });
  element.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(Math.min(shown, Math.max(1, current + step)));
  });
  const heat = (commits) => {
    layers = [];
    if (!commits) { select(current || 1, false); return; }
    const times = commits.map((commit) => (commit.date ? Date.parse(commit.date) : Date.now()));
    const order = [...new Set(times)].sort((a, b) => a - b);
    commits.forEach((commit, i) => {
      const warmth = order.length < 2 ? 7 : Math.round((7 * order.indexOf(times[i])) / (order.length - 1));
      for (const [first, last] of commit.lines) {
        for (let line = first; line <= Math.min(last, shown); line += 1) {
          layers[line] = commit;
          rows[line - 1].firstChild.className = `heat h${warmth}`;
          rows[line - 1].firstChild.title = commit.sha ? `${day(commit.date)} ${commit.subject}` : "not committed yet";
        }
      }
    });
  };
  return { element, heat, select };
}

function drawOutline(left, answer, state, page) {
  const symbols = (answer.files[0] && answer.files[0].symbols) || [];
  const item = (symbol, depth) => h("li", null,
    h("a", { href: fileAddress(state, state.file, symbol.start_line), title: symbol.signature, onclick: (event) => {
      event.preventDefault();
      page.go({ ...state, line: symbol.start_line });
    } }, h("span", { class: `kind k-${symbol.kind}`, "aria-hidden": "true" }, symbol.kind.slice(0, 1)), symbol.name),
    symbol.children.length && depth < 4 ? h("ul", null, symbol.children.map((child) => item(child, depth + 1))) : null);
  put(left, h("details", { class: "all", open: matchMedia("(min-width: 60rem)").matches }, h("summary", null, "Outline"),
    symbols.length ? h("ul", { class: "outline" }, symbols.map((symbol) => item(symbol, 0))) : h("p", { class: "muted" }, "No symbols.")));
}

let pending = null;

function aboutLine(file, line, layers, state, page) {
  const { side } = page;
  if (pending) pending.abort();
  pending = new AbortController();
  const { signal } = pending;
  const layer = layers && layers[line];
  const past = h("section", { class: "past" }, h("h3", null, `Line ${line}`));
  const like = h("section", { class: "like" }, h("h3", null, "Related"), h("p", { class: "muted" }, "Loading …"));
  put(side, h("div", { class: "side-head" }, h("h2", null, "About this line"), h("button", { type: "button", class: "icon close", "aria-label": "Close this panel", onclick: page.closeSheet }, "×")), past, like);
  if (layer) past.append(...commitCard(layer));
  else past.append(h("p", { class: "muted" }, layers ? "No commit is known for this line." : "Loading …"));
  clearTimeout(aboutLine.timer);
  aboutLine.timer = setTimeout(async () => {
    const requests = [get("related", { path: file.path, line, limit: 6, context: "none" }, signal)];
    if (layer && layer.sha) requests.push(get("explain", { path: file.path, first: line, last: line, limit: 1 }, signal));
    const [related, explained] = await Promise.allSettled(requests);
    if (signal.aborted) return;
    put(like, h("h3", null, "Related"), related.status === "fulfilled" && related.value.hits.length
      ? h("ul", { class: "related" }, related.value.hits.map((hit) => h("li", null, h("a", { href: fileAddress(state, hit.path, bestLine(hit)) },
        h("span", { class: "folder" }, hit.path), `:${bestLine(hit)}`), hit.symbol ? h("code", null, hit.symbol) : null)))
      : h("p", { class: "muted" }, "No similar code found."));
    const found = explained && explained.status === "fulfilled" && explained.value.commits[0];
    if (found) put(past, h("h3", null, `Line ${line}`), ...commitCard({ ...layer, ...found }));
  }, 140);
}

function commitCard(commit) {
  if (!commit.sha) return [h("p", null, "Not committed yet.")];
  const verdict = commit.outcome && commit.outcome.verdict;
  return [
    h("p", { class: "subject" }, commit.subject),
    h("p", { class: "sub" }, h("code", { class: "sha" }, commit.sha.slice(0, 9)), ` ${commit.author}, `, h("time", { datetime: commit.date }, `${day(commit.date)} (${ago(commit.date)})`),
      verdict ? [" ", h("span", { class: `badge outcome ${verdict}` }, VERDICTS[verdict] || verdict)] : null),
    commit.body ? h("p", { class: "message" }, commit.body.length > 500 ? `${commit.body.slice(0, 500)}…` : commit.body) : null,
    commit.related && commit.related.length ? h("ul", { class: "related" }, commit.related.slice(0, 3).map((entry) => h("li", null, h("code", { class: "sha" }, entry.sha.slice(0, 9)), ` ${entry.subject}`))) : null,
  ];
}
