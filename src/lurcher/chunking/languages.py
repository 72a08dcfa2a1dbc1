"""Which language a file is written in, by name, extension and first line."""

from __future__ import annotations

from lurcher.runtime.light import dataclass, pattern

TEXT = "text"


@dataclass(frozen=True, slots=True)
class Language:
    """A language by its name, how its files are recognised, and the grammar that parses it, if any."""

    name: str
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    grammar: tuple[str, str] | None = None
    """Module and function that returns the tree-sitter language; None where files are cut by lines."""


_PARSED = (
    Language(
        "python",
        ("py", "pyi", "pyw", "pyx", "pxd"),
        ("SConstruct", "SConscript", "wscript"),
        ("py", "python3"),
        ("python", "python2", "python3", "pypy", "pypy3"),
        ("tree_sitter_python", "language"),
    ),
    Language(
        "javascript",
        ("js", "jsx", "mjs", "cjs", "es6"),
        ("Jakefile",),
        ("js", "jsx", "node", "ecmascript"),
        ("node", "nodejs", "bun"),
        ("tree_sitter_javascript", "language"),
    ),
    Language(
        "typescript",
        ("ts", "mts", "cts"),
        (),
        ("ts",),
        ("deno", "ts-node", "tsx"),
        ("tree_sitter_typescript", "language_typescript"),
    ),
    Language("tsx", ("tsx",), (), (), (), ("tree_sitter_typescript", "language_tsx")),
    Language("go", ("go",), (), ("golang",), (), ("tree_sitter_go", "language")),
    Language("rust", ("rs",), (), ("rs",), ("rust-script",), ("tree_sitter_rust", "language")),
    Language("java", ("java",), (), (), (), ("tree_sitter_java", "language")),
    Language("c", ("c", "h"), (), (), (), ("tree_sitter_c", "language")),
    Language(
        "cpp",
        ("cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "tpp", "inl", "cu", "cuh", "ino"),
        (),
        ("c++", "cplusplus"),
        (),
        ("tree_sitter_cpp", "language"),
    ),
    Language("csharp", ("cs", "csx"), (), ("cs", "c#", "c-sharp"), (), ("tree_sitter_c_sharp", "language")),
    Language(
        "ruby",
        ("rb", "rake", "gemspec", "ru", "podspec", "rbi"),
        ("Rakefile", "Gemfile", "Guardfile", "Podfile", "Vagrantfile", "Capfile", "Brewfile", "Fastfile", "Thorfile"),
        ("rb",),
        ("ruby", "jruby"),
        ("tree_sitter_ruby", "language"),
    ),
    Language("php", ("php", "phtml", "php5", "php7", "phps"), (), (), ("php",), ("tree_sitter_php", "language_php")),
    Language(
        "bash",
        ("sh", "bash", "zsh", "ksh", "bats", "ebuild"),
        (".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zprofile", "PKGBUILD"),
        ("sh", "shell", "zsh"),
        ("sh", "bash", "zsh", "ksh", "dash", "bats"),
        ("tree_sitter_bash", "language"),
    ),
    Language("kotlin", ("kt", "kts"), (), ("kt",), ("kotlin",), ("tree_sitter_kotlin", "language")),
    Language("scala", ("scala", "sc", "sbt"), (), (), ("scala",), ("tree_sitter_scala", "language")),
    Language("swift", ("swift",), (), (), ("swift",), ("tree_sitter_swift", "language")),
    Language("elixir", ("ex", "exs"), ("mix.lock",), ("ex",), ("elixir",), ("tree_sitter_elixir", "language")),
    Language("haskell", ("hs", "hsc"), (), ("hs",), ("runhaskell", "stack"), ("tree_sitter_haskell", "language")),
    Language(
        "lua",
        ("lua", "luau", "rockspec"),
        (".luacheckrc",),
        (),
        ("lua", "luajit", "lua5.1", "lua5.3", "lua5.4"),
        ("tree_sitter_lua", "language"),
    ),
    Language("zig", ("zig", "zon"), (), (), (), ("tree_sitter_zig", "language")),
)

_TEXT_ONLY = (
    Language("sql", ("sql", "psql", "pgsql", "ddl", "dml")),
    Language("html", ("html", "htm", "xhtml", "ejs", "hbs", "handlebars", "mustache", "erb", "eex", "heex", "leex")),
    Language("css", ("css",)),
    Language("scss", ("scss", "sass", "less")),
    Language("yaml", ("yaml", "yml"), (".clang-format", ".clang-tidy", "CITATION.cff"), ("yml",)),
    Language("toml", ("toml",), ("Cargo.lock", "poetry.lock", "uv.lock", "Pipfile")),
    Language("json", ("json", "jsonc", "json5", "jsonl", "ndjson", "geojson"), (".babelrc", ".eslintrc")),
    Language("protobuf", ("proto",), (), ("proto",)),
    Language("thrift", ("thrift",)),
    Language("capnproto", ("capnp",)),
    Language("markdown", ("md", "markdown", "mdx", "mkd", "rmd", "qmd"), (), ("md",)),
    Language("restructuredtext", ("rst", "rest"), (), ("rst",)),
    Language("asciidoc", ("adoc", "asciidoc", "asc"), (), ("adoc",)),
    Language("org", ("org",)),
    Language("latex", ("tex", "sty", "cls", "bib"), (), ("tex",)),
    Language("xml", ("xml", "xsd", "xsl", "xslt", "svg", "plist", "csproj", "fsproj", "props", "targets", "xaml")),
    Language("vue", ("vue",)),
    Language("svelte", ("svelte",)),
    Language("astro", ("astro",)),
    Language("dockerfile", ("dockerfile",), ("Dockerfile", "Containerfile"), ("docker",)),
    Language("makefile", ("mk", "mak", "make"), ("Makefile", "makefile", "GNUmakefile"), ("make",), ("make",)),
    Language("justfile", ("just",), ("justfile", "Justfile", ".justfile"), ("just",), ("just",)),
    Language("cmake", ("cmake",), ("CMakeLists.txt",)),
    Language("meson", (), ("meson.build", "meson_options.txt")),
    Language("starlark", ("bzl", "star", "bazel"), ("BUILD", "WORKSPACE", "Tiltfile"), ("bazel",)),
    Language("graphql", ("graphql", "gql", "graphqls"), (), ("gql",)),
    Language("terraform", ("tf", "tfvars", "hcl"), (), ("tf", "hcl")),
    Language("nix", ("nix",)),
    Language("r", ("r",), (".Rprofile",), (), ("Rscript",)),
    Language("julia", ("jl",), (), ("jl",), ("julia",)),
    Language("perl", ("pl", "pm", "pod", "psgi"), ("cpanfile",), ("pl",), ("perl",)),
    Language("raku", ("raku", "rakumod", "p6", "pm6"), (), ("perl6",), ("raku", "perl6")),
    Language("dart", ("dart",), (), (), ("dart",)),
    Language("clojure", ("clj", "cljs", "cljc", "edn", "bb"), (), ("clj",), ("bb", "clojure")),
    Language("lisp", ("lisp", "lsp", "cl", "el", "asd"), (".emacs",), ("elisp", "emacs-lisp"), ("sbcl",)),
    Language("scheme", ("scm", "ss", "rkt"), (), ("racket",), ("guile", "racket")),
    Language("erlang", ("erl", "hrl", "escript"), ("rebar.config",), ("erl",), ("escript",)),
    Language("ocaml", ("ml", "mli", "mll", "mly"), (), ("ml",), ("ocaml",)),
    Language("fsharp", ("fs", "fsi", "fsx"), (), ("fs", "f#")),
    Language("visualbasic", ("vb", "bas", "vbs"), (), ("vb",)),
    Language("elm", ("elm",)),
    Language("purescript", ("purs",)),
    Language("nim", ("nim", "nims", "nimble")),
    Language("crystal", ("cr",), (), (), ("crystal",)),
    Language("d", ("d", "di")),
    Language("v", ("v", "vsh")),
    Language("verilog", ("sv", "svh", "vh"), (), ("systemverilog",)),
    Language("vhdl", ("vhd", "vhdl")),
    Language("ada", ("adb", "ads")),
    Language("fortran", ("f", "f90", "f95", "f03", "f08", "for")),
    Language("cobol", ("cob", "cbl", "cpy")),
    Language("pascal", ("pas", "pp", "dpr", "lpr"), (), ("delphi",)),
    Language("assembly", ("s", "asm", "nasm"), (), ("asm",)),
    Language("llvm", ("ll",)),
    Language("wasm", ("wat", "wast")),
    Language("glsl", ("glsl", "vert", "frag", "geom", "comp", "hlsl", "wgsl", "metal")),
    Language("solidity", ("sol",), (), ("sol",)),
    Language("groovy", ("groovy", "gradle", "gvy"), ("Jenkinsfile",), ("gradle",), ("groovy",)),
    Language("powershell", ("ps1", "psm1", "psd1"), (), ("ps1", "pwsh"), ("pwsh",)),
    Language("batch", ("bat", "cmd")),
    Language("fish", ("fish",), (), (), ("fish",)),
    Language("awk", ("awk",), (), (), ("awk", "gawk", "mawk")),
    Language("tcl", ("tcl", "tk"), (), (), ("tclsh", "wish", "expect")),
    Language("vim", ("vim", "vimrc"), (".vimrc", ".gvimrc", "_vimrc"), ("viml", "vimscript")),
    Language("objective-c", ("m", "mm"), (), ("objc", "objectivec")),
    Language("gdscript", ("gd",)),
    Language("jinja", ("j2", "jinja", "jinja2", "tt")),
    Language("liquid", ("liquid",)),
    Language("haml", ("haml", "slim", "pug", "jade")),
    Language("diff", ("diff", "patch")),
    Language("csv", ("csv", "tsv")),
    Language("dotenv", ("env",), (".env", ".env.example")),
    Language(
        "ini",
        ("ini", "cfg", "conf", "properties", "editorconfig", "service", "desktop"),
        (".editorconfig", ".gitconfig", ".npmrc", ".pylintrc", ".flake8", "setup.cfg", ".gitmodules", ".gitattributes"),
    ),
    Language(TEXT, ("txt", "log", "stderr", "stdout"), ("LICENSE", "README", "NOTICE", "AUTHORS"), ("plain", "txt")),
)

LANGUAGES: dict[str, Language] = {language.name: language for language in _PARSED + _TEXT_ONLY}

_BY_EXTENSION: dict[str, str] = {ext: lang.name for lang in LANGUAGES.values() for ext in lang.extensions}
_BY_FILENAME: dict[str, str] = {name: lang.name for lang in LANGUAGES.values() for name in lang.filenames}
_BY_ALIAS: dict[str, str] = {alias: lang.name for lang in LANGUAGES.values() for alias in lang.aliases}
_BY_INTERPRETER: dict[str, str] = {name: lang.name for lang in LANGUAGES.values() for name in lang.interpreters}

_COMMENT = pattern(rb"(?s)/\*.*?(?:\*/|\Z)|//[^\n]*")
_CPP_HEADER = pattern(
    rb"(?m)^[ \t]*(?:class[ \t]+\w+|(?:inline[ \t]+)?namespace\b|template[ \t]*<|using[ \t]+\w)"
    rb"|^[ \t]*#[ \t]*include[ \t]*<[a-z_]+>"
    rb"|\w::\w|\bconstexpr\b"
)
"""What only C++ says; its own headers have no extension."""
HEAD = 16_384
"""Bytes of a file that tell its language: a header's licence and its list of includes may be long, and C++ that is read as C
is misread all the way through."""


def detect(path: str, head: bytes) -> str:
    """The language of the file at `path`, whose first bytes are `head`; "text" when nothing tells."""
    filename = path[path.rfind("/") + 1 :]
    found = _BY_FILENAME.get(filename)
    if found is not None:
        return found
    dot = filename.rfind(".")
    if dot >= 0:
        extension = filename[dot + 1 :]
        found = _BY_EXTENSION.get(extension) or _BY_EXTENSION.get(extension.lower())
        if found is not None:
            if found == "c" and extension in ("h", "H") and _CPP_HEADER.search(_without_comments(head)):
                return "cpp"
            return found
    if filename.startswith(("Dockerfile.", "Containerfile.")):
        return "dockerfile"
    if filename.startswith("Makefile."):
        return "makefile"
    return _by_shebang(head) if head.startswith(b"#!") else TEXT


def resolve(name: str) -> str | None:
    """The language that a user means by its name, an alias or a file extension; None when unknown."""
    key = name.strip().lower()
    if key in LANGUAGES:
        return key
    return _BY_ALIAS.get(key) or _BY_EXTENSION.get(key.removeprefix("."))


def _without_comments(head: bytes) -> bytes:
    """Prose in a licence or a doc comment says "class" too; it must not decide."""
    return _COMMENT.sub(b"", head)


def _by_shebang(head: bytes) -> str:
    """`#!/usr/bin/env -S python3 -u` names python."""
    line = head.split(b"\n", 1)[0][2:].decode("utf-8", "replace")
    for word in line.split():
        program = word[word.rfind("/") + 1 :]
        if program == "env" or program.startswith("-") or "=" in program:
            continue
        found = _BY_INTERPRETER.get(program) or _BY_INTERPRETER.get(program.rstrip("0123456789."))
        return found or TEXT
    return TEXT
