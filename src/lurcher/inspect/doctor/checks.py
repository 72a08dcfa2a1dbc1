"""The checks of `lurcher doctor`: the installation, then for each root its settings, services, models, index and files."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path

from lurcher.answer.token_table import verify_table
from lurcher.errors import ConfigError, LurcherError
from lurcher.indexing.freshness import compare_listing
from lurcher.indexing.root_index import RootIndex
from lurcher.indexing.watcher import INSTALL, SYSCTL
from lurcher.inspect.doctor import NOTE, OK, PROBLEM, Finding, first_few, run_check, run_hint
from lurcher.inspect.doctor.index_files import check_folder, check_history, check_index, check_libraries
from lurcher.inspect.doctor.services import Check, Health, stack
from lurcher.languages import load_capsule
from lurcher.languages.detect import LANGUAGES
from lurcher.languages.grammar import describe_grammars
from lurcher.runtime import VERSION
from lurcher.runtime.installation import find_command, install_command
from lurcher.runtime.kernel import KERNEL_VERSION as KERNEL_VERSION
from lurcher.runtime.kernel import describe_kernel, native
from lurcher.runtime.process import format_count
from lurcher.sources import git
from lurcher.storage import manifest as manifests
from lurcher.types import Progress
from lurcher.vectors import BUILTIN

__all__ = ["NOTE", "OK", "PROBLEM", "Finding", "examine", "examine_installation"]


OLDEST = (3, 10)
_REINSTALL = "run: pip install --force-reinstall lurcher"
_PACKAGES = {
    "ast_grep_py": "ast-grep-py", "lz4.block": "lz4", "numpy": "numpy", "re2": "google-re2", "tree_sitter": "tree-sitter",
}  # fmt: skip
_EXTRAS = {"mcp": ("mcp", "mcp_types"), "web": ("starlette", "uvicorn")}
_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")
_SECONDS = 3.0
"""How long a server may take to list its models."""
_CHECKS = {"embedding": "model", "reranker": "cross", "judge": "llm"}
"""The check of the model behind a service; it is skipped, and reported under its name, if the service does not answer."""
_OPTIONAL = ("reranker", "judge")
"""Services that searches do without: hits keep the order they had before."""


def examine_installation() -> Iterator[Finding]:
    """Check what all roots share: Python, packages, extras, the PATH, kernel, token table, grammars, git."""
    yield from run_check("python", check_python)
    yield from run_check("packages", check_packages)
    yield from run_check("extras", check_extras)
    yield from run_check("path", check_path)
    yield from run_check("kernel", check_kernel)
    yield from run_check("tokens", check_tokens)
    yield from run_check("grammars", check_grammars)
    yield from run_check("git", check_git)


def examine_all(
    open_roots: Callable[[], Sequence[RootIndex]], progress: Progress, *, quick: bool, services: Sequence[Check]
) -> Iterator[Finding]:
    """Check the installation and each root. That roots cannot be opened is a finding too."""
    yield from examine_installation()
    try:
        projects = open_roots()
    except LurcherError as error:
        check = "settings" if isinstance(error, ConfigError) else "folder"
        yield Finding(check, PROBLEM, error.message, error.hint)
        return
    for project in projects:
        yield from examine(project, progress, quick=quick, services=services)


def examine(
    project: RootIndex, progress: Progress, *, quick: bool = False, services: Sequence[Check] = ()
) -> Iterator[Finding]:
    """Check one root: its settings, services, models, index and files. With `quick`, not every byte is read.

    `services` are checks of services besides those that models use.
    """
    root = str(project.root.path)
    yield from run_check("settings", lambda: check_settings(project), root)
    answers = list(run_check("services", lambda: check_services(project, services), root))
    down = {finding.check for finding in answers if finding.health is not None}
    yield from answers
    if "model" not in down:
        yield from run_check("model", lambda: check_model(project), root)
    yield from run_check("rerank", lambda: check_rerankers(project, down), root)
    yield from run_check("git", lambda: check_repository(project), root)
    yield from run_check("folder", lambda: check_folder(project), root)
    yield from run_check("index", lambda: check_index(project, progress, quick=quick), root)
    yield from run_check("history", lambda: check_history(project, quick=quick), root)
    yield from run_check("libraries", lambda: check_libraries(project), root)
    yield from run_check("tree", lambda: check_tree(project, progress, quick=quick), root)
    yield from run_check("watch", lambda: check_watching(project, quick=quick), root)


def check_python() -> Iterator[Finding]:
    text = f"lurcher {VERSION} on Python {platform.python_version()}"
    if sys.version_info >= OLDEST:
        yield Finding("python", OK, text)
    else:
        yield Finding("python", PROBLEM, f"{text} is too old", f"install Python {OLDEST[0]}.{OLDEST[1]} or newer")


def check_packages() -> Iterator[Finding]:
    found = []
    for module, package in _PACKAGES.items():
        try:
            import_module(module)
            found.append(f"{package} {_version(package)}")
        except Exception as error:  # a broken extension module can fail in any way
            yield Finding("packages", PROBLEM, f"{package} cannot be imported: {error}", _REINSTALL)
    if found:
        yield Finding("packages", OK, ", ".join(found))


def check_extras() -> Iterator[Finding]:
    """The packages behind `lurcher mcp` and `lurcher serve`; without them everything else works."""
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        if missing:
            text = f"{extra}: not installed ({', '.join(missing)}); needed by lurcher {'serve' if extra == 'web' else extra}"
            yield Finding("extras", NOTE, text, f"run: {install_command(extra)}")
        else:
            yield Finding("extras", OK, f"{extra}: {', '.join(f'{module} {_version(module)}' for module in modules)}")


def check_path() -> Iterator[Finding]:
    command = find_command()
    found = shutil.which("lurcher")
    if found is None:
        yield Finding("path", NOTE, "lurcher is not on the PATH", f"start it as: {shlex.join(command)}")
    elif len(command) == 1 and not Path(found).samefile(command[0]):
        yield Finding("path", NOTE, f"lurcher on the PATH is another one: {found}", f"start this one as: {shlex.join(command)}")
    else:
        yield Finding("path", OK, f"lurcher is {found}")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def check_kernel() -> Iterator[Finding]:
    found = describe_kernel()
    if found["name"] == "native":
        yield Finding("kernel", OK, f"native, interface {KERNEL_VERSION}")
    else:
        text = f"not in use: {found['reason']}; everything falls back to Python, with the same answers, and takes longer"
        yield Finding("kernel", NOTE, text, found["hint"])


def check_tokens() -> Iterator[Finding]:
    yield Finding("tokens", OK, f"cl100k_base, {verify_table():,} bytes, the checksum holds")


def check_grammars() -> Iterator[Finding]:
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


def check_git() -> Iterator[Finding]:
    status, out, _ = run_git(Path("/"), "--version")
    if status:
        yield Finding("git", NOTE, "git cannot be run: trees are walked instead, which is slower", "install git")
    else:
        yield Finding("git", OK, out.strip())


def run_git(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of git, run in the same way as for a listing."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=git.environment(), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=git.SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return 128, "", str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def check_settings(project: RootIndex) -> Iterator[Finding]:
    origins = project.settings.origins
    if not origins:
        yield Finding("settings", OK, "all defaults")
        return
    where = ", ".join(sorted(set(origins.values())))
    yield Finding("settings", OK, f"{len(origins)} set by {where}: {', '.join(sorted(origins))}")


def check_model(project: RootIndex) -> Iterator[Finding]:
    found = project.model
    fix = "run: pip install --force-reinstall lurcher" if found.setting == BUILTIN else ""
    try:
        if found.problem is not None:
            raise found.problem
        if found.textual:
            yield from _check_provider(project)
            return
        if found.table is None:
            yield Finding("model", OK, "none: there are no vectors and no search by meaning")
            return
        found.table.verify()
    except LurcherError as problem:
        yield Finding("model", PROBLEM, problem.message, fix or problem.hint)
        return
    yield Finding("model", OK, f"{found.table.meta.name}, {found.table.size / 1e6:.1f} MB, every checksum is right")


def _check_provider(project: RootIndex) -> Iterator[Finding]:
    """Whether the embedding provider answers, with which model and how fast, and which vectors the index lacks."""
    from lurcher.indexing.status import embedded_entry
    from lurcher.vectors.text_model import describe_provider

    provider = describe_provider(project.model)
    served = f" ({provider['served']})" if provider["served"] else ""
    summary = f"{provider['name']}{served} answers, {provider['dims']} numbers per vector, {provider['load_ms']:.0f} ms"
    opened = project.read_from_disk()
    entry = embedded_entry(project.model, *opened) if opened is not None else {}
    fix = run_hint("lurcher index", project.root.path)
    if entry.get("dims", provider["dims"]) != provider["dims"]:
        more = f"{summary}; vectors of the index have {entry['dims']}"
        yield Finding("model", PROBLEM, more, run_hint("lurcher index --rebuild", project.root.path))
    elif entry.get("missing"):
        yield Finding("model", NOTE, f"{summary}; {entry['missing']:,} of {entry['texts']:,} texts have no vectors yet", fix)
    else:
        yield Finding("model", OK, summary)


def check_repository(project: RootIndex) -> Iterator[Finding]:
    root = project.root.path
    top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), None)
    if top is None:
        return
    status, _, errors = run_git(top, "rev-parse", "--show-toplevel")
    if status == 0:
        yield Finding("git", OK, f"reads {top}")
        return
    reason = next((line for line in errors.splitlines() if line.startswith("fatal: ")), errors.strip() or "no reason given")
    reason = reason.removeprefix("fatal: ")
    if "dubious ownership" in reason:
        hint = f"if you trust it, run: git config --global --add safe.directory {shlex.quote(str(top))}"
        yield Finding("git", PROBLEM, f"git refuses {top}, which belongs to another user", hint)
    else:
        yield Finding("git", PROBLEM, f"git cannot read {top}: {reason}", f"see: git -C {shlex.quote(str(top))} status")


def check_tree(project: RootIndex, progress: Progress, *, quick: bool) -> Iterator[Finding]:
    """Compare the tree with the index. Unless `quick`, files that seem unchanged are read too."""
    listing = project.list_files()
    try:
        manifest = manifests.read_manifest(project.store.folder, project.fingerprint)
    except (LurcherError, OSError):
        manifest = None  # there is a finding about it already
    if manifest is None:
        yield Finding("tree", OK, f"{format_count(len(listing.entries), 'file')} to index, listed by {listing.method}")
        return
    changes = compare_listing(manifest, listing)
    stale = project.count_stale(manifest, changes)
    if stale:
        fix = run_hint("lurcher index", project.root.path)
        yield Finding("tree", NOTE, f"{format_count(stale, 'file')} changed since the index was made", fix)
    if quick:
        if not stale:
            yield Finding(
                "tree", OK, f"{format_count(len(listing.entries), 'file')}, all as indexed, by their time stamps"
            )
        return
    suspects = {entry.path for entry in changes.suspects}
    unlike = []
    for done, entry in enumerate(listing.entries):
        if done % 256 == 0:
            progress("reading the tree", done, len(listing.entries))
        row = manifest.rows.get(entry.path)
        if row is None or entry.path in suspects or not any(row.digest):
            continue
        found = project.read_text(entry.path)
        if found.digest is not None and bytes.fromhex(found.digest) != row.digest:
            unlike.append(entry.path)
    if unlike:
        message = f"{format_count(len(unlike), 'file')} changed without a new time stamp: {first_few(unlike)}"
        yield Finding("tree", PROBLEM, message, run_hint("lurcher index --rebuild", project.root.path))
    elif not stale:
        yield Finding("tree", OK, f"{format_count(len(listing.entries), 'file')}, all as indexed, byte by byte")


def check_watching(project: RootIndex, *, quick: bool) -> Iterator[Finding]:
    if find_spec("watchfiles") is None:
        yield Finding("watch", NOTE, "index --watch will check every few seconds, because watchfiles is not installed", INSTALL)
        return
    try:
        limit = int(_WATCHES.read_text())
    except (OSError, ValueError):  # another system, with other limits
        yield Finding("watch", OK, "watchfiles is installed")
        return
    if quick:
        yield Finding("watch", OK, f"watchfiles is installed, and the system has {limit:,} watches")
        return
    folders = 0
    for _ in os.walk(project.root.path):
        folders += 1
        if folders > limit:
            break
    if folders > 0.9 * limit:
        yield Finding("watch", NOTE, f"index --watch needs a watch per folder, and the system has {limit:,}", f"run: {SYSCTL}")
    else:
        yield Finding("watch", OK, f"watchfiles is installed; {format_count(folders, 'folder')}, {limit:,} watches")


def check_rerankers(project: RootIndex, down: Collection[str] = ()) -> Iterator[Finding]:
    """Check only rerankers that are configured, and none whose server is down."""
    settings = project.settings
    wanted = settings.search.rerank.split()
    if "cross" not in down and ("cross" in wanted or any(key.startswith("reranker.") for key in settings.origins)):
        yield from _cross(project)
    if "llm" not in down and ("llm" in wanted or any(key.startswith("judge.") for key in settings.origins)):
        yield from _judge(project)


def _cross(project: RootIndex) -> Iterator[Finding]:
    from lurcher.config.trust import user_setting
    from lurcher.vectors.onnx import INSTALL, find_model

    settings = project.settings
    try:
        if user_setting(settings, "reranker.url").strip():
            yield Finding("cross", OK, f"{settings.reranker.url} is used, by the protocol {settings.reranker.protocol}")
            return
        missing = [name for name in ("onnxruntime", "tokenizers") if find_spec(name) is None]
        if missing:
            yield Finding("cross", NOTE, f"{' and '.join(missing)} not installed: no cross-encoder can run here", INSTALL)
        found = find_model(user_setting(settings, "reranker.model"), "reranker.model")
    except LurcherError as problem:
        yield Finding("cross", PROBLEM if isinstance(problem, ConfigError) else NOTE, problem.message, problem.hint)
        return
    yield Finding("cross", OK, f"{settings.reranker.model} is there, {found.model.stat().st_size / 1e6:.0f} MB")


def _judge(project: RootIndex) -> Iterator[Finding]:
    from lurcher.net.http import Deadline, origin
    from lurcher.rerank.llm import OLLAMA_MODEL, make_chat

    try:
        chat = make_chat(project.settings)
        models = chat.models(Deadline.after(_SECONDS))
    except LurcherError as problem:
        yield Finding("llm", PROBLEM if isinstance(problem, ConfigError) else NOTE, problem.message, problem.hint)
        return
    wanted = chat.model or (OLLAMA_MODEL if chat.protocol == "ollama" else "")
    listed = f"chat models at {origin(chat.base)}: {first_few(models, 20) or 'none'}"
    if wanted and not {wanted, f"{wanted}:latest"} & set(models):
        fix = f"run: ollama pull {wanted}" if chat.protocol == "ollama" else "set judge.model to one that is there"
        yield Finding("llm", NOTE, f"{listed}; {wanted} is not one of them", fix)
    elif not models:
        yield Finding("llm", NOTE, listed, "load a chat model there")
    else:
        yield Finding("llm", OK, listed)


def check_services(project: RootIndex, further: Sequence[Check] = ()) -> Iterator[Finding]:
    for health in stack(project.settings, project.root.path, further):
        if health.reachable:
            yield Finding("service", OK, describe_health(health), health=health)
        else:
            state = NOTE if health.service in _OPTIONAL and not health.misconfigured else PROBLEM
            check = _CHECKS.get(health.service, health.service)
            yield Finding(check, state, describe_health(health), health.hint, health=health)


def describe_health(health: Health) -> str:
    """The state of a service in one line."""
    where = f"{health.service} by {health.protocol} at {health.address}"
    if not health.reachable:
        return f"{where}: {health.problem}; tried: {health.tried}"
    details = [health.model, health.version, f"{health.dims} numbers per vector" if health.dims else "", health.state]
    return f"{where}: {', '.join([text for text in details if text] + [f'{health.latency_ms:.0f} ms'])}"
