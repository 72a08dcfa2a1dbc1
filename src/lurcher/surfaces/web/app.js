// The page: reads the address, sends queries, draws the views, and handles keys.
import { get, scope } from "./api.js";
import { byId, counted, h, number, put } from "./dom.js";
import { facetList } from "./facets.js";
import { fileView, isEarly } from "./file.js";
import { bestLine, hitList, summary } from "./hits.js";
import { address, canBeExact, exactly, filtered, inexact, isExact, plain, read, searchParameters, unfiltered } from "./route.js";
import { fillProgress, follow, languages, open as openDialog, shared, statusDialog } from "./status.js";
import { timeline } from "./timeline.js";
import { whyPanel } from "./why.js";

const TYPING_PAUSE = 80;  // milliseconds without a key before a query is sent
const LIMIT = 12;
const RETRY = 5000;  // milliseconds until a quick answer is asked for again
const SOURCES = [["", "Code"], ["history", "History"], ["notes", "Notes"], ["all", "All"]];
const KINDS = { words: "a question in words", name: "a name", pattern: "a regular expression", past: "commits and their outcomes", note: "documents and notes" };

const [box, main, left, side, dialog] = ["q", "main", "facets", "side", "dialog"].map(byId);
let state = read();
let answer = null;
let chosen = -1;
let visited = "";  // the file that was shown before the hits
let running = new AbortController();
let timer = 0;
let events = null;
const narrow = matchMedia("(max-width: 78rem)");
const page = { main, left, side, editor: "", projects: null, go, replace, openEditor, openSheet, closeSheet };

// -- navigation ------------------------------------------------------------------------------------------------------

function go(next) {
  if (address(next) !== location.pathname + location.search) history.pushState(null, "", address(next));
  state = next;
  show();
}

function replace(next) {
  history.replaceState(null, "", address(next));
  state = next;
}

addEventListener("popstate", () => { state = read(); box.value = state.q; show(); });

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/']");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const next = read(new URL(link.href).search);
  if (next.q !== state.q) box.value = next.q;
  go(next);
  if (next.file) main.focus({ preventScroll: true });
});

function newSignal() {
  running.abort();
  running = new AbortController();
  return running.signal;
}

function show() {
  clearTimeout(timer);
  chooseProject();
  document.title = [state.file || state.q, "lurcher"].filter(Boolean).join(" · ");
  document.body.dataset.view = state.file ? "file" : state.q.trim() ? "hits" : "start";
  document.body.classList.remove("sheet");
  byId("sources").hidden = Boolean(state.file);
  if (state.file) visited = state.file;
  tabs();
  switches();
  if (state.file) showFile();
  else if (state.q.trim()) search();
  else start();
}

// The project of a team's server: the one in the address, else the first. One that cannot be seen stays there, and is an error.
function chooseProject() {
  if (!page.projects) return;
  if (!state.project && page.projects.length) replace({ ...state, project: page.projects[0] });
  scope.project = state.project;
  const known = page.projects.includes(state.project);
  put(byId("project"), known ? null : h("option", { value: "", disabled: true }, "choose a project"), page.projects.map((name) => h("option", { value: name }, name)));
  byId("project").value = known ? state.project : "";
  byId("picker").hidden = !page.projects.length;
}

function tabs(counts = {}) {
  put(byId("sources"), h("ul", null, SOURCES.map(([source, title]) => {
    const count = counts[source || "code"];
    return h("li", null, h("a", { href: address({ ...unfiltered(plain(state)), in: source }), "aria-current": (state.in || "") === source || (state.in === "code" && !source) ? "page" : null }, title,
      count === undefined || count === null ? null : h("span", { class: "count" }, number(count))));
  })));
}

const SWITCHES = [
  ["exact", "Exact", "Exact text", (now) => isExact(now), (now) => (isExact(now) ? inexact(now) : exactly(now, {}))],
  ["regex", ".*", "Regular expression", (now) => isExact(now) && !now.fixed, (now) => exactly(now, { fixed: isExact(now) && !now.fixed ? "true" : "" })],
  ["case", "Aa", "Match case", (now) => isExact(now) && now.case === "exact", (now) => exactly(now, { case: isExact(now) && now.case === "exact" ? "" : "exact" })],
  ["word", "ab|", "Whole words", (now) => isExact(now) && Boolean(now.word), (now) => exactly(now, { word: isExact(now) && now.word ? "" : "true" })],
];

// The buttons are made once, so that the pressed one keeps the focus.
function switches() {
  const place = byId("switches");
  place.hidden = !canBeExact(state);
  if (!place.firstChild) {
    put(place, SWITCHES.map(([name, text, title, , toggled]) => h("button", { type: "button", class: "switch", id: `switch-${name}`, title,
      onclick: () => { const next = toggled({ ...plain(state), q: box.value }); if (next.q.trim()) go(next); else { replace(next); switches(); } } }, h("span", { "aria-hidden": "true" }, text), h("span", { class: "unseen" }, title))));
  }
  for (const [name, , , pressed] of SWITCHES) byId(`switch-${name}`).setAttribute("aria-pressed", pressed(state));
}

// -- searching ------------------------------------------------------------------------------------------------------------

async function search() {
  const signal = newSignal();
  const mine = state;
  const began = performance.now();
  main.setAttribute("aria-busy", "true");
  try {
    const found = await ask(mine, signal);
    if (signal.aborted) return;
    answer = found;
    draw(performance.now() - began);
    performance.mark("lurcher-painted", { detail: mine.q });
    main.removeAttribute("aria-busy");  // the hits are drawn; counts may come later
    await facets(mine, signal);
  } catch (error) {
    if (error.name !== "AbortError" && !signal.aborted) showError(error);
  } finally {
    if (!signal.aborted) main.removeAttribute("aria-busy");
  }
}

const ask = (mine, signal, more = {}) => get("search", { ...searchParameters(mine), limit: LIMIT, ...more }, signal);

async function facets(mine, signal) {
  try {
    const found = await get("facets", searchParameters(mine), signal);
    if (signal.aborted) return;
    const counts = Object.fromEntries(found.sources.map((entry) => [entry.value, entry.count]));
    tabs(counts);
    facetList(left, found, mine, go);
    if (!answer.hits.length && !isQuick()) showNothing(counts);
  } catch (error) {
    if (error.name !== "AbortError") put(left);
  }
}

// -- drawing -----------------------------------------------------------------------------------------------------------

function draw(milliseconds) {
  left.setAttribute("aria-label", "Filters");
  side.setAttribute("aria-label", "Why this hit is here");
  const list = h("ol", { class: "hits", id: "hits" }, hitList(answer, state, choose));
  const text = summary(answer, milliseconds);
  const history = answer.hits.some((hit) => hit.source === "history") ? timeline(answer.hits, (position) => focusHit(position)) : null;
  put(main, h("div", { class: "summary" }, h("h1", { class: "unseen" }, `Hits for ${answer.query.slice(0, 200)}`), h("p", null, text), freshness(answer.index)), usage(), caveat(), quickNotice(), notes(), history, list,
    answer.next ? h("button", { type: "button", class: "further", id: "more-hits", onclick: loadMore }, "More hits") : null);
  byId("announcement").textContent = answer.hits.length ? `${text} for ${answer.query}` : `Nothing found for ${answer.query}`;
  chosen = -1;
  const back = document.activeElement === box ? -1 : answer.hits.findIndex((hit) => visited && hit.path === visited);
  visited = "";
  if (back >= 0) focusHit(back);
  else if (answer.hits.length) choose(0, false);
  else { put(side); if (!isQuick()) showNothing({}); }
  fillProgress();
  if (isQuick() && (!events || events.readyState !== EventSource.OPEN)) timer = setTimeout(show, RETRY);
}

// Who uses a name, if the query asks for it: a link to each place, before the hits.
function usage() {
  const found = answer.references;
  if (!found) return null;
  const listed = found.entries.length < found.total ? `, ${number(found.entries.length)} listed` : "";
  return h("section", { class: "usage", id: "usage", "aria-labelledby": "usage-title" },
    h("h2", { id: "usage-title" }, `${counted(found.total, found.show.replace(/s$/, ""))} of `, h("code", null, found.name), listed),
    h("ul", { class: "related" }, found.entries.map((entry) => {
      const place = entry.call && found.show !== "callees" ? entry.call : entry;
      return h("li", null, h("a", { href: address({ ...state, file: place.path, line: place.line }) }, h("span", { class: "folder" }, place.path), `:${place.line}`), " ",
        h("span", { class: "muted" }, [entry.kind, entry.resolution === "resolved" ? "" : entry.resolution].filter(Boolean).join(", ")), h("code", null, entry.text || entry.name || ""));
    })),
    found.definitions.length ? h("p", { class: "small" }, h("a", { href: address({ ...state, file: found.definitions[0].path, line: found.definitions[0].line, tab: "references", ref: found.name, show: found.show === "uses" ? "" : found.show }) }, `All ${number(found.total)} by file`)) : null);
}

// An answer from a few files, before there is an index: it is marked as such, and replaced once there is one.
const isQuick = () => answer.index.generation === 0 && !answer.index.fresh && !answer.index.shared;

function quickNotice() {
  if (!isQuick()) return null;
  const note = (answer.degraded || []).find((entry) => entry.stage === "index");
  return h("section", { class: "quick", id: "quick", "aria-labelledby": "quick-title" }, h("p", null, h("b", { id: "quick-title" }, "A quick answer, while the index is being built."),
    " ", note ? note.reason.replace(/^[^.]*\. /, "") : "", note ? ". " : "", "The full answer will replace it. "),
    h("progress", { id: "quick-bar", "aria-label": "Progress of the index" }), h("p", { class: "muted small", id: "quick-far" }));
}

function freshness(index) {
  const covered = index.coverage && index.coverage.history;
  return [index.fresh || index.shared || !index.generation ? null : h("p", { class: "stale" }, `The index is out of date: ${counted(index.stale_paths, "file")} changed.`),
    index.shared ? h("p", { class: "muted" }, `From a shared index: ${Object.entries(index.shared).map(([name, state]) => `${name}, written ${state.written}`).join("; ")}.`) : null,
    covered !== undefined && covered < 1 ? h("p", { class: "stale" }, `${Math.floor(100 * covered)} % of the history is searched so far; the right commit may be missing.`) : null];
}

// That an answer is weak comes before its hits.
const caveat = () => answer.caveat ? h("p", { class: "caveat", role: "status" }, `${answer.caveat}.`) : null;

function notes() {
  const list = (answer.degraded || []).filter((entry) => entry.reason && !(isQuick() && entry.stage === "index"));
  return list.length ? h("ul", { class: "remarks" }, list.map((entry) => h("li", null, entry.reason, entry.hint ? h("span", { class: "muted" }, `; ${entry.hint}`) : null))) : null;
}

function showNothing(counts) {
  const names = { code: "", history: "history", notes: "notes" };
  const elsewhere = Object.entries(counts).filter(([name, count]) => count && names[name] !== (state.in || ""));
  const old = byId("nothing");
  if (old) old.remove();
  main.append(h("section", { class: "empty", id: "nothing" }, h("h2", null, "Nothing found"),
    h("ul", null,
      filtered(state) ? h("li", null, h("a", { href: address(unfiltered(state)) }, "Search without the filters")) : null,
      elsewhere.map(([name, count]) => h("li", null, h("a", { href: address({ ...unfiltered(plain(state)), in: names[name] }) }, `${counted(count, "hit")} in ${name}`))),
      state.mode ? h("li", null, h("a", { href: address(inexact(state)) }, "Search for words and meaning instead")) : null,
      answer.unknown_words ? h("li", null, `Nowhere in the index: ${answer.unknown_words.join(", ")}`) : null,
      h("li", null, "Try other words, fewer words, or part of a name."))));
}

async function loadMore() {
  const button = byId("more-hits");
  button.disabled = true;
  try {
    const next = await ask(state, running.signal, { cursor: answer.next });
    const first = answer.hits.length;
    answer = { ...next, hits: [...answer.hits, ...next.hits] };
    const items = hitList(answer, state, choose).slice(first);
    byId("hits").append(...items);
    if (answer.next) button.disabled = false;
    else button.remove();
    byId("announcement").textContent = `${number(next.hits.length)} more ${next.hits.length === 1 ? "hit" : "hits"}`;
    focusHit(first);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.code === "cursor") search();
    else showError(error);
  }
}

function choose(position, opened) {
  if (position !== chosen) {
    const before = main.querySelector(".hit.chosen");
    if (before) before.classList.remove("chosen");
    chosen = position;
    const item = main.querySelector(`.hit[data-position="${position}"]`);
    if (item) item.classList.add("chosen");
    for (const node of main.querySelectorAll(".commit")) node.classList.toggle("chosen", Number(node.dataset.position) === position);
    put(side, whyPanel(answer, position, closeSheet));
  }
  if (opened) {
    openSheet();
    const close = side.querySelector(".close");
    if (close && close.offsetParent) close.focus();
  }
}

// On a narrow screen the panel opens over the hits, from below.
function openSheet() {
  if (narrow.matches) document.body.classList.add("sheet");
}

function closeSheet() {
  document.body.classList.remove("sheet");
  if (state.file) main.focus({ preventScroll: true });
  else if (chosen >= 0) focusHit(chosen);
}

function focusHit(position) {
  const link = byId(`hit-${position}`);
  if (!link) return false;
  link.focus({ preventScroll: true });
  link.closest(".hit").scrollIntoView({ block: "nearest" });
  return true;
}

main.addEventListener("focusin", (event) => {
  const item = event.target.closest(".hit");
  if (item) choose(Number(item.dataset.position), false);
});

main.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-sha]");
  if (!link) return;
  event.preventDefault();
  const at = answer.hits.findIndex((hit) => hit.commit && hit.commit.sha === link.dataset.sha);
  if (at >= 0) focusHit(at);
  else go({ ...unfiltered(plain(state)), in: "history", q: (link.nextSibling && link.nextSibling.textContent.trim()) || link.dataset.sha });
});

async function showFile() {
  const signal = newSignal();
  try {
    await fileView(state, page, signal);
  } catch (error) {
    if (error.name !== "AbortError" && !signal.aborted) showError(error);
  }
}

async function start() {
  const signal = newSignal();
  answer = null;
  put(left);
  put(side);
  const facts = h("section", { class: "about" }, h("h2", null, "This index"), h("p", { class: "muted" }, "Loading …"));
  put(main, h("section", { class: "start" }, h("h1", null, "Search this code"),
    h("p", null, page.projects ? "Hits appear as you type, each with the reason for its rank, from an index that the team shares."
      : "Hits appear as you type, always from the current state of the files, each with the reason for its rank. Nothing leaves this machine."),
    h("ul", { class: "examples", id: "examples" }), keys()), facts);
  examples(signal);
  try {
    const status = await get("status", {}, signal);
    const root = (status.roots || [status])[0];
    put(facts, h("h2", null, root.project || root.root.split("/").pop() || "This index"),
      root.exists ? [h("p", null, counted(root.files, "file"), ", ", root.definitions === undefined ? counted(root.units, "unit") : counted(root.definitions, "definition"), root.history && root.history.exists ? `, ${counted(root.history.commits, "commit")}` : ""), root.languages ? languages(root.languages) : null]
        : h("p", null, root.problem || "The index is being built."));
  } catch (error) {
    if (error.name !== "AbortError") put(facts, h("h2", null, "This index"), h("p", null, error.message));
  }
}

async function examples(signal) {
  try {
    const found = await get("examples", {}, signal);
    const place = byId("examples");
    if (signal.aborted || !place) return;
    put(place, found.examples.map((one) => h("li", null, h("a", { href: address({ ...inexact(plain(state)), q: one.text, in: one.source }) }, one.text), h("span", { class: "muted" }, KINDS[one.what] || ""))));
  } catch { /* the start page works without examples */ }
}

function showError(error) {
  main.removeAttribute("aria-busy");
  if (error.code === "indexing") {
    put(main, h("section", { class: "empty", id: "indexing" }, h("h1", null, "The index is being built"), h("p", null, error.message), h("p", { class: "muted" }, "Your query will be answered as soon as it is ready.")));
    timer = setTimeout(show, 1000);
    return;
  }
  byId("announcement").textContent = error.message;
  put(side);
  put(main, h("section", { class: "empty failure", id: "failure" }, h("h1", null, error.status === 404 ? "Not in the index" : "The request failed"), h("p", null, error.message),
    error.hint ? h("p", { class: "muted" }, error.hint) : null, h("button", { type: "button", class: "quiet", onclick: show }, "Try again")));
}

function keys() {
  const rows = [["/", "edit the query"], ["↓ ↑", "next or previous hit"], ["Enter", "open the file"], ["o", "open in the editor"], ["w", "why it is here"], ["g", "imports of the file"], ["r", "references of a name"], ["→ ←", "next or previous name in a file"], ["Esc", "back"], ["?", "show the keys"]];
  return h("dl", { class: "keys" }, rows.map(([key, what]) => h("div", null, h("dt", null, h("kbd", null, key)), h("dd", null, what))));
}

// -- the editor --------------------------------------------------------------------------------------------------------

async function openEditor(path, line, location) {
  if (!page.editor) return;
  const where = location || (await get("file", { path })).location;
  const escaped = where.split("/").map(encodeURIComponent).join("/");
  const target = page.editor.replace("{path}", () => escaped).replace("{line}", () => line);
  h("a", { href: target }).click();
}

// The place that the link with the focus leads to, such as a further place of a hit; without one, `otherwise`.
function placeOfFocus(otherwise) {
  const link = document.activeElement.closest("main a[href^='/?file='], .side a[href^='/?file=']");
  const there = link ? read(new URL(link.href).search) : otherwise;
  return [there.file, there.line || 1];
}

// -- keys --------------------------------------------------------------------------------------------------------------

box.addEventListener("input", () => {
  clearTimeout(timer);
  running.abort();
  const next = { ...plain(state), q: box.value };
  timer = setTimeout(() => {
    if (Boolean(next.q.trim()) !== Boolean(state.q.trim()) || state.file) history.pushState(null, "", address(next));
    else history.replaceState(null, "", address(next));
    state = next;
    show();
  }, TYPING_PAUSE);
});

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  go({ ...plain(state), q: box.value });
});

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
  const writing = event.target === box;
  if (event.target.matches("input, select, textarea") && !writing) return;
  const hit = event.target.closest && event.target.closest(".hit");
  const at = hit ? Number(hit.dataset.position) : chosen;
  const done = handle(event.key, writing, hit, at);
  if (done) event.preventDefault();
});

function handle(key, writing, hit, at) {
  if (key === "Escape") return escape(writing);
  if (key === "ArrowDown" && (writing || document.activeElement === document.body)) return focusHit(0);
  if (writing) return false;
  if (key === "/") { box.focus(); box.select(); return true; }
  if (key === "?") { help(); return true; }
  if (hit && (key === "ArrowDown" || key === "j")) return focusHit(at + 1);
  if (hit && (key === "ArrowUp" || key === "k")) {
    if (at) return focusHit(at - 1);
    box.focus();
    return true;
  }
  if (state.file) {
    if (key === "o") { openEditor(...placeOfFocus(state)); return true; }
    if (key === "g") { go({ ...state, tab: state.tab === "graph" ? "" : "graph" }); return true; }
    if (key === "r") { go({ ...state, tab: state.tab === "references" ? "" : "references" }); return true; }
    return false;
  }
  if (!answer || !answer.hits[at]) return false;
  if (key === "o") { openEditor(...placeOfFocus({ file: answer.hits[at].path, line: bestLine(answer.hits[at]) })); return true; }
  if (key === "w") { choose(at, true); return true; }
  if (key === "g" && answer.hits[at].source !== "history") { go({ ...state, file: answer.hits[at].path, tab: "graph" }); return true; }
  if (key === "r" && answer.hits[at].source === "code") { go({ ...state, file: answer.hits[at].path, line: bestLine(answer.hits[at]), tab: "references", ref: answer.hits[at].symbol || "" }); return true; }
  return false;
}

function escape(writing) {
  if (document.body.classList.contains("sheet")) { closeSheet(); return true; }
  if (state.file && state.ref && !state.tab) { go({ ...state, ref: "", show: "", column: 0 }); return true; }
  if (state.file) { go(plain(state)); return true; }
  if (writing) return false;
  box.focus();
  return true;
}

function help() {
  openDialog(dialog, "Keys", keys(), h("p", { class: "muted" }, "A regular expression, a name such as ", h("code", null, "Client.retry"), " or a pattern such as ", h("code", null, "def $NAME($$$)"), " is recognised without quotes. Every view has its own address."));
}

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("lurcher-theme", root.dataset.theme); } catch { /* not stored: lasts until the page is closed */ }
}

byId("help").addEventListener("click", help);
byId("theme").addEventListener("click", toggleTheme);
byId("project").addEventListener("change", (event) => go({ ...unfiltered(plain(state)), q: box.value, project: event.target.value }));
byId("state").addEventListener("click", () => statusDialog(dialog));
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

// -- start ---------------------------------------------------------------------------------------------------------

function changed() {
  if (!state.file && !state.q.trim()) start();
  else if (!state.file && !timerPending()) search();
  else if (state.file && isEarly()) show();
}
const timerPending = () => box.value.trim() !== state.q.trim();

box.value = state.q;
if (!state.file && !state.q) box.focus();
get("page").catch(() => ({ editor: "" })).then((found) => {
  page.editor = found.editor;
  page.projects = found.shared ? found.projects : null;
  if (found.shared) shared();
  else events = follow(changed);
  show();
});
