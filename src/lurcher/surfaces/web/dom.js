// Builds elements. Content of a repository is only ever inserted as text nodes, by `visible`.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (name === "value") element.value = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

// As on a terminal: without it code could be shown in another order than a compiler reads it. The length stays.
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;

/** The text with U+FFFD for the characters that change the direction of what follows. */
export const visible = (text) => text.replace(REORDERING, "\ufffd");

function add(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
}

export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);
export const byId = (id) => document.getElementById(id);

export function put(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

export const number = (value) => Number(value).toLocaleString("en");

/** `1 file`, `0 files`, `12,000 files`. */
export const counted = (count, one) => `${number(count)} ${one}${count === 1 ? "" : "s"}`;

export function rounded(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

export function bytes(value) {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (value >= 1000 && unit < 3) { value /= 1000; unit += 1; }
  return `${value < 10 && unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function ago(date) {
  const days = (Date.now() - new Date(date).getTime()) / 86400e3;
  if (!Number.isFinite(days)) return "";
  if (days < 1) return "today";
  if (days < 60) return `${counted(Math.floor(days), "day")} ago`;
  return days < 700 ? `${Math.round(days / 30.4)} months ago` : `${Math.round(days / 365)} years ago`;
}

export const day = (date) => (typeof date === "string" ? date.slice(0, 10) : "");
