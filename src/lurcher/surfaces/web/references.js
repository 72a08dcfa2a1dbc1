// Who uses a name: its definitions, then uses, callers, callees, tests or implementations, by file. What is resolved comes before
// candidates. It is drawn beside the text of a file, and as a view of its own.
import { get } from "./api.js";
import { byId, counted, h, number, put } from "./dom.js";
import { address } from "./route.js";

const VIEWS = [["uses", "Uses"], ["callers", "Callers"], ["callees", "Callees"], ["tests", "Tests"], ["implementations", "Implementations"]];
const ONE = { uses: "use", callers: "caller", callees: "callee", tests: "test", implementations: "implementation" };
const LIMITS = [100, 500, 2000];  // entries that are asked for: at first, then on request
const RETRY = 1000;  // milliseconds until a question that came before the index is asked again

/** `FILE:LINE:COLUMN`, as the server takes it. */
export const placeOf = (path, line, column) => `${path}:${line}:${column}`;

/** Fills `box` with the answer to `state.ref`, and calls `found` with it. `here` are the places of the name in the file that is shown:
 * they come first where nothing of the tree defines the name, as of a local variable. */
export async function drawReferences(box, state, signal, found = () => {}, here = [], limit = LIMITS[0]) {
  const again = (size) => drawReferences(box, state, signal, found, here, size);
  const show = state.show || "uses";
  const title = h("h2", { class: "references-title" }, "References");
  const body = h("div", { class: "references-body" }, h("p", { class: "muted", role: "status" }, "Looking …"));
  put(box, title, views(state, show), body);
  let answer;
  try {
    answer = await get("references", { name: state.ref, show, limit }, signal);
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    put(body, h("p", { role: "status" }, error.code === "indexing" ? "The index is being built; the answer comes as soon as it is ready." : error.message),
      error.hint ? h("p", { class: "muted" }, error.hint) : null);
    if (error.code === "indexing") {
      const timer = setTimeout(() => again(limit), RETRY);
      signal.addEventListener("abort", () => clearTimeout(timer));
    }
    return;
  }
  if (signal.aborted) return;
  const entries = answer.references || answer.calls || answer.implementations || [];
  const amount = counted(answer.total, ONE[show] || "entry");
  put(title, h("code", null, answer.name));
  put(body,
    remarks(answer), definitions(answer, state),
    groups(entries, answer, state, show, here),
    entries.length < answer.total ? more(entries.length, answer.total, limit, () => again(LIMITS.find((size) => size > limit))) : null,
    answer.complete === false ? h("p", { class: "muted" }, "Not everything was looked at: there are more.") : null);
  byId("announcement").textContent = answer.definitions.length || entries.length || here.length ? `${amount} of ${answer.name}` : `Nothing in this tree is called ${answer.name}`;
  found(answer, entries);
}

function views(state, show) {
  return h("nav", { class: "views", "aria-label": "What to list" }, h("ul", null, VIEWS.map(([key, title]) => h("li", null,
    h("a", { href: address({ ...state, show: key === "uses" ? "" : key }), "aria-current": key === show ? "page" : null }, title)))));
}

function remarks(answer) {
  const list = (answer.degraded || []).filter((entry) => entry.reason);
  return list.length ? h("ul", { class: "remarks" }, list.map((entry) => h("li", null, `${entry.reason[0].toUpperCase()}${entry.reason.slice(1)}.`))) : null;
}

function definitions(answer, state) {
  if (!answer.definitions.length) return null;
  return h("section", { class: "defined" }, h("h3", null, answer.definitions.length > 1 ? `Definitions (${number(answer.definitions.length)})` : "Definition"),
    h("ul", { class: "uses" }, answer.definitions.slice(0, 50).map((place) => h("li", null,
      h("a", { class: "use", href: address({ ...state, tab: "", file: place.path, line: place.line, column: place.column }) },
        h("span", { class: "where" }, folder(place.path), `:${place.line}`), h("code", null, place.signature || place.name)),
      h("span", { class: "kind" }, place.kind)))));
}

const folder = (path) => {
  const at = path.lastIndexOf("/") + 1;
  return [h("span", { class: "folder" }, path.slice(0, at)), path.slice(at)];
};

function groups(entries, answer, state, show, here) {
  const known = entries.filter((entry) => entry.resolution === "resolved");
  const rest = entries.filter((entry) => entry.resolution !== "resolved");
  if (!entries.length && (show !== "uses" || !here.length)) return h("p", { class: "nothing" }, answer.definitions.length || here.length ? `No ${ONE[show] || "entry"} is known.` : `Nothing in this tree is called ${answer.name}.`);
  const name = answer.name.split(/[.:#]/).pop();
  if (!answer.definitions.length && here.length && show === "uses") {
    const others = rest.filter((entry) => entry.path !== here[0].path);
    return [h("section", null, h("h3", null, `In this file (${number(here.length)})`), byFile(here, state, show, name)),
      others.length ? h("section", { class: "candidates" }, h("h3", null, `In other files (${number(Math.max(others.length, answer.total - here.length))})`), byFile(others, state, show, name)) : null];
  }
  const resolved = answer.resolved === undefined ? known.length : answer.resolved;
  const unsure = answer.resolved === undefined ? rest.length : answer.total - answer.resolved;
  return [
    known.length ? h("section", { class: "resolved" }, h("h3", null, `${title(show)} (${number(resolved)})`), byFile(known, state, show, name)) : null,
    rest.length ? h("section", { class: "candidates" }, h("h3", null, `Candidates (${number(unsure)})`),
      h("p", { class: "muted" }, answer.definitions.length ? "The code does not say which definition these mean." : "All places with the name."), byFile(rest, state, show, name)) : null,
  ];
}

const title = (show) => (VIEWS.find(([key]) => key === show) || ["", "Entries"])[1];

// Where an entry leads: a call to the line of the call, all others to their own line.
const placeIn = (entry, show) => (entry.call && show !== "callees" ? entry.call : entry);

function byFile(entries, state, show, name) {
  const files = new Map();
  for (const entry of entries) {
    const place = placeIn(entry, show);
    if (!files.has(place.path)) files.set(place.path, new Map());
    const rows = files.get(place.path);
    const key = `${place.line} ${entry.name || ""}`;
    rows.set(key, [...(rows.get(key) || []), entry]);
  }
  return [...files].map(([path, rows]) => h("section", { class: "file-uses" },
    h("h4", null, folder(path), " ", h("span", { class: "count" }, number(rows.size))),
    h("ul", { class: "uses" }, [...rows.values()].map((same) => row(same, state, show, name)))));
}

// One line of a file, with all uses in it.
function row(same, state, show, name) {
  const [entry] = same;
  const place = placeIn(entry, show);
  const kinds = [...new Set(same.map((one) => one.kind))];
  const inside = entry.text === undefined ? "" : entry.enclosing;
  const says = entry.text === undefined ? entry.signature || entry.name || "(top level)" : entry.text;
  const notes = [kinds.join(", "), inside ? `in ${inside}` : "", entry.depth > 1 && (entry.via || entry.of) ? `via ${entry.via || entry.of}` : "", entry.test && show !== "tests" ? "test" : ""];
  return h("li", null, h("a", { class: "use", href: address({ ...state, tab: "", file: place.path, line: place.line, column: place.column || 0 }) },
    h("span", { class: "no" }, place.line), h("code", null, emphasised(says, entry.text === undefined ? "" : name))),
  h("span", { class: "kind" }, notes.filter(Boolean).join(" · ")));
}

// The text of a line with the name in bold, as a whole word.
function emphasised(text, name) {
  if (!name) return text;
  const found = [];
  let last = 0;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    const [before, after] = [text.slice(0, at), text.slice(at + name.length)];
    if (/[\p{L}\p{N}_$]$/u.test(before) || /^[\p{L}\p{N}_$]/u.test(after)) continue;
    found.push(text.slice(last, at), h("b", null, name));
    last = at + name.length;
  }
  return [...found, text.slice(last)];
}

function more(listed, total, limit, next) {
  const further = LIMITS.some((size) => size > limit);
  return further ? h("button", { type: "button", class: "further", onclick: next }, `Show more: ${number(listed)} of ${number(total)} are listed`)
    : h("p", { class: "muted" }, `${number(listed)} of ${number(total)} are listed.`);
}

/** ↓ and ↑ move between the entries of a list. */
export function moveByKeys(box) {
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const here = event.target.closest("a.use");
    if (!step || !here || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = [...box.querySelectorAll("a.use")];
    const next = all[all.indexOf(here) + step];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    next.focus();
  });
}
