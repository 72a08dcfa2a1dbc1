"""What part a file plays, read off its path: tests, examples, barrels and the like are rarely the answer.

`content_roles` reads the same off the text, for files whose path does not say it.
"""

from __future__ import annotations

from functools import lru_cache

from lurcher.runtime.stdlib import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

(
    TEST, LEGACY, EXAMPLE, BARREL, STUB, SETUP, VENDORED, VERSIONED, DATA, GENERATED, TRANSLATION, INLINE_TESTS,
) = (1 << i for i in range(12))  # fmt: skip
"""Roles of a file. TEST is also the role of units; a file with INLINE_TESTS has some, but is not a test itself."""

NAMES = {
    TEST: "test",
    LEGACY: "legacy",
    EXAMPLE: "example or documentation",
    BARREL: "re-exports",
    STUB: "declaration stub",
    SETUP: "build or set-up",
    VENDORED: "vendored",
    VERSIONED: "superseded version",
    DATA: "data",
    GENERATED: "generated",
    TRANSLATION: "translation",
}
ASIDE = TEST | EXAMPLE | LEGACY | STUB | VENDORED | GENERATED | TRANSLATION
"""Roles of files that come last where names and folders are listed; the others are ordered by how much they are used."""
INLINE_TEST = "inline test"
"""The name of the role TEST where it is that of a unit."""

_TEST_FOLDERS = {
    "test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "test_data", "fixtures", "__mocks__", "mocks",
    "e2e", "androidtest", "unittest", "unittests", "integrationtest", "jvmtest", "commontest", "__snapshots__", "regress",
    "selftest", "selftests", "testsuite", "testsuites", "test-suite",
}  # fmt: skip
_TEST_NAME = pattern(
    r"^(test_.*|.*_tests?|.*[._-](test|tests|spec|specs|e2e)|conftest|.*[a-z0-9](Test|Tests|Spec|Specs|TestCase)|Test[A-Z].*)$"
)
_EXAMPLE_FOLDERS = {
    "example", "examples", "doc", "docs", "documentation", "demo", "demos", "sample", "samples", "tutorial", "tutorials",
    "playground", "playgrounds", "benchmark", "benchmarks", "bench", "benches",
}  # fmt: skip
_DOCUMENTS = {"md", "rst", "adoc", "txt", "markdown", "asciidoc", "tex", "org"}
_MANUAL = pattern(r"[1-9](p|pm|x|m|ssl)?$|man$|mdoc$|roff$|texi$|texinfo$")
"""The extension of a manual page, which is its section (`malloc.3`), or of another manual."""
_DOCUMENT_NAME = pattern(
    r"^(changes|changelog|history|news|release[-_]?notes|releases|whats[-_]?new|readme|authors|contributors|contributing|"
    r"examples|credits|license|licence|copying|notice|todo|upgrading|security|code_of_conduct)([._-].*)?$"
)
_DATA = {
    "json", "yaml", "yml", "xml", "csv", "tsv", "po", "pot", "svg", "lock", "plist", "ipynb", "snap", "sql", "toml", "ini",
    "cfg", "properties", "html", "htm", "css", "scss", "less",
}  # fmt: skip
_LIBRARY_NAME = pattern(
    r"^(jquery|underscore|bootstrap|lodash|modernizr|d3|require|backbone|angular|mathjax|highlight)[.\d_-]"
)
_LEGACY = {"compat", "legacy", "deprecated", "obsolete", "_compat", "old", "_legacy", "compatibility", "attic"}
_BARRELS = {
    "__init__.py", "index.ts", "index.js", "index.tsx", "index.jsx", "index.mjs", "mod.rs", "package-info.java",
    "__init__.pyi", "index.d.ts",
}  # fmt: skip
_SETUP_NAMES = {
    "setup.py", "conftest.py", "noxfile.py", "tasks.py", "makefile", "dockerfile", "rakefile", "gruntfile.js", "gulpfile.js",
    "package.swift", "build.gradle", "build.gradle.kts", "settings.gradle.kts", "build.zig", "build.sbt", "cmakelists.txt",
    "mix.exs", "package.json", "package-lock.json", "pyproject.toml", "setup.cfg", "tox.ini", "cargo.toml", "cargo.lock",
    "go.mod", "go.sum", "pom.xml", "gemfile", "composer.json", "tsconfig.json",
}  # fmt: skip
_SETUP_FOLDERS = {".github", ".circleci", ".gitlab", "ci", ".ci", ".azure-pipelines", ".vscode", ".devcontainer"}
_VENDORED = {
    "vendor", "vendored", "_vendor", "_vendored", "vendors", "third_party", "third-party", "thirdparty", "3rdparty",
    "3rd-party", "3rd_party", "external", "node_modules", "bower_components", "site-packages", "extern",
}  # fmt: skip
_GENERATED_NAMES = (
    "_pb2.py", "_pb2.pyi", "_pb2_grpc.py", ".pb.go", ".pb.gw.go", ".pb.cc", ".pb.c", ".pb.h", ".pb.swift", ".pb.dart",
    ".g.dart", ".freezed.dart", ".g.cs", ".g.i.cs", ".designer.cs",
)  # fmt: skip
SCRIPTS = ("javascript", "typescript", "tsx")
_BUILT_FOLDER = "dist"
_BUILT_NAMES = (".js", ".cjs", ".mjs", ".d.ts", ".d.mts", ".d.cts")
"""What bundlers write to that folder; in other languages it may hold sources."""
_GENERATED_STEMS = ("_generated", "-generated", ".generated")
_TRANSLATION_FOLDERS = {"locale", "locales", "i18n", "l10n", "translation", "translations", "lc_messages", "nls"}
_TRANSLATION_EXTENSIONS = {"po", "pot", "xlf", "xliff", "arb", "strings", "stringsdict"}
_LOCALE = pattern(r"(?!js|ts|py|go|rb|rs|db|ui|io|vm)[a-z]{2}([_-]\w{2,4})?$|[a-z]{3}[_-][A-Z]{2}$")
_REGIONAL = pattern(r"(.*[._-])?[a-z]{2}[_-]([A-Z]{2}|Hans|Hant)$")
"""A locale with its region, such as `pt_BR`, which is hardly ever anything else."""


def roles(path: str) -> int:
    """The roles of a file as a set of flags."""
    from lurcher.languages.detect import detect

    folder, _, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    stem = stem if dot else name
    low_name = name.lower()
    flags = _folder_roles(folder)
    if _TEST_NAME.match(stem):
        flags |= TEST
    if (
        extension.lower() in _DOCUMENTS
        or (dot and _MANUAL.match(extension))
        or (_DOCUMENT_NAME.match(low_name) and detect(path, b"") == "text")
    ):
        flags |= EXAMPLE
    elif not flags & EXAMPLE and extension.lower() in _DATA:
        flags |= DATA
    if low_name in _BARRELS:
        flags |= BARREL
    if low_name.endswith((".d.ts", ".d.mts", ".d.cts", ".pyi")):
        flags |= STUB
    if low_name in _SETUP_NAMES:
        flags |= SETUP
    if _LIBRARY_NAME.match(low_name):
        flags |= VENDORED
    if low_name.endswith(_GENERATED_NAMES) or stem.lower().endswith(_GENERATED_STEMS) or low_name.startswith("zz_generated."):
        flags |= GENERATED
    if is_built(path):
        flags |= GENERATED
    if extension.lower() in _TRANSLATION_EXTENSIONS or _REGIONAL.match(stem) or _holds_translations(folder, stem):
        flags = flags & ~DATA | TRANSLATION
    return flags


def is_built(path: str) -> bool:
    """Whether a bundler wrote a file, by its path."""
    folder, _, name = path.rpartition("/")
    return name.lower().endswith(_BUILT_NAMES) and _BUILT_FOLDER in folder.split("/")


def _holds_translations(folder: str, stem: str) -> bool:
    """Whether a folder of translations is above a folder or a file that is named after a locale."""
    folders = folder.split("/")
    for i, name in enumerate(folders):
        if name.lower() in _TRANSLATION_FOLDERS:
            return any(_LOCALE.match(below) for below in (*folders[i + 1 :], stem))
    return False


@lru_cache(maxsize=1 << 10)
def _folder_roles(folder: str) -> int:
    """What the folders of a file say."""
    folders = frozenset(folder.lower().split("/"))
    flags = VERSIONED if any(map(_is_version, folders)) else 0
    for flag, names in (
        (TEST, _TEST_FOLDERS), (EXAMPLE, _EXAMPLE_FOLDERS), (LEGACY, _LEGACY), (SETUP, _SETUP_FOLDERS), (VENDORED, _VENDORED),
    ):  # fmt: skip
        if not folders.isdisjoint(names):
            flags |= flag
    return flags


def _is_version(folder: str) -> bool:
    """Whether a folder is called v1, v2 and so on."""
    return folder[:1] == "v" and len(folder) < 5 and folder[1:].isdecimal()


LICENCE_STEMS = ("license", "licence", "copying", "copyright")
BUILD_STEMS = ("configure", "cmakelists")
_BUILD_NAMES = {"configure": "configure", "configure.ac": "configure", "configure.in": "configure", "cmakelists.txt": "cmake"}


def find_embedded(licences: Iterable[str], builds: Iterable[str]) -> list[str]:
    """The folders that are projects of their own: they have a licence, and a build system that the tree around them has not.

    Given are the paths whose stems are `LICENCE_STEMS` and `BUILD_STEMS`. The packages of one project have its build system.
    """
    licensed = {path.rpartition("/")[0] for path in licences}
    systems = [(folder, _BUILD_NAMES.get(name.lower())) for folder, _, name in [path.rpartition("/") for path in builds]]
    own = {system for folder, system in systems if not folder}
    found = sorted({folder for folder, system in systems if system and system not in own and folder in licensed})
    outermost: list[str] = []
    for folder in found:
        if not outermost or not folder.startswith(outermost[-1] + "/"):
            outermost.append(folder)
    return outermost


def version_of(path: str) -> tuple[str, int] | None:
    """The path up to its first version folder, and that version: `api/v2/x.py` → ("api", 2)."""
    folders = path.lower().split("/")[:-1]
    for i, folder in enumerate(folders):
        if _is_version(folder):
            return "/".join(folders[:i]), int(folder[1:])
    return None

MARKED_UP = frozenset(("markdown", "restructuredtext", "asciidoc", "org"))
"""Languages whose every file is a note."""
PARSED = frozenset((
    "bash", "c", "cpp", "csharp", "dart", "elixir", "go", "haskell", "java", "javascript", "julia", "kotlin", "lua",
    "objective-c", "ocaml", "ocaml-interface", "perl", "php", "powershell", "python", "ruby", "rust", "scala", "sql", "svelte",
    "swift", "terraform", "tsx", "typescript", "vue", "zig",
))  # fmt: skip
"""Languages that have definitions, and so are code; a copy, since every question asks for them and the table takes a while."""
_PLAIN = (".txt", ".text")


def is_note(path: str, language: str) -> bool:
    """Prose by its language; plain text only where its name says so, since much else has no language either."""
    return language in MARKED_UP or (language == "text" and path.lower().endswith(_PLAIN))


def find_superseded(files: Iterable[tuple[int, str]]) -> dict[int, int]:
    """Of numbered paths those in a version folder (`v1`) beside a later one (`v2`), with their version."""
    found: dict[int, tuple[str, int]] = {}
    folders: dict[str, tuple[str, int] | None] = {}
    for file, path in files:
        folder = path.rpartition("/")[0]
        if folder not in folders:
            folders[folder] = version_of(path)
        version = folders[folder]
        if version is not None:
            found[file] = version
    newest: dict[str, int] = {}
    for place, number in found.values():
        newest[place] = max(newest.get(place, 0), number)
    return {file: number for file, (place, number) in found.items() if number < newest[place]}
