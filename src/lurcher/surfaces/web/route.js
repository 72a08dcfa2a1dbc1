// The address holds the query and the view: every view is a link, and back and forward work.

const LISTS = ["lang", "path", "outcome", "tag"];
const EXACT = ["fixed", "case", "word"];
const WORDS = ["project", "q", "in", "mode", ...EXACT, "since", "until", "author", "file", "tab", "ref", "show"];
const NUMBERS = ["line", "column", "hops"];
export const FILTERS = ["lang", "path", "outcome", "tag", "since", "until", "author"];

export function read(search = location.search) {
  const params = new URLSearchParams(search);
  const state = {};
  for (const name of LISTS) state[name] = [...new Set(params.getAll(name))].filter(Boolean);
  for (const name of WORDS) state[name] = params.get(name) || "";
  for (const name of NUMBERS) state[name] = Math.max(0, parseInt(params.get(name), 10) || 0);
  return state;
}

export function address(state) {
  const params = new URLSearchParams();
  for (const name of ["project", "file", "line", "column", "tab", "ref", "show", "hops", "q", "in", "mode", ...EXACT, ...FILTERS]) {
    for (const value of Array.isArray(state[name]) ? state[name] : [state[name]]) if (value) params.append(name, value);
  }
  const text = params.toString();
  return text ? `/?${text}` : "/";
}

// Exact text: fixed or a regular expression, with or without case, as whole words or not. Only for code.
export const canBeExact = (state) => state.in !== "history" && state.in !== "notes";
export const isExact = (state) => state.mode === "literal" && canBeExact(state);
export const inexact = (state) => ({ ...state, mode: "", fixed: "", case: "", word: "" });
export const exactly = (state, more) => ({ ...(state.mode === "literal" ? state : { ...inexact(state), mode: "literal", fixed: "true" }), ...more });

export const plain = (state) => ({ ...state, file: "", line: 0, column: 0, tab: "", ref: "", show: "", hops: 0 });
export const unfiltered = (state) => ({ ...state, lang: [], path: [], outcome: [], tag: [], since: "", until: "", author: "" });
export const filtered = (state) => FILTERS.some((name) => (Array.isArray(state[name]) ? state[name].length : state[name]));

// The parameters of a search request, without filters that the source does not have.
export function searchParameters(state) {
  const past = state.in === "history" || state.in === "all";
  const notes = state.in === "notes" || state.in === "all";
  return {
    q: state.q, in: state.in, mode: state.mode === "literal" && !canBeExact(state) ? "" : state.mode,
    fixed: isExact(state) ? state.fixed : "", case: isExact(state) ? state.case : "", word: isExact(state) ? state.word : "", lang: state.lang, path: state.path,
    outcome: past ? state.outcome : [], author: past ? state.author : "", tag: notes ? state.tag : [],
    since: past || notes ? state.since : "", until: past || notes ? state.until : "",
  };
}
