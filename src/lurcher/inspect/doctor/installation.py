"""Whether all is there that lurcher needs: Python, packages, the kernel, the table of tokens, grammars, git."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path

from lurcher.answer.token_table import verify_table
from lurcher.inspect.doctor.finding import NOTE, OK, PROBLEM, Finding
from lurcher.languages.detect import LANGUAGES
from lurcher.languages.grammar import describe_grammars
from lurcher.languages.installed import load_capsule
from lurcher.runtime.kernel import VERSION as KERNEL_VERSION
from lurcher.runtime.kernel import describe_kernel, native
from lurcher.runtime.terminal import format_count
from lurcher.sources.git import command
from lurcher.version import VERSION

OLDEST = (3, 10)
_MEND = "run: pip install --force-reinstall lurcher"
_PACKAGES = {
    "ast_grep_py": "ast-grep-py", "lz4.block": "lz4", "numpy": "numpy", "re2": "google-re2", "tree_sitter": "tree-sitter",
}  # fmt: skip


def python() -> Iterator[Finding]:
    text = f"lurcher {VERSION} on Python {platform.python_version()}"
    if sys.version_info >= OLDEST:
        yield Finding("python", OK, text)
    else:
        yield Finding("python", PROBLEM, f"{text} is too old", f"install Python {OLDEST[0]}.{OLDEST[1]} or newer")


def packages() -> Iterator[Finding]:
    found = []
    for module, package in _PACKAGES.items():
        try:
            import_module(module)
            found.append(f"{package} {_version(package)}")
        except Exception as error:  # a broken extension module can fail in any way
            yield Finding("packages", PROBLEM, f"{package} cannot be imported: {error}", _MEND)
    if found:
        yield Finding("packages", OK, ", ".join(found))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def kernel() -> Iterator[Finding]:
    found = describe_kernel()
    if found["name"] == "native":
        yield Finding("kernel", OK, f"native, interface {KERNEL_VERSION}")
    else:
        text = f"not in use: {found['reason']}; everything falls back to Python, with the same answers, and takes longer"
        yield Finding("kernel", NOTE, text, found["hint"])


def tokens() -> Iterator[Finding]:
    yield Finding("tokens", OK, f"cl100k_base, {verify_table():,} bytes, the checksum holds")


def grammars() -> Iterator[Finding]:
    from tree_sitter import Language

    good, without = [], []
    for language in LANGUAGES.values():
        if language.grammar is None:
            continue
        module, function = language.grammar
        package = module.replace("_", "-")
        try:
            Language(load_capsule(module, function))
            good.append(language.name)
        except Exception as error:  # files of that language are cut by lines then
            if language.optional and isinstance(error, ImportError):
                without.append(language.name)
                continue
            yield Finding("grammars", PROBLEM, f"no grammar for {language.name}: {error}", f"run: pip install {package}")
    known = describe_grammars(good)
    versions = [f"{language} {grammar['version']}" for language, grammar in known.items()]
    yield Finding("grammars", OK, f"{format_count(len(good), 'language')}: {', '.join(versions)}")
    other = [language for language, grammar in known.items() if grammar["reader"] == "tree-sitter"]
    if other and native() is not None:
        text = f"read by tree-sitter, which takes longer, as the kernel does not know their grammars: {', '.join(other)}"
        yield Finding("grammars", NOTE, text)
    unread = [language for language, grammar in known.items() if grammar["reader"] == "lines"]
    if unread:
        packages = " ".join(dict.fromkeys(known[language]["package"] for language in unread))
        text = f"grammars of a version that is not known, so files are cut by lines: {', '.join(unread)}"
        yield Finding("grammars", PROBLEM, text, f"run: pip install --force-reinstall {packages}")
    if without:
        text = f"not installed, so files are cut by lines: {', '.join(sorted(without))}"
        yield Finding("grammars", NOTE, text, "run: pip install 'lurcher[languages]'")


def git_program() -> Iterator[Finding]:
    status, out, _ = run_git(Path("/"), "--version")
    if status:
        yield Finding("git", NOTE, "git cannot be run: trees are walked instead, which is slower", "install git")
    else:
        yield Finding("git", OK, out.strip())


def run_git(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of git, run as the listing runs it."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=command.environment(), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=command.SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return 128, "", str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
