// The state of the index: a live indicator, and a dialog with details.
import { get } from "./api.js";
import { bytes, byId, counted, h, number, put } from "./dom.js";
import { swatch } from "./hits.js";

let last = null;

// Progress of the index, below a quick answer.
export function fillProgress() {
  const bar = byId("quick-bar");
  if (!bar) return;
  if (last) { bar.max = last.total; bar.value = last.done; }
  const text = byId("quick-far");
  if (text) text.textContent = last ? `${last.what || "indexing"}: ${number(last.done)} of ${number(last.total)}` : "";
}

export function follow(changed) {
  const pill = byId("state");
  const text = byId("state-text");
  const meter = byId("meter");
  let generation = null;
  const show = (kind, label) => { pill.dataset.kind = kind; text.textContent = label; };
  const progress = (now) => {
    const share = now.total ? Math.min(1, now.done / now.total) : 0;
    meter.hidden = false;
    byId("meter-bar").style.inlineSize = `${Math.round(100 * share)}%`;
    show("busy", `${now.what || "indexing"} ${number(now.done)} / ${number(now.total)}`);
    last = now.total ? now : null;
    fillProgress();
  };
  const settled = (state) => {
    meter.hidden = true;
    const files = state.files === undefined ? "" : `${counted(state.files, "file")} · `;
    if (state.stale_paths) show("stale", `${files}${number(state.stale_paths)} out of date`);
    else show("fresh", `${files}up to date`);
    last = null;
    const other = generation !== null && generation !== state.generation;
    generation = state.generation;
    if (other) changed();
  };
  const source = new EventSource("/api/events");
  source.addEventListener("state", (event) => {
    const state = JSON.parse(event.data);
    if (state.problem) show("problem", state.problem.message);
    else if (state.building) { generation = -1; progress(state.progress || { what: "indexing", done: 0, total: 0 }); }
    else if (state.index) settled(state.index);
    else show("fresh", "up to date");
  });
  source.addEventListener("progress", (event) => progress(JSON.parse(event.data)));
  source.addEventListener("index", (event) => settled(JSON.parse(event.data)));
  source.addEventListener("problem", (event) => show("problem", JSON.parse(event.data).message));
  source.onerror = () => { meter.hidden = true; show("away", "not connected"); };
  return source;
}

// A shared index is written by others, and tells nothing while it is.
export function shared() {
  byId("state").dataset.kind = "fresh";
  byId("state-text").textContent = "shared index";
}

export async function statusDialog(dialog) {
  open(dialog, "The index", h("p", { class: "muted" }, "Loading …"));
  try {
    const status = await get("status");
    const roots = status.roots || [status];
    open(dialog, "The index", roots.map((root) => rootTable(root)));
  } catch (error) {
    open(dialog, "The index", h("p", null, error.message), h("p", { class: "muted" }, error.hint || ""));
  }
}

function rootTable(root) {
  const past = root.history;
  const rows = [
    ["folder", root.root], ["files", root.files !== undefined ? number(root.files) : "none yet"], ["units", root.units && number(root.units)],
    ["definitions", root.definitions && number(root.definitions)], ["generation", root.generation],
    ["state", root.problem || (root.written ? `written ${root.written}` : root.fresh ? "up to date" : `${counted(root.stale_paths || 0, "file")} out of date`)],
    ["on disk", root.disk_bytes && bytes(root.disk_bytes)], ["model", root.model && root.model.name],
    ["history", past && (past.exists ? `${number(past.commits)} of ${counted(past.total, "commit")}${past.shallow ? " of a shallow clone" : ""}` : "not indexed yet; a search in History starts it")],
    ["outcomes", past && past.outcomes && Object.entries(past.outcomes).map(([name, count]) => `${number(count)} ${name}`).join(", ")],
    ["left out", Object.entries(root.skipped || {}).map(([reason, count]) => `${number(count)} ${reason}`).join(", ") || "nothing"],
  ];
  return [h("table", { class: "facts" }, h("tbody", null, rows.filter((row) => row[1] !== undefined && row[1] !== null && row[1] !== "").map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, value))))),
    root.languages ? languages(root.languages) : null];
}

export function languages(counts) {
  const entries = Object.entries(counts).slice(0, 10);
  const most = Math.max(...entries.map((entry) => entry[1]), 1);
  return h("ul", { class: "languages" }, entries.map(([name, count]) => {
    const bar = h("span", { class: "share", "aria-hidden": "true" });
    bar.style.inlineSize = `${(100 * count) / most}%`;
    return h("li", null, swatch(name), h("span", { class: "name" }, name), h("span", { class: "count" }, number(count)), bar);
  }));
}

export function open(dialog, title, ...content) {
  put(dialog, h("div", { class: "dialog-head" }, h("h2", { id: "dialog-title" }, title),
    h("button", { type: "button", class: "icon", "aria-label": "Close", onclick: () => dialog.close() }, "×")), content);
  if (!dialog.open) dialog.showModal();
}
