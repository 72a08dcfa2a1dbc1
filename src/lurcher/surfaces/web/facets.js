// Filters, each value with the number of hits it would leave, given the other filters.
import { counted, h, number, put } from "./dom.js";
import { swatch, VERDICTS } from "./hits.js";
import { filtered, unfiltered } from "./route.js";

const TITLES = { lang: "Language", path: "Folder", outcome: "Outcome", year: "Year", author: "Author", tag: "Tag" };
const FEW = 7;

export function facetList(place, found, state, go) {
  const groups = [];
  if (filtered(state)) {
    groups.push(h("button", { type: "button", class: "clear", onclick: () => go(unfiltered(state)) }, "Clear all filters"));
  }
  for (const [name, title] of Object.entries(TITLES)) {
    const rows = withChosen(name, (found.facets && found.facets[name]) || [], state);
    if (rows.length > 1 || rows.some((row) => row.chosen)) groups.push(group(name, title, rows, state, go));
  }
  if (state.in && state.in !== "code") groups.push(dates(state, go));
  if (!groups.length) return put(place);
  if (found.looked_at) {
    groups.push(h("p", { class: "muted small" }, found.total > found.looked_at ? `Counted over the first ${counted(found.looked_at, "hit")}.` : `Counted over all ${counted(found.looked_at, "hit")}.`));
  }
  const open = place.querySelector("details.all") ? place.querySelector("details.all").open : matchMedia("(min-width: 60rem)").matches;
  return put(place, h("details", { class: "all", open }, h("summary", null, "Filters"), groups));
}

function withChosen(name, rows, state) {
  const chosen = chosenOf(name, state);
  const list = rows.map((row) => ({ ...row, chosen: chosen.includes(row.value) }));
  for (const value of chosen) if (!list.some((row) => row.value === value)) list.unshift({ value, count: 0, chosen: true });
  return list;
}

function chosenOf(name, state) {
  if (name === "year") return state.since && state.until && state.since.slice(0, 4) === state.until.slice(0, 4) && state.since.endsWith("-01-01") ? [state.since.slice(0, 4)] : [];
  if (name === "author") return state.author ? [state.author] : [];
  return state[name];
}

function toggled(name, value, chosen, state) {
  if (name === "year") return { ...state, since: chosen ? "" : `${value}-01-01`, until: chosen ? "" : `${value}-12-31` };
  if (name === "author") return { ...state, author: chosen ? "" : value };
  return { ...state, [name]: chosen ? state[name].filter((other) => other !== value) : [...state[name], value] };
}

function group(name, title, rows, state, go) {
  const id = `facet-${name}`;
  const most = Math.max(...rows.map((row) => row.count), 1);
  const shown = name === "year" ? [...rows].sort((a, b) => b.value.localeCompare(a.value)) : rows;
  const items = shown.map((row, i) => {
    const label = name === "outcome" ? VERDICTS[row.value] || row.value : name === "path" ? (row.value === "*" ? "top level" : row.value.replace(/\/\*\*$/, "/")) : row.value;
    const share = h("span", { class: "share", "aria-hidden": "true" });
    share.style.inlineSize = `${Math.round((100 * row.count) / most)}%`;
    return h("li", { class: i >= FEW && !row.chosen ? "rest" : null }, h("label", null,
      h("input", { type: "checkbox", checked: row.chosen, data: { facet: name, value: row.value }, onchange: () => go(toggled(name, row.value, row.chosen, state)) }),
      name === "lang" ? swatch(row.value) : name === "outcome" ? h("span", { class: `swatch ${row.value}`, "aria-hidden": "true" }) : null,
      h("span", { class: "name", title: row.value }, label), h("span", { class: "count" }, number(row.count))), share);
  });
  const list = h("ul", { "aria-labelledby": id }, items);
  const more = items.length > FEW ? h("button", { type: "button", class: "more", "aria-expanded": "false", onclick: (event) => {
    const open = list.classList.toggle("open");
    event.currentTarget.setAttribute("aria-expanded", open);
    event.currentTarget.textContent = open ? "fewer" : `${items.length - FEW} more`;
  } }, `${items.length - FEW} more`) : null;
  return h("section", { class: "group" }, h("h2", { id }, title), list, more);
}

function dates(state, go) {
  const field = (name, label) => h("label", { class: "date" }, label,
    h("input", { type: "date", value: /^\d{4}-\d\d-\d\d$/.test(state[name]) ? state[name] : "", data: { facet: name }, onchange: (event) => go({ ...state, [name]: event.target.value }) }));
  return h("section", { class: "group" }, h("h2", null, "Date"), h("div", { class: "dates" }, field("since", "from"), field("until", "to")));
}
