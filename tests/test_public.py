"""The public face, and the rules of direction, read off the source."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lurcher
from lurcher import errors
from lurcher.runtime.kernel import native

PACKAGE = Path(lurcher.__file__).parent
COMMAND = "import sys; from lurcher.surfaces.cli import main; sys.exit(main())"
"""What the installed command runs."""
FILES = sorted(PACKAGE.rglob("*.py"))


METHODS = (
    "brief", "calls", "context", "exists", "explain", "history", "impact", "implementations", "notes", "outline", "references",
    "related", "search", "symbol", "why",
)  # fmt: skip
ANSWERS = (
    "Brief", "Calls", "Context", "Exists", "Explain", "Impact", "Implementations", "Outline", "References", "Symbol", "Why",
)  # fmt: skip


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it, with the names taken from packages."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{relative(path)} imports by a relative path"
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def importers(*modules: str) -> set[str]:
    """The files that import one of `modules` or something inside of it."""
    return {
        relative(path)
        for path in FILES
        if any(name == module or name.startswith(f"{module}.") for name in imported(path) for module in modules)
    }


def modules_after(code: str) -> set[str]:
    """The modules that a new interpreter has loaded after running `code`."""
    script = f"import sys\n{code}\nprint('\\nMODULES ' + ' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "MODULES " in done.stdout, done.stderr
    return set(done.stdout.rpartition("MODULES ")[2].split())


def after_command(*arguments: str) -> set[str]:
    return modules_after(
        "from lurcher.surfaces.cli import main\n"
        f"try:\n    main({list(arguments)!r})\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )


def test_the_public_names_are_values_the_engine_and_every_error() -> None:
    tree = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.LurcherError)}
    answers = {f"{name}Answer" for name in ANSWERS}
    assert set(lurcher.__all__) == tree | answers | {"Answer", "CommitInfo", "Engine", "Hit", "Place", "__version__"}
    assert lurcher.__all__ == sorted(lurcher.__all__)
    for name in lurcher.__all__:
        assert getattr(lurcher, name) is not None


def test_every_answer_has_its_type_among_the_public_names() -> None:
    returned = {getattr(lurcher.Engine, name).__annotations__["return"] for name in METHODS}
    assert {name.rpartition(".")[2] for name in returned} == {f"{name}Answer" for name in ("", *ANSWERS)} <= set(dir(lurcher))


def test_dir_has_the_public_names_alone() -> None:
    assert dir(lurcher) == lurcher.__all__


def test_other_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'engin'"):
        _ = lurcher.engin  # type: ignore[attr-defined]


def test_importing_the_package_is_cheap() -> None:
    heavy = {"numpy", "tree_sitter", "argparse", "tomllib", "subprocess", "ast_grep_py", "lurcher.answer.token_table"}
    assert not modules_after("import lurcher") & heavy


@pytest.mark.parametrize("arguments", [("--help",), ("search", "--help"), ("config", "show")], ids=" ".join)
def test_commands_that_search_nothing_load_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert not after_command(*arguments) & {"numpy", "tree_sitter", "ast_grep_py", "lurcher.answer.token_table"}


def test_an_engine_loads_only_what_every_query_needs() -> None:
    loaded = modules_after("import lurcher.engine")
    kept_for_later = (
        "structural", "literal", "survey.answers", "survey.why", "languages.graph", "languages.resolution", "history.reader",
    )  # fmt: skip
    assert not {name for name in loaded if name.startswith(tuple(f"lurcher.{module}" for module in kept_for_later))}


@pytest.mark.parametrize(("flags", "most"), [(["--json"], 51), ([], 52)], ids=["json", "text"])
def test_a_query_loads_what_it_uses_and_no_more(
    tmp_path: Path, clean_environment: Callable[..., dict[str, str]], flags: list[str], most: int
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "retry.py").write_text("def retry(request):\n    return request\n")
    question = ("search", "how is a request retried", str(tmp_path / "tree"), *flags)
    command = [sys.executable, "-X", "importtime", "-X", f"pycache_prefix={tmp_path / 'cache'}", "-c", COMMAND, *question]
    environment = {**clean_environment(), "LURCHER_INDEX_DIR": str(tmp_path / "index")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling modules anew loads more than running them
    for _ in range(6):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.split("\n") if line.startswith("import time:")}
        if "lurcher.indexing.build" not in loaded:
            break
        time.sleep(0.5)  # the index was made, or a file was too young to be believed, and was read again
    else:
        pytest.fail("each search reads the file anew")
    assert "lurcher.lanes.lexical" in loaded
    ours = {name for name in loaded if name.split(".")[0] == "lurcher"}
    others = {name.strip() for name in loaded - ours - _before_anything(environment)}
    if native() is not None:
        # Each of those that are not here takes milliseconds, which is as long as finding the answer.
        assert others <= STANDARD, f"a search loads {sorted(others - STANDARD)}"
    # Each costs a fifth of a millisecond whatever is in it: who adds one looks for one that a query can do without.
    assert len(ours) <= most, sorted(ours)


STANDARD = {
    "__future__", "_bisect", "_blake2", "_collections", "_functools", "_json", "_operator", "_struct", "atexit", "bisect",
    "collections", "collections.abc", "errno", "functools", "gc", "itertools", "keyword", "math", "mmap", "operator", "reprlib",
    "struct", "types",
}  # fmt: skip
"""What a search loads beside our own modules, and what an interpreter has loaded when it begins."""


def _before_anything(environment: dict[str, str]) -> set[str]:
    """What Python loads by itself."""
    command = [sys.executable, "-c", "import sys; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
    return {*done.stdout.split(), "imported package", "zipimport", "sitecustomize", "usercustomize", "_winapi", "nt"}


@pytest.mark.parametrize("query", ["how is a request retried", "retry failed requests quickly please", "HttpClient", "a.retry"])
def test_no_question_in_plain_words_loads_what_is_slow(
    tmp_path: Path, clean_environment: Callable[..., dict[str, str]], query: str
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "retry.py").write_text("def retry(request):\n    return request\n")
    environment = {**clean_environment(), "LURCHER_INDEX_DIR": str(tmp_path / "index")}
    script = (
        "import sys\nfrom lurcher.surfaces.cli import main\n"
        f"main(['search', {query!r}, {str(tmp_path / 'tree')!r}, '--json'])\nprint('\\nMODULES', *sys.modules)"
    )
    time.sleep(0.1)  # or the file is too young to be believed, and read again
    for _ in range(2):  # the first one makes the index
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
    slow = {"re", "enum", "typing", "contextlib", "pathlib", "json", "hashlib", "threading", "argparse", "subprocess", "signal",
            "dataclasses"}  # fmt: skip
    if native() is not None:
        assert not slow & set(done.stdout.rpartition("MODULES")[2].split())


def test_only_surfaces_know_the_command_line_and_the_network() -> None:
    found = importers("argparse", "mcp", "starlette", "uvicorn")
    assert found
    assert {path.split("/")[0] for path in found} == {"surfaces"}


def test_only_the_configuration_reads_toml() -> None:
    manifests = {"languages/resolution.py"}  # reads those of other projects, which are data to it
    assert importers("tomllib", "tomli") == {"config/__init__.py"} | manifests


ENVIRONMENT_READERS = {
    "config/__init__.py",
    "config/user_files.py",
    "config/trust.py",
    "surfaces/cli/__init__.py",  # sets how many threads numpy may start, before anyone imports it
    "sources/__init__.py",  # which configuration git reads
    "sources/git/__init__.py",  # hands git an environment that nobody else decides on
    "indexing/workers.py",  # hands the same to its children
    "server/history_fill.py",  # leaves no process behind on a CI machine
    "server/remotes.py",  # hands git what reaches a remote, and nothing else
    "runtime/kernel.py",  # whether to use it, decided before any configuration is loaded
}


def test_only_the_configuration_reads_the_environment() -> None:
    readers = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv"):
                readers.add(relative(path))
    readers |= importers("os.environ", "os.environb", "os.getenv")
    assert readers == ENVIRONMENT_READERS


def test_types_and_errors_import_nothing() -> None:
    for name in ("types.py", "errors.py"):
        known = [module for module in imported(PACKAGE / name) if module.startswith("lurcher")]
        assert not known


HEAVY = {"numpy", "tree_sitter", "ast_grep_py", "pathspec"}


def test_heavy_modules_are_imported_where_they_are_needed() -> None:
    """At the top of a file they would be paid for by everyone who imports it."""
    for path in FILES:
        for node in ast.parse(path.read_text("utf-8")).body:
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not {name.split(".")[0] for name in names} & HEAVY, relative(path)


def test_no_module_is_called_by_what_says_nothing() -> None:
    assert not {path.stem for path in FILES} & {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
