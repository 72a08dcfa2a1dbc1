// Syntax colours, by families of languages with the same comments and strings. This is not a parser.

const words = (text) => new Set(text.split(" "));

const COMMON = "if else for while return break continue in is new class import from try catch finally throw switch case default do true false null this super static void int float double bool string char const let var function public private protected enum interface extends implements package";
const KEYWORDS = {
  python: words("and as assert async await break class continue def del elif else except finally for from global if import in is lambda match case nonlocal not or pass raise return try while with yield None True False self cls"),
  javascript: words("async await break case catch class const continue debugger default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let new null of private protected public readonly return satisfies set static super switch this throw true try type typeof undefined var void while with yield abstract as declare namespace never unknown any string number boolean"),
  go: words("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota error string int int64 uint byte rune bool float64 any"),
  rust: words("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while Some None Ok Err u8 u16 u32 u64 usize i32 i64 str bool f64"),
  ruby: words("alias and begin break case class def defined? do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require include extend attr_reader attr_accessor private protected"),
  bash: words("if then else elif fi for while until do done case esac in function select return exit local export readonly declare unset shift set source"),
  sql: words("select from where insert into values update set delete create table index view drop alter add join left right inner outer on and or not null primary key foreign references unique default as order by group having limit distinct union all case when then else end integer text varchar boolean timestamp"),
  haskell: words("case class data default deriving do else foreign if import in infix infixl infixr instance let module newtype of then type where forall qualified hiding"),
  lua: words("and break do else elseif end false for function goto if in local nil not or repeat return then true until while self"),
  elixir: words("def defp defmodule defmacro defstruct defimpl defprotocol do end fn if else unless case cond with for when in not and or nil true false alias import require use raise rescue after"),
  c: words(`${COMMON} auto struct union typedef sizeof unsigned signed long short extern inline register volatile goto namespace template typename using virtual override final constexpr nullptr operator friend explicit delete size_t noexcept include define ifdef ifndef endif pragma nil func fun val when object data sealed trait def match given where abstract lazy with yield override async await namespace get readonly using out ref var string decimal byte long is as checked event lock params delegate fn pub mut self init guard defer protocol extension subscript associatedtype mutating throws rethrows inout echo array foreach endforeach use require_once isset unset comptime usingnamespace errdefer orelse`),
};

const SLASH = { line: "//", block: ["/*", "*/"], strings: ['"', "'"] };
const HASH = { line: "#", strings: ['"', "'"] };
const FAMILIES = {
  python: { line: "#", strings: ['"""', "'''", '"', "'"], at: true, words: KEYWORDS.python },
  javascript: { ...SLASH, strings: ['"', "'", "`"], at: true, words: KEYWORDS.javascript },
  go: { ...SLASH, strings: ['"', "`", "'"], words: KEYWORDS.go },
  rust: { ...SLASH, strings: ['"'], words: KEYWORDS.rust },
  c: { ...SLASH, at: true, words: KEYWORDS.c },
  php: { ...SLASH, other: "#", words: KEYWORDS.c },
  ruby: { ...HASH, words: KEYWORDS.ruby },
  bash: { ...HASH, words: KEYWORDS.bash },
  config: { ...HASH, words: words("true false null yes no on off") },
  elixir: { line: "#", strings: ['"""', '"', "'"], at: true, words: KEYWORDS.elixir },
  sql: { line: "--", block: ["/*", "*/"], strings: ["'", '"'], words: KEYWORDS.sql, anyCase: true },
  lua: { line: "--", block: ["--[[", "]]"], strings: ['"', "'"], words: KEYWORDS.lua },
  haskell: { line: "--", block: ["{-", "-}"], strings: ['"'], words: KEYWORDS.haskell },
  css: { block: ["/*", "*/"], strings: ['"', "'"], at: true, words: words("important from to and not only screen") },
  json: { strings: ['"'], words: words("true false null") },
};

const FAMILY_OF = {
  python: "python", javascript: "javascript", typescript: "javascript", tsx: "javascript", jsx: "javascript", vue: "javascript",
  svelte: "javascript", go: "go", rust: "rust", ruby: "ruby", bash: "bash", shell: "bash", fish: "bash", zsh: "bash", make: "bash",
  makefile: "bash", dockerfile: "bash", yaml: "config", toml: "config", ini: "config", perl: "ruby", r: "ruby", elixir: "elixir",
  sql: "sql", lua: "lua", haskell: "haskell", css: "css", scss: "css", json: "json", php: "php",
};
const PROSE = new Set(["markdown", "restructuredtext", "asciidoc", "org", "text", "html", "xml"]);

// [start, end, kind] of each coloured piece, in order.
export function tokens(text, language) {
  if (PROSE.has(language)) return prose(text);
  return code(text, FAMILIES[FAMILY_OF[language] || "c"]);
}

function code(text, family) {
  const found = [];
  const size = text.length;
  const word = /[A-Za-z_$][\w$]*/y;
  const digits = /(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\w{0,4}/y;
  let at = 0;
  while (at < size) {
    const c = text[at];
    if (c === " " || c === "\n" || c === "\t") { at += 1; continue; }
    if (family.block && text.startsWith(family.block[0], at)) {
      const end = text.indexOf(family.block[1], at + family.block[0].length);
      const stop = end < 0 ? size : end + family.block[1].length;
      found.push([at, stop, "comment"]);
      at = stop;
      continue;
    }
    if ((family.line && text.startsWith(family.line, at)) || (family.other && text.startsWith(family.other, at))) {
      const end = text.indexOf("\n", at);
      const stop = end < 0 ? size : end;
      found.push([at, stop, "comment"]);
      at = stop;
      continue;
    }
    const quote = family.strings.find((mark) => text.startsWith(mark, at));
    if (quote) {
      const stop = stringEnd(text, at, quote);
      found.push([at, stop, "string"]);
      at = stop;
      continue;
    }
    word.lastIndex = at;
    const name = word.exec(text);
    if (name) {
      const stop = at + name[0].length;
      const kind = kindOf(text, name[0], stop, family);
      if (kind) found.push([at, stop, kind]);
      at = stop;
      continue;
    }
    digits.lastIndex = at;
    const digit = c >= "0" && c <= "9" ? digits.exec(text) : null;
    if (digit) {
      found.push([at, at + digit[0].length, "number"]);
      at += digit[0].length;
      continue;
    }
    if (c === "@" && family.at) {
      word.lastIndex = at + 1;
      const decorator = word.exec(text);
      if (decorator) {
        found.push([at, at + 1 + decorator[0].length, "mark-up"]);
        at += 1 + decorator[0].length;
        continue;
      }
    }
    at += 1;
  }
  return found;
}

function stringEnd(text, start, quote) {
  const long = quote.length > 1 || quote === "`";
  let at = start + quote.length;
  while (at < text.length) {
    if (text[at] === "\\") at += 2;
    else if (text.startsWith(quote, at)) return at + quote.length;
    else if (!long && text[at] === "\n") return at;
    else at += 1;
  }
  return text.length;
}

function kindOf(text, name, stop, family) {
  if (family.words.has(family.anyCase ? name.toLowerCase() : name)) return "keyword";
  if (text[stop] === "(") return "call";
  return /^[A-Z][a-z]/.test(name) ? "type" : null;
}

const PIECES = /(^#{1,6} .*$|^[=\-~^"'*+#]{3,}$|^\.\. .*$)|(``[^`\n]+``|`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\[\[[^\]\n]+\]\]|\[[^\]\n]+\]\([^)\n]+\)|https?:\/\/[^\s)>\]]+)|(<\/?[A-Za-z][^>\n]*>)/gm;
const KINDS = ["keyword", "string", "strong", "call", "type"];

function prose(text) {
  const found = [];
  for (const match of text.matchAll(PIECES)) {
    const group = match.slice(1).findIndex((part) => part !== undefined);
    found.push([match.index, match.index + match[0].length, KINDS[group]]);
  }
  return found;
}

// Coloured pieces, marks and names combined and cut at line ends: for each line a list of [text, class, marked, number of the name].
export function lines(text, pieces, marks, names = []) {
  const cuts = new Set([0, text.length]);
  for (const [start, end] of pieces) cuts.add(start).add(end);
  for (const [start, end] of names) cuts.add(start).add(end);
  for (const [start, end] of marks) cuts.add(start).add(end);
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) cuts.add(at).add(at + 1);
  const order = [...cuts].sort((a, b) => a - b);
  const found = [[]];
  let piece = 0;
  let mark = 0;
  let name = 0;
  for (let i = 0; i + 1 < order.length; i += 1) {
    const [start, end] = [order[i], order[i + 1]];
    while (piece < pieces.length && pieces[piece][1] <= start) piece += 1;
    while (mark < marks.length && marks[mark][1] <= start) mark += 1;
    while (name < names.length && names[name][1] <= start) name += 1;
    const slice = text.slice(start, end);
    if (slice === "\n") { found.push([]); continue; }
    const kind = piece < pieces.length && pieces[piece][0] <= start ? pieces[piece][2] : "";
    found[found.length - 1].push([slice, kind, mark < marks.length && marks[mark][0] <= start, name < names.length && names[name][0] <= start ? name : -1]);
  }
  return found;
}

// [start, end] in a text for each [line, column, length] of it, in order. Columns and lengths are in characters, of which some
// have two units in a string here.
export function offsetsOf(text, places) {
  const found = [];
  let line = 1;
  let begin = 0;
  let column = 1;
  let at = 0;
  const forward = (count) => {
    for (; count > 0 && at < text.length; count -= 1) {
      at += text.codePointAt(at) > 0xffff ? 2 : 1;
      column += 1;
    }
  };
  for (const [row, first, length] of places) {
    if (row < line || (row === line && first < column)) { found.push([at, at]); continue; }
    while (line < row) {
      const end = text.indexOf("\n", begin);
      if (end < 0) return found;
      [line, begin, column] = [line + 1, end + 1, 1];
      at = begin;
    }
    forward(first - column);
    const start = at;
    forward(length);
    found.push([start, at]);
  }
  return found;
}

// Where the matching words occur in the text of a hit.
export function marksOf(text, terms) {
  const parts = [...terms].filter((term) => term.length > 1).sort((a, b) => b.length - a.length).slice(0, 40);
  if (!parts.length) return [];
  const escaped = parts.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const found = [];
  for (const match of text.matchAll(new RegExp(escaped.join("|"), "gi"))) {
    if (!match[0]) continue;
    // A match inside a longer word is chance (read in threaded), a part of a name is not (read in lineRead, HTTPRead).
    const before = text[match.index - 1] || "";
    const [first, second] = [match[0][0], match[0][1]];
    const begins = !/\p{L}/u.test(before) || (/\p{Lu}/u.test(first) && (/\p{Ll}/u.test(before) || /\p{Ll}/u.test(second)));
    if (!begins && /\p{L}/u.test(first)) continue;
    // A short ending belongs to the word: redirect, redirects, redirected. A longer one makes another word: read, readiness.
    const after = text.slice(match.index + match[0].length, match.index + match[0].length + 7);
    const rest = (match[0].length > 5 ? /^\p{Ll}{0,6}(?!\p{Ll})/u : /^\p{Ll}{0,3}(?!\p{Ll})/u).exec(after);
    if (!rest) continue;
    const end = match.index + match[0].length + (match[0].length > 3 ? rest[0].length : 0);
    if (found.length && match.index < found[found.length - 1][1]) continue;
    found.push([match.index, end]);
    if (found.length > 2000) break;
  }
  return found;
}

const STOP = words("the a an and or of in on at to for from by with is are was were be how what where when which who why do does it this that these those not no can could should would will into as if then than there here we you i");

export function termsOf(queryText, hit) {
  const found = new Set();
  for (const word of queryText.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []) {
    if (!STOP.has(word) && word.length > 1) found.add(stem(word));
  }
  for (const lane of Object.values((hit && hit.why && hit.why.lanes) || {})) {
    for (const term of Object.keys(lane.terms || {})) found.add(stem(term.toLowerCase()));
  }
  return found;
}

function stem(word) {
  if (word.length < 6) return word;
  return word.replace(/(?:ings?|ed|es|s)$/, "");
}
