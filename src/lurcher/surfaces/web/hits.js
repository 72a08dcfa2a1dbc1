// The list of hits: each has a head, which is a link, and a body: places in a file, a diff or a section.
import { ago, counted as amount, day, h, number, rounded } from "./dom.js";
import { termsOf } from "./highlight.js";
import { block, change, FURTHER, withMarks } from "./marked.js";
import { address } from "./route.js";

export const VERDICTS = { success: "kept", reverted: "reverted", hotfixed: "fixed later" };
export const EVIDENCE = { reverted: "reverted", "partly-reverted": "reverted in part", "revert-undone": "revert undone", mended: "fixed", followed: "possibly fixed" };

export function hitList(answer, state, choose) {
  const best = Math.max(...answer.hits.map((hit) => hit.score), 1e-9);
  return answer.hits.map((hit, position) => article(hit, position, answer, state, best, choose));
}

// The line that matches best, among those that are shown.
export function bestLine(hit) {
  return hit.line || hit.start_line;
}

export function fileAddress(state, path, line, tab = "") {
  return address({ ...state, file: path, line, tab });
}

function article(hit, position, answer, state, best, choose) {
  const terms = termsOf(answer.query, hit);
  const id = `hit-${position}`;
  const past = hit.source === "history";
  const parts = hit.path.split("/");
  const name = parts.pop();
  const place = past
    ? h("span", { class: "place" }, withMarks((hit.commit && hit.commit.subject) || hit.path, terms))
    : h("span", { class: "place" }, h("span", { class: "folder" }, parts.length ? `${parts.join("/")}/` : ""), h("b", null, name),
        h("span", { class: "lines" }, `:${bestLine(hit)}`));
  const link = h("a", { class: "go", id, href: fileAddress(state, hit.path, bestLine(hit)), data: { hit: position } }, place);
  const head = h("div", { class: "head" }, h("h2", null, link), ...badges(hit), score(hit, best),
    h("button", { type: "button", class: "why-button", "aria-controls": "side", onclick: () => choose(position, true) }, "why",
      h("span", { class: "unseen" }, ` is hit ${position + 1} here`)));
  const body = past ? change(hit, terms) : hit.text ? block(hit, terms) : null;
  return h("li", { class: "hit", data: { position, source: hit.source } }, head, details(hit, terms, state), body,
    (hit.places || []).slice(1).map((found) => further(hit, found, terms, state)), links(hit, state));
}

// A place after the first: a link to its line, what it is part of, and fewer lines.
function further(hit, found, terms, state) {
  const shown = { ...found, language: hit.language };
  return h("section", { class: "further-place" },
    h("p", { class: "sub" }, h("a", { class: "lines", href: fileAddress(state, hit.path, bestLine(found)) }, `:${bestLine(found)}`), " ",
      found.symbol ? [h("span", { class: "kind" }, found.kind || ""), " ", h("code", null, withMarks(found.symbol, terms))] : null),
    found.text ? block(shown, terms, FURTHER) : null);
}

function details(hit, terms, state) {
  if (hit.source === "history" && hit.commit) {
    const commit = hit.commit;
    const files = commit.file_count || (commit.files || []).length;
    return h("p", { class: "sub" }, h("code", { class: "sha" }, commit.sha.slice(0, 9)), ` ${commit.author} · `,
      h("time", { datetime: commit.date, title: commit.date }, `${day(commit.date)}, ${ago(commit.date)}`),
      ` · ${hit.path}${files > 1 ? ` and ${files - 1} more` : ""}`, evidence(commit));
  }
  if (hit.source === "notes" && hit.note) {
    return h("p", { class: "sub" }, (hit.note.headings || []).join(" › ") || hit.note.title,
      (hit.note.tags || []).map((tag) => [" ", h("span", { class: "tag" }, `#${tag}`)]), hit.note.date ? ` · ${day(hit.note.date)}` : "");
  }
  return hit.symbol ? h("p", { class: "sub" }, h("span", { class: "kind" }, hit.kind || ""), " ",
    h("code", null, withMarks(hit.symbol, terms))) : null;
}

// The commits that reverted or fixed this one, with a link to each.
function evidence(commit) {
  const strong = ((commit.outcome && commit.outcome.evidence) || []).filter((entry) => entry.confidence >= 0.5).slice(0, 2);
  return strong.map((entry) => h("span", { class: "evidence" }, " · ", `${EVIDENCE[entry.kind] || entry.kind} by `,
    h("a", { class: "sha", href: `#${entry.sha.slice(0, 9)}`, data: { sha: entry.sha } }, entry.sha.slice(0, 9)),
    entry.note ? ` ${entry.note.split("\n")[0].slice(0, 90)}` : ""));
}

function badges(hit) {
  const found = [];
  const verdict = hit.commit && hit.commit.outcome && hit.commit.outcome.verdict;
  if (verdict) found.push(h("span", { class: `badge outcome ${verdict}` }, VERDICTS[verdict] || verdict));
  if (hit.language) found.push(h("span", { class: "badge language" }, swatch(hit.language), hit.language));
  found.push(h("span", { class: `badge source ${hit.source}` }, hit.source));
  return found;
}

// A fixed colour for each language.
export function swatch(language) {
  let sum = 7;
  for (const c of language) sum = (sum * 31 + c.charCodeAt(0)) % 360;
  const dot = h("span", { class: "swatch", "aria-hidden": "true" });
  dot.style.setProperty("--hue", sum);
  return dot;
}

function score(hit, best) {
  const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("span"));
  bar.firstChild.style.inlineSize = `${Math.max(3, Math.round((100 * hit.score) / best))}%`;
  return h("span", { class: "score", title: "score" }, bar, h("span", null, rounded(hit.score)));
}

function links(hit, state) {
  const commits = (hit.links && hit.links.commits) || [];
  const notes = (hit.links && hit.links.notes) || [];
  const places = (hit.links && hit.links.code) || [];
  if (!commits.length && !notes.length && !places.length) return null;
  return h("ul", { class: "links", "aria-label": "Links of this hit" },
    commits.slice(0, 3).map((entry) => {
      const sha = String(entry.sha || entry);
      const verdict = entry.outcome && (entry.outcome.verdict || entry.outcome);
      return h("li", null, h("a", { href: address({ ...state, in: "history", q: entry.subject || sha, file: "", line: 0 }) },
        h("code", { class: "sha" }, sha.slice(0, 9)), ` ${entry.subject || ""}`),
        typeof verdict === "string" ? h("span", { class: `badge outcome ${verdict}` }, VERDICTS[verdict] || verdict) : null,
        entry.why ? h("span", { class: "muted" }, entry.why) : null);
    }),
    notes.slice(0, 3).map((entry) => {
      const path = String(entry.path || entry);
      return h("li", null, h("a", { href: fileAddress(state, path, entry.start_line || entry.line || 0) }, "§ ", entry.title || path),
        entry.why ? h("span", { class: "muted" }, entry.why) : null);
    }),
    places.slice(0, 3).map((entry) => h("li", null, h("a", { href: fileAddress(state, entry.path, entry.start_line || 0) }, entry.symbol || entry.path),
      entry.why ? h("span", { class: "muted" }, entry.why) : null)));
}

export function summary(answer, milliseconds) {
  const shown = answer.hits.length;
  const places = answer.hits.reduce((sum, hit) => sum + (hit.places ? hit.places.length : 1), 0);
  const how = answer.mode === "hybrid" ? "words and meaning" : answer.mode;
  const named = answer.named && answer.named < answer.total;
  const counted = named ? `${amount(shown, "hit")}; the name is in ${amount(answer.named, "place")}, ${number(answer.total - answer.named)} more ${answer.total - answer.named === 1 ? "has" : "have"} parts of it`
    : `${number(places)} of ${answer.at_least ? "at least " : ""}${amount(answer.total, places === shown ? "hit" : "place")}${places === shown ? "" : `, in ${amount(shown, "hit")}`}`;
  return `${counted} · by ${how}${milliseconds ? ` · ${Math.round(milliseconds)} ms` : ""}`;
}
