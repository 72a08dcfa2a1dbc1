// A block of code: line numbers, colours, marks. Used by hits and by the file view.
import { counted, h, visible } from "./dom.js";
import { lines, marksOf, tokens } from "./highlight.js";

const MOST_PIECES = 3000;

// A line as elements; the rest of a line with very many pieces, such as minified code, is plain text.
export function lineContent(parts) {
  const code = h("span", { class: "code" });
  let holder = code;
  let open = -1;
  for (const [text, kind, marked, name = -1] of parts.slice(0, MOST_PIECES)) {
    if (name !== open) {
      open = name;
      holder = name < 0 ? code : h("span", { class: "name", data: { name } });
      if (name >= 0) code.append(holder);
    }
    const piece = kind ? h("span", { class: `t-${kind}` }, text) : document.createTextNode(visible(text));
    holder.append(marked ? h("mark", null, piece) : piece);
  }
  if (parts.length > MOST_PIECES) code.append(visible(parts.slice(MOST_PIECES).map((part) => part[0]).join("")));
  return code;
}

// The exact matches if the mode has them, else all occurrences of the words.
function places(hit, terms) {
  const text = hit.text;
  if (!hit.matches || !hit.matches.length) return marksOf(text, terms);
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const place = (line, column) => {
    const start = starts[line - hit.start_line];
    return start === undefined ? -1 : start + column - 1;
  };
  const found = [];
  let last = 0;
  for (const match of hit.matches) {
    const start = place(match.start_line, match.start_column);
    let end = place(match.end_line, match.end_column);
    if (end < 0) end = text.length;
    if (start >= last && end > start) { found.push([start, end]); last = end; }
  }
  return found;
}

const SHOWN = 12;
// Lines of a further place of a hit: the best one, and those below it in which the definition may begin that names it.
export const FURTHER = 7;

export function block(hit, terms, most = SHOWN) {
  const text = hit.text.replace(/\n+$/, "");
  const shown = { ...hit, text };
  const rows = lines(text, tokens(text, hit.language), places(shown, terms));
  const box = h("div", { class: "block" });
  const best = (hit.line || hit.start_line) - hit.start_line;
  const [from, to] = settle(rows, ...span(rows, best, most), best, namedLine(rows, best, hit.symbol));
  const indent = indentOf(text.split("\n"));
  const draw = (all) => {
    const [first, last] = all ? [0, rows.length] : [from, to];
    // Headers are what is around the first line of the place.
    const list = (first ? [] : hit.headers || []).map((header) => h("div", { class: "line above" },
      h("span", { class: "no", "aria-hidden": "true" }, header.line), h("span", { class: "code" }, `${header.text.trim()} …`)));
    for (let i = first; i < last; i += 1) {
      list.push(h("div", { class: "line" }, h("span", { class: "no", "aria-hidden": "true" }, hit.start_line + i), lineContent(outdented(rows[i], indent))));
    }
    box.replaceChildren(...list);
    if (!all && last - first < rows.length) {
      box.append(h("button", { type: "button", class: "more", onclick: () => draw(true) }, `… ${counted(rows.length - (last - first), "more line")}`));
    }
  };
  draw(rows.length <= most + 3);
  return box;
}

// The common indentation of all lines, which is removed.
function indentOf(all) {
  const depths = all.filter((line) => line.trim()).map((line) => /^[ \t]*/.exec(line)[0].length);
  return depths.length ? Math.min(...depths) : 0;
}

function outdented(row, indent) {
  let left = indent;
  return row.map(([text, kind, marked]) => {
    const cut = Math.min(left, /^[ \t]*/.exec(text)[0].length);
    left -= cut;
    return [text.slice(cut), kind, marked];
  });
}

const BELOW = 6;

// The window of lines with the most marks, among those that include the best line and some lines below it, where the definition may
// begin that the hit is named after.
function span(rows, line, most) {
  const kept = Math.max(0, Math.min(line, rows.length - 1));
  const highest = Math.max(0, Math.min(kept, rows.length - most));
  const lowest = Math.min(highest, Math.max(0, Math.min(kept + BELOW, rows.length - 1) - most + 1));
  const weights = rows.map((row) => new Set(row.filter((part) => part[2]).map((part) => part[0].toLowerCase())).size);
  let best = lowest;
  let bestSum = -1;
  for (let start = lowest; start <= highest; start += 1) {
    const sum = weights.slice(start, start + most).reduce((total, weight) => total + weight, 0);
    if (sum > bestSum) { bestSum = sum; best = start; }
  }
  while (best < highest && !weights[best] && !weights[best + 1]) best += 1;
  return [best, Math.min(rows.length, best + most)];
}

// The row, from the best one on, that has the name of the place, since what it is named after may begin below.
function namedLine(rows, best, symbol) {
  const name = (symbol || "").split(" › ").pop().split(".").pop();
  const below = name ? rows.slice(best, best + BELOW + 1).findIndex((row) => textOf(row).includes(name)) : 0;
  return best + Math.max(0, below);
}

const textOf = (row) => row.map((part) => part[0]).join("");
const MOVED = 3;

// The window with each end moved to a border between statements, if one is near. It never grows, and keeps the rows from `best` to `named`.
export function settle(rows, start, end, best, named) {
  const clean = borders(rows);
  const begins = rows.map((row, i) => i === 0 || (clean[i] && !["", "}", "};", "end"].includes(textOf(row).trim())));
  const last = Math.min(named, end - 1);
  let found = [start, end];
  let least = Infinity;
  for (let a = Math.max(start - MOVED, 0); a <= Math.min(start + MOVED, Math.max(best, start)); a += 1) {
    for (let b = Math.max(end - MOVED, last + 1, a + 1); b <= Math.min(end + MOVED, rows.length, a + end - start); b += 1) {
      // Missed borders come first, then how far the ends move, then how many lines there are.
      const cost = 1e6 * (!begins[a] + !clean[b]) + 1e3 * (Math.abs(a - start) + Math.abs(b - end)) - (b - a);
      if (cost < least) { least = cost; found = [a, b]; }
    }
  }
  return found;
}

const ENDS_THAT_GO_ON = /(?:,|\\|=|\+|-|\*|\||&&|\?|=>|\(|\[| and| or| not| in)$/;
const BEGINS_THAT_GO_ON = /^(?:[)\].,?|]|[:+\-*/%=] |\*\/|&&|=>|and |or )/;

// For each row, and for the end, whether what is above is complete and the row does not go on with it: `answer/borders.py`, with the
// strings and comments as they are coloured.
function borders(rows) {
  const found = [];
  let depth = 0;
  let above = "";
  let kind = "";
  for (const row of rows) {
    const text = textOf(row).trim();
    const parts = row.filter((part) => part[0].trim());
    const same = parts.length > 0 && kind !== "" && parts[0][1] === kind;
    found.push(!(text ? same : kind === "string") && !depth && !BEGINS_THAT_GO_ON.test(text) && !ENDS_THAT_GO_ON.test(above));
    if (text) {
      const code = row.map(([piece, of]) => (of === "comment" ? "" : of === "string" ? "_" : piece)).join("");
      for (const letter of code) depth = Math.max(0, depth + ("([".includes(letter) ? 1 : ")]".includes(letter) ? -1 : 0));
      above = code.trimEnd() || above;
      const end = parts[parts.length - 1][1];
      kind = end === "string" || end === "comment" ? end : "";
    } else if (kind === "comment") kind = "";
  }
  return [...found, true];
}

// A commit: its message, then the lines with + and -.
export function change(hit, terms) {
  const box = h("div", { class: "block change" });
  const all = hit.text.replace(/\n+$/, "").split("\n");
  const at = all.findIndex((line) => /^\S.* @@ |^@@ /.test(line));
  const body = (at < 0 ? all : all.slice(0, at)).slice(1).join("\n").replace(/\n{2,}/g, "\n").trim();
  if (body) box.append(h("p", { class: "message" }, withMarks(body.length > 400 ? `${body.slice(0, 400)}…` : body, terms)));
  for (const line of at < 0 ? [] : all.slice(at, at + 16)) {
    const kind = line[0] === "+" ? "added" : line[0] === "-" ? "removed" : line.includes("@@") ? "where" : "same";
    box.append(h("div", { class: `line ${kind}` }, h("span", { class: "code" }, withMarks(line, terms))));
  }
  if (at >= 0 && all.length - at > 16) box.append(h("div", { class: "line where" }, `… ${counted(all.length - at - 16, "more line")}`));
  return box;
}

export function withMarks(text, terms) {
  const found = [];
  let last = 0;
  for (const [start, end] of marksOf(text, terms)) {
    found.push(text.slice(last, start), h("mark", null, text.slice(start, end)));
    last = end;
  }
  return [...found, text.slice(last)];
}
