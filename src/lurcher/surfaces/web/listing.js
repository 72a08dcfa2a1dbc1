// The text of a file: its lines with their age, and its names, which a click or a key asks for.
import { counted, day, h } from "./dom.js";
import { lines, marksOf, offsetsOf, termsOf, tokens } from "./highlight.js";
import { lineContent } from "./marked.js";

const CHUNK = 80;
const MOST_LINES = 20000;

/** `chosen` is called with a line, `asked` with a line and the column of a name in it. */
export function makeListing(file, query, chosen, asked) {
  const text = file.text.replace(/\n$/, "");
  const raw = text.split("\n");
  const shown = Math.min(raw.length, MOST_LINES);
  const places = ((file.names && file.names.places) || []).filter((place) => place[0] <= shown);
  const kinds = (file.names && file.names.kinds) || [];
  const names = offsetsOf(text, places);
  const numbers = new Map(places.map(([line, column], i) => [`${line}:${column}`, i]));
  const rows = [];
  const element = h("div", { class: "listing", tabindex: "0", role: "region", "aria-label": `Text of ${file.path}; up and down select a line, left and right a name, Enter shows its references` });
  let coloured = null;
  const colour = () => coloured || (coloured = lines(text, tokens(text, file.language), query ? marksOf(text, termsOf(query, null)) : [], names));
  let uses = new Set();
  let here = -1;

  const paint = (chunk) => {
    if (chunk.dataset.painted) return;
    chunk.dataset.painted = "true";
    seen.unobserve(chunk);
    const first = Number(chunk.dataset.first);
    [...chunk.children].forEach((row, i) => row.lastChild.replaceWith(lineContent(colour()[first + i])));
    for (const span of chunk.querySelectorAll(".name")) emphasise(span);
  };
  const emphasise = (span) => {
    const number = Number(span.dataset.name);
    span.classList.toggle("here", number === here);
    span.classList.toggle("used", uses.has(number));
  };
  const seen = new IntersectionObserver((entries) => { for (const entry of entries) if (entry.isIntersecting) paint(entry.target); }, { rootMargin: "600px" });

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

  let current = 1;
  const select = (line, column, reveal) => {
    current = Math.min(shown, Math.max(1, line));
    for (const row of element.querySelectorAll(".line.chosen")) row.classList.remove("chosen");
    rows[current - 1].classList.add("chosen");
    here = numbers.has(`${current}:${column}`) ? numbers.get(`${current}:${column}`) : -1;
    if (reveal && here >= 0) paint(rows[current - 1].parentNode);
    for (const span of element.querySelectorAll(".name.here")) emphasise(span);
    const span = here < 0 ? null : spanOf(here);
    if (span) emphasise(span);
    if (reveal) {
      rows[current - 1].scrollIntoView({ block: "center" });
      if (span) span.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  };
  const spanOf = (number) => rows[places[number][0] - 1].querySelector(`.name[data-name="${number}"]`);
  const goTo = (line) => {
    chosen(line);
    rows[line - 1].scrollIntoView({ block: "nearest" });
  };

  // Puts the focus on a name, so that it is read out and Enter asks for it.
  const focusName = (number) => {
    const [line, column, , kind] = places[number];
    paint(rows[line - 1].parentNode);
    if (line !== current) chosen(line);
    select(line, column, false);
    const span = spanOf(number);
    if (!span) return;
    span.tabIndex = -1;
    span.setAttribute("role", "button");
    span.setAttribute("aria-description", `${kinds[kind] || "name"}, line ${line}; Enter shows its references`);
    span.focus({ preventScroll: true });
    span.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const step = (forward) => {
    const focused = document.activeElement.closest(".name");
    if (focused) return Number(focused.dataset.name) + (forward ? 1 : -1);
    let at = places.findIndex((place) => place[0] >= current);
    if (at < 0) at = places.length;
    return forward ? at : places[at] && places[at][0] === current ? at : at - 1;
  };
  const ask = (number) => asked(places[number][0], places[number][1]);

  element.addEventListener("click", (event) => {
    const row = event.target.closest(".line");
    if (!row || String(getSelection())) return;
    const number = nameAt(event, row);
    if (number >= 0) ask(number);
    else chosen(Number(row.dataset.line), true);
  });
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 20, PageUp: -20 }[event.key];
    const focused = event.target.closest(".name");
    if (move) {
      if (focused) element.focus({ preventScroll: true });
      goTo(Math.min(shown, Math.max(1, current + move)));
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const next = step(event.key === "ArrowRight");
      if (!places[next]) return;
      focusName(next);
    } else if (focused && ["Enter", " ", "r"].includes(event.key)) ask(Number(focused.dataset.name));
    else return;
    event.preventDefault();
  });

  // The name under the pointer; in the plain rest of a very long line it is found by its place in the text.
  function nameAt(event, row) {
    const span = event.target.closest(".name");
    if (span) return Number(span.dataset.name);
    const code = row.lastChild;
    const rest = code.lastChild;
    if (!rest || rest.nodeType !== Node.TEXT_NODE || event.detail === 0) return -1;
    const caret = document.caretPositionFromPoint ? document.caretPositionFromPoint(event.clientX, event.clientY) : document.caretRangeFromPoint(event.clientX, event.clientY);
    const [node, offset] = caret ? [caret.offsetNode || caret.startContainer, caret.offset === undefined ? caret.startOffset : caret.offset] : [];
    if (node !== rest) return -1;
    const line = Number(row.dataset.line);
    const before = document.createRange();
    before.selectNodeContents(code);
    before.setEnd(rest, offset);
    const at = lineStart(line) + before.toString().length;
    return names.findIndex(([start, end], i) => places[i][0] === line && start <= at && at < end);
  }
  function lineStart(line) {
    let at = 0;
    for (let i = 1; i < line; i += 1) at += raw[i - 1].length + 1;
    return at;
  }

  /** Colours the age of each line; returns the commit of each. */
  const age = (commits) => {
    const layers = [];
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
    return layers;
  };

  /** Marks the names at these places, each with a line and a column. */
  const use = (found) => {
    uses = new Set(found.map((place) => numbers.get(`${place.line}:${place.column}`)).filter((number) => number !== undefined));
    for (const span of element.querySelectorAll(".chunk[data-painted] .name")) emphasise(span);
  };
  /** The places in this file of the name at `FILE:LINE:COLUMN`, spelled as it is there. */
  const named = (target) => {
    const at = target.startsWith(`${file.path}:`) ? numbers.get(target.slice(file.path.length + 1)) : undefined;
    if (at === undefined) return [];
    const spelled = text.slice(...names[at]);
    return places.filter((_, i) => text.slice(...names[i]) === spelled)
      .map(([line, column, , kind]) => ({ path: file.path, line, column, kind: kinds[kind], enclosing: "", text: raw[line - 1].trim().slice(0, 200), resolution: "candidate" }));
  };
  return { element, select, age, use, named };
}
