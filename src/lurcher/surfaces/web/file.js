// One file: its outline, its text, the commit of the selected line and similar code, or who uses a name in it.
import { get } from "./api.js";
import { ago, counted, day, h, put } from "./dom.js";
import { graphView } from "./graph.js";
import { bestLine, fileAddress, swatch, VERDICTS } from "./hits.js";
import { makeListing } from "./listing.js";
import { drawReferences, moveByKeys, placeOf } from "./references.js";
import { address, plain, read } from "./route.js";

let view = null;  // the text on the screen, which stays when only the line or the panel beside it changes

/** Whether the text on the screen was read before there was an index: its past and its references are not known yet. */
export const isEarly = () => Boolean(view && view.early);

export async function fileView(state, page, signal) {
  const key = JSON.stringify([state.file, state.q, state.tab]);
  if (!state.tab && view && view.key === key && !view.early && view.listing.element.isConnected) {
    view.follow(state, signal);
    return;
  }
  view = null;
  const { main, left, side } = page;
  const path = state.file;
  left.setAttribute("aria-label", "Outline");
  side.setAttribute("aria-label", "About this line");
  put(left);
  put(side);
  const head = h("div", { class: "file-head" });
  put(main, head, h("p", { class: "muted", role: "status" }, "Reading …"));
  const file = await get("file", { path, names: state.tab ? "" : "true" }, signal);
  heading(head, file, state, page);
  if (state.tab === "graph") {
    const hops = state.hops || 1;
    const found = await get("graph", { path, hops, most: 150 }, signal);
    put(main, head, graphView(found, (other) => page.go({ ...state, file: other, line: 0, column: 0 })));
    if (found.nodes.length < 2) main.append(h("p", { class: "empty" }, "This file imports nothing of this tree, and nothing is known to import it."));
    return;
  }
  const outline = () => get("outline", { path }, signal).then((found) => drawOutline(left, found, state, page), () => null);
  if (state.tab === "references") {
    referencesView(main, head, state, page, signal, outline());
    return;
  }
  view = textView(key, file, head, state, page);
  put(main, head, view.listing.element);
  view.follow(state, signal, true);
}

// The text with its panel. What is loaded once stays; `follow` shows another line or panel.
function textView(key, file, head, first, page) {
  const { left } = page;
  let state = first;
  let layers = null;
  let [outlined, aged] = [false, false];
  let answered = "";
  const listing = makeListing(file, first.q, (line, opened) => {
    page.replace({ ...state, line, column: 0 });
    state = { ...state, line, column: 0 };
    listing.select(line, 0, false);
    heading(head, file, state, page);
    for (const link of page.side.querySelectorAll(".panel-links a, .views a")) link.href = address({ ...read(link.search), line, column: 0 });
    if (!state.ref) aboutLine(file, line, layers, state, page);
    if (opened && !state.ref) page.openSheet();
  }, (line, column) => {
    page.go({ ...state, line, column, ref: placeOf(file.path, line, column), show: "" });
    page.openSheet();
  });
  const panel = (signal) => {
    page.side.setAttribute("aria-label", state.ref ? "References" : "About this line");
    const question = JSON.stringify([state.ref, state.show]);
    if (!state.ref) {
      answered = "";
      listing.use([]);
      aboutLine(file, state.line || 1, layers, state, page);
    } else if (question !== answered || !page.side.querySelector(".references")) {
      stopAboutLine();
      listing.use([]);
      referencesPanel(state, page, signal, listing, (answer, entries) => {
        answered = question;
        const here = answer.definitions.length ? [...answer.definitions, ...entries].filter((entry) => entry.path === file.path) : listing.named(state.ref);
        listing.use(here);
      });
    }
  };
  const load = (signal) => {
    if (!outlined) get("outline", { path: file.path }, signal).then((found) => { outlined = true; drawOutline(left, found, state, page); }, () => {});
    if (aged) return;
    get("blame", { path: file.path }, signal).then((found) => { aged = true; layers = listing.age(found.commits); }, (error) => {
      if (error.name !== "AbortError") { aged = true; layers = []; }
    }).then(() => { if (aged && !state.ref && view && view.listing === listing) aboutLine(file, state.line || 1, layers, state, page); });
  };
  const follow = (next, signal, fresh = false) => {
    const moved = fresh || next.line !== state.line || next.column !== state.column;
    state = next;
    heading(head, file, state, page);
    if (moved) listing.select(state.line || 1, state.column, Boolean(state.line) && (fresh || !inView(listing.element, state.line)));
    load(signal);
    panel(signal);
  };
  return { key, listing, follow, early: file.index.generation === 0, now: () => state };
}

function inView(element, line) {
  const row = element.querySelector(`.line[data-line="${line}"]`);
  if (!row) return false;
  const box = row.getBoundingClientRect();
  return box.top > 120 && box.bottom < innerHeight - 40;
}

function heading(head, file, state, page) {
  const parts = file.path.split("/");
  const name = parts.pop();
  const tab = (key, text) => h("a", { href: address({ ...state, tab: key, hops: 0 }), "aria-current": state.tab === key ? "page" : null }, text);
  const hops = state.hops || 1;
  put(head, h("a", { class: "back", href: address(plain(state)) }, state.q ? "← hits" : "← start"),
    h("h1", null, h("span", { class: "folder" }, parts.length ? `${parts.join("/")}/` : ""), name),
    h("span", { class: "badge language" }, swatch(file.language), file.language), h("span", { class: "muted" }, counted(file.lines, "line")),
    h("nav", { class: "tabs", "aria-label": "Views of this file" }, tab("", "Text"), tab("references", "References"), tab("graph", "Imports")),
    state.tab === "graph" ? h("label", { class: "hops" }, "hops ", h("select", { onchange: (event) => page.go({ ...state, hops: Number(event.target.value) }) },
      [1, 2, 3].map((count) => h("option", { value: count, selected: count === hops }, count)))) : null,
    page.editor ? h("button", { type: "button", class: "quiet", title: "Open in your editor", onclick: () => page.openEditor(file.path, state.line || 1, file.location) }, h("span", null, h("span", { class: "unseen" }, "Open in "), "Editor"), h("kbd", { "aria-hidden": "true" }, "o")) : null);
}

// -- who uses a name ------------------------------------------------------------------------------------------------------

const closed = (state) => ({ ...state, ref: "", show: "", column: 0 });

function referencesPanel(state, page, signal, listing, found) {
  const box = h("div", { class: "references" });
  moveByKeys(box);
  put(page.side, h("div", { class: "side-head" },
    h("p", { class: "panel-links" }, h("a", { href: address(closed(state)) }, "← about the line"), " ", h("a", { href: address({ ...state, tab: "references" }) }, "full view")),
    h("button", { type: "button", class: "icon close", "aria-label": "Close this panel", onclick: page.closeSheet }, "×")), box);
  drawReferences(box, state, signal, found, listing.named(state.ref));
}

function referencesView(main, head, state, page, signal, outline) {
  const box = h("div", { class: "references", id: "references" });
  moveByKeys(box);
  const input = h("input", { id: "name", type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: "1000", placeholder: "Client.retry" });
  const form = h("form", { class: "by-name", onsubmit: (event) => {
    event.preventDefault();
    if (input.value.trim()) page.go({ ...state, ref: input.value.trim(), show: state.show });
  } }, h("label", { for: "name" }, "References of"), input, h("button", { type: "submit", class: "quiet" }, "Show"));
  put(main, head, h("section", { class: "references-view" }, form, box));
  if (state.ref) {
    drawReferences(box, state, signal, (answer) => { input.value = answer.name; });
    return;
  }
  put(box, h("p", { class: "muted" }, "Enter a name, click one in the text, or choose what this file defines:"));
  outline.then((found) => {
    const names = ((found && found.files[0] && found.files[0].symbols) || []);
    if (!signal.aborted) box.append(names.length ? h("ul", { class: "uses" }, flat(names).slice(0, 500).map((symbol) => h("li", null,
      h("a", { class: "use", href: address({ ...state, ref: symbol.qualified || symbol.name }) }, h("span", { class: "no" }, symbol.start_line), h("code", null, symbol.qualified || symbol.name)), h("span", { class: "kind" }, symbol.kind))))
      : h("p", { class: "nothing" }, "This file defines nothing that is known by name."));
  });
}

const flat = (symbols) => symbols.flatMap((symbol) => [symbol, ...flat(symbol.children)]);

function drawOutline(left, answer, state, page) {
  const symbols = (answer.files[0] && answer.files[0].symbols) || [];
  const item = (symbol, depth) => h("li", null,
    h("a", { href: fileAddress(state, state.file, symbol.start_line), title: symbol.signature, onclick: (event) => {
      event.preventDefault();
      page.go({ ...view ? view.now() : state, tab: "", line: symbol.start_line, column: 0 });
    } }, h("span", { class: `kind k-${symbol.kind}`, "aria-hidden": "true" }, symbol.kind.slice(0, 1)), symbol.name),
    symbol.children.length && depth < 4 ? h("ul", null, symbol.children.map((child) => item(child, depth + 1))) : null);
  put(left, h("details", { class: "all", open: matchMedia("(min-width: 60rem)").matches }, h("summary", null, "Outline"),
    symbols.length ? h("ul", { class: "outline" }, symbols.map((symbol) => item(symbol, 0))) : h("p", { class: "muted" }, "No symbols.")));
  return answer;
}

// -- about a line ---------------------------------------------------------------------------------------------------------

let pending = null;

function stopAboutLine() {
  clearTimeout(aboutLine.timer);
  if (pending) pending.abort();
}

function aboutLine(file, line, layers, state, page) {
  const { side } = page;
  stopAboutLine();
  pending = new AbortController();
  const { signal } = pending;
  const layer = layers && layers[line];
  const past = h("section", { class: "past" }, h("h3", null, `Line ${line}`));
  const like = h("section", { class: "like" }, h("h3", null, "Related"), h("p", { class: "muted" }, "Loading …"));
  put(side, h("div", { class: "side-head" }, h("h2", null, "About this line"), h("button", { type: "button", class: "icon close", "aria-label": "Close this panel", onclick: page.closeSheet }, "×")), past, like);
  if (layer) past.append(...commitCard(layer));
  else past.append(h("p", { class: "muted" }, isEarly() ? "The index is being built; then it is known here who wrote this line, and when." : layers ? "No commit is known for this line." : "Loading …"));
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
