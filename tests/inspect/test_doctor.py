"""`lurcher doctor` finds every damage, names the file, and changes nothing."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lurcher.answer import token_table
from lurcher.engine import Engine, diagnose
from lurcher.indexing.root_index import RootIndex
from lurcher.inspect.doctor import checks, run_check
from lurcher.inspect.doctor.checks import NOTE, PROBLEM, Finding
from lurcher.inspect.doctor.index_files import check_folder, check_index
from lurcher.storage import manifest as manifests
from tests.conftest import run_lurcher
from tests.indexing.conftest import in_two_segments, index_files, opened, write
from tests.indexing.faults import folder_bytes, restore
from tests.storage.kinds import KEPT, Kept

NAMES = ("manifest", "one segment", "other segment", "outcomes")
REBUILD = "lurcher index --rebuild"


def project_of(root: Path) -> RootIndex:
    return opened(root).projects[0]



@pytest.fixture
def indexed(root: Path) -> Path:
    """A tree with an index of two segments, old enough for time stamps to be believed."""
    write(root, {"latin.py": ""})
    (root / "latin.py").write_bytes("# Grüße\nx = 'ä'\n".encode("latin-1"))
    (root / "wide.txt").write_bytes("\ufeffwide text\n".encode("utf-16-le"))
    (root / "marked.py").write_bytes(b"\xef\xbb\xbfx = 1\n")
    (root / "broken.py").write_bytes("# ü".encode() + b" \xff\n")
    (root / "study.ipynb").write_text('{"cells": [{"cell_type": "code", "source": ["y = 1"]}], "metadata": {}}')
    (root / "picture.py").write_bytes(b"\0\0\0")
    return in_two_segments(root)


def silent(what: str, done: int, total: int) -> None:
    pass


def problems(project: RootIndex) -> list[Finding]:
    """What is wrong with the index folder and what is in it."""
    found = [*check_folder(project), *check_index(project, silent, quick=False)]
    return [finding for finding in found if finding.state == PROBLEM]


def named(project: RootIndex, path: Path) -> None:
    """There is a problem, and it names the file and the way out."""
    found = [finding for finding in problems(project) if path.name in finding.message]
    assert found, problems(project)
    assert all(REBUILD in finding.hint or "rm -r" in finding.hint for finding in found)


def snapshot(top: Path) -> list[tuple[str, int, int]]:
    return sorted((str(path), path.lstat().st_mtime_ns, path.lstat().st_size) for path in top.rglob("*"))


def test_a_healthy_index_is_all_well_and_left_alone(indexed: Path) -> None:
    before = snapshot(indexed)
    result = run_lurcher("doctor", indexed)
    assert result.status == 0, result.out
    assert result.err == "all is well\n"
    assert {line.split()[0] for line in result.out.splitlines()} <= {"ok", "note"}
    assert {line.split()[1] for line in result.out.splitlines()} >= {
        "python", "packages", "kernel", "tokens", "grammars", "git", "settings", "model", "folder", "lock", "index", "tree",
        "watch",
    }  # fmt: skip
    assert "every byte, table and text is intact" in result.out
    report = run_lurcher("doctor", indexed, "--json").json
    assert report["problems"] == 0
    assert all(set(check) == {"check", "state", "message", "hint", "root"} for check in report["checks"])
    assert snapshot(indexed) == before


def test_a_repository_without_an_index_gets_none(repository: Path) -> None:
    before = snapshot(repository)
    result = run_lurcher("doctor", repository)
    assert result.status == 0
    assert f"no index yet: {repository}/.lurcher will be made (run: lurcher index {repository})" in result.out
    assert snapshot(repository) == before


def test_an_index_that_was_cleared_is_none_yet(indexed: Path) -> None:
    run_lurcher("index", "--clear", indexed)
    result = run_lurcher("doctor", indexed)
    assert result.status == 0
    assert "note     index     no index yet" in result.out


@pytest.fixture(scope="module", params=["code", "history"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Kept, dict[str, bytes]]:
    """An index of each schema, of two segments; notes have that of code. Its files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LURCHER_CONFIG", os.devnull)
        kept = KEPT[request.param](tmp_path_factory.mktemp(request.param))
        assert kept.problems() == []
    return kept, folder_bytes(kept.folder)


@pytest.fixture
def kept(made: tuple[Kept, dict[str, bytes]]) -> Kept:
    """The same, as it was at first."""
    restore(made[0].folder, made[1])
    return made[0]


def file_of(kept: Kept, number: int) -> Path:
    if number >= len(kept.files()):
        pytest.skip("only an index of history has outcomes")
    return kept.files()[number]


def named_by_doctor(kept: Kept, path: Path) -> None:
    """There is a problem, and it names the file and the way out."""
    found = [finding for finding in kept.problems() if path.name in finding.message]
    assert found, kept.problems()
    assert all(kept.rebuild_hint in finding.hint for finding in found)


def positions(size: int) -> list[int]:
    """Places in a file: all of its beginning and end, and many between them; the drill `damage` has any place."""
    return sorted({*range(16), *range(size - 48, size), *range(16, size, max(size // 60, 1))})


@pytest.mark.parametrize("number", range(4), ids=NAMES)
def test_every_flipped_bit_is_found(kept: Kept, number: int) -> None:
    path = file_of(kept, number)
    whole = path.read_bytes()
    for count, position in enumerate(positions(len(whole))):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << count % 8
        path.write_bytes(damaged)
        named_by_doctor(kept, path)
    path.write_bytes(whole)
    assert kept.problems() == []


@pytest.mark.parametrize("number", range(4), ids=NAMES)
def test_every_truncation_is_found(kept: Kept, number: int) -> None:
    path = file_of(kept, number)
    whole = path.read_bytes()
    for length in {0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 33, len(whole) - 24, len(whole) - 1}:
        path.write_bytes(whole[:length])
        named_by_doctor(kept, path)
    path.write_bytes(whole + b"\0")
    named_by_doctor(kept, path)


@pytest.mark.parametrize("number", range(4), ids=NAMES)
@pytest.mark.parametrize("how", ["delete", "folder", "link", "pipe", "another"])
def test_a_file_that_is_not_there_or_is_another_is_found(kept: Kept, number: int, how: str) -> None:
    path = file_of(kept, number)
    other = kept.files()[(number + 1) % 3].read_bytes()
    whole = path.read_bytes()
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "link":
        (kept.folder / "elsewhere").write_bytes(whole)
        path.symlink_to("elsewhere")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "another":
        path.write_bytes(other)
    named_by_doctor(kept, path)
    if number == 1:
        result = run_lurcher("doctor", kept.root)
        assert result.status == 1
        assert path.name in next(line for line in result.out.splitlines() if line.startswith("problem"))


@pytest.mark.parametrize("name", ["CACHEDIR.TAG", ".gitignore", "lock"])
@pytest.mark.parametrize("how", ["delete", "folder", "link", "empty", "flip"])
def test_small_files_are_checked_too(indexed: Path, name: str, how: str) -> None:
    path = indexed / ".lurcher" / name
    whole = path.read_bytes()
    project = project_of(indexed)
    if how == "flip":
        for position in range(len(whole)) if name != "lock" else ():
            damaged = bytearray(whole)
            damaged[position] ^= 1 << position % 8
            path.write_bytes(damaged)
            named(project, path)
        return
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "link":
        path.symlink_to("manifest")
    elif how == "empty":
        path.write_bytes(b"")
    if name == "lock" and how in ("delete", "empty"):  # made when it is needed; what is in it does not matter
        assert problems(project) == []
    else:
        named(project, path)


def test_what_the_hint_says_fixes_it(indexed: Path) -> None:
    for path in index_files(indexed):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    assert run_lurcher("doctor", indexed).status == 1
    run_lurcher("index", "--rebuild", indexed)
    result = run_lurcher("doctor", indexed)
    assert (result.status, result.err) == (0, "all is well\n")


def rewrite(
    root: Path, change: Callable[[dict[str, manifests.FileRow]], None], first: str | None = None, settled: tuple[str, ...] = ()
) -> None:
    """Another manifest, whole and with all its checksums, that says something else."""
    project = project_of(root)
    manifest = manifests.read_manifest(project.store.folder, project.fingerprint)
    assert manifest is not None
    rows = dict(manifest.rows)
    change(rows)
    segments = (first or manifest.segments[0], *manifest.segments[1:])
    manifests.write_manifest(project.store.folder, manifest.replace(rows=rows, segments=segments, settled=frozenset(settled)))


def test_a_manifest_that_leads_to_other_files_is_found(indexed: Path) -> None:
    def swap(rows: dict[str, manifests.FileRow]) -> None:
        one, two = rows["src/client.py"], rows["src/cookies.py"]
        rows["src/client.py"], rows["src/cookies.py"] = one._replace(place=two.place), two._replace(place=one.place)

    rewrite(indexed, swap)
    (finding,) = problems(project_of(indexed))
    assert "src/cookies.py is listed where src/client.py is" in finding.message


def test_a_segment_under_another_name_is_found(indexed: Path) -> None:
    project = project_of(indexed)
    manifest = manifests.read_manifest(project.store.folder, project.fingerprint)
    assert manifest is not None
    path = project.store.folder / f"{'0' * 24}.segment"
    (project.store.folder / manifest.segments[0]).rename(path)
    rewrite(indexed, lambda rows: None, path.name)
    (finding,) = problems(project)
    assert f"{path.name} is damaged: its content does not match its name" in finding.message


def test_a_manifest_that_leads_beyond_a_segment_is_found(indexed: Path) -> None:
    rewrite(indexed, lambda rows: rows.update({"new.py": rows["new.py"]._replace(place=99)}))
    (finding,) = problems(project_of(indexed))
    assert "the manifest names files that it does not have" in finding.message


def test_text_that_is_not_what_was_read_is_found(indexed: Path) -> None:
    rewrite(indexed, lambda rows: rows.update({"new.py": rows["new.py"]._replace(digest=b"x" * 16)}))
    (finding,) = problems(project_of(indexed))
    assert "the text of new.py is not what was read" in finding.message


def test_an_edit_that_time_stamps_hide_is_found(indexed: Path) -> None:
    path = indexed / "new.py"
    path.write_text(path.read_text().replace("zeppelin", "airplane"))
    status = path.stat()
    rewrite(
        indexed,
        lambda rows: rows.update({
            "new.py": rows["new.py"]._replace(
                mtime_ns=10**18, ctime_ns=status.st_ctime_ns, inode=status.st_ino, size=status.st_size
            )
        }),
    )  # fmt: skip
    os.utime(path, (10**9, 10**9))
    changed = path.stat().st_ctime_ns
    rewrite(indexed, lambda rows: rows.update({"new.py": rows["new.py"]._replace(ctime_ns=changed)}), settled=("new.py",))
    found = {finding.check: finding for finding in diagnose(indexed)}
    assert found["tree"].state == PROBLEM
    assert "1 file changed without a new time stamp: new.py" in found["tree"].message
    assert {finding.check: finding for finding in diagnose(indexed, quick=True)}["tree"].state == "ok"


def test_ordinary_changes_are_only_noted(indexed: Path) -> None:
    write(indexed, {"src/client.py": "x = 1\n", "another.py": "y = 1\n"})
    result = run_lurcher("doctor", indexed)
    assert result.status == 0
    assert "2 files changed since the index was made (run: lurcher index " in result.out


def test_what_killed_writers_left_is_noted(indexed: Path) -> None:
    (indexed / ".lurcher" / ".manifest.999999999-0.tmp").write_bytes(b"half")
    (indexed / ".lurcher" / f"{'0' * 24}.segment").write_bytes(b"whole")
    (indexed / ".lurcher" / f".manifest.{os.getpid()}-0.tmp").write_bytes(b"at work")
    result = run_lurcher("doctor", indexed)
    assert result.status == 0
    assert "left behind by a writer that was killed: .manifest.999999999-0.tmp (" in result.out
    assert f"segments or vectors that no manifest names: {'0' * 24}.segment" in result.out


def test_who_is_writing_is_reported(indexed: Path) -> None:
    with (indexed / ".lurcher" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = run_lurcher("doctor", indexed)
        assert result.status == 0
        assert f"process {os.getpid()} is writing the index" in result.out
        assert run_lurcher("status", indexed, "--json").json["lock"] == {"held": True, "pid": os.getpid()}
        assert f"process {os.getpid()} holds the lock" in run_lurcher("status", indexed).out
    assert run_lurcher("status", indexed, "--json").json["lock"] == {"held": False, "pid": None}


def test_an_index_of_other_settings_is_noted(indexed: Path) -> None:
    result = run_lurcher("doctor", indexed, "--set", "index.chunk_chars=700")
    assert result.status == 0
    assert "the index was made with chunk_chars 1500 (now 700): the next query rebuilds it" in result.out


def test_settings_that_cannot_be_read_are_a_problem(indexed: Path) -> None:
    (indexed / "lurcher.toml").write_text("[search]\nlimits = 5\n")
    result = run_lurcher("doctor", indexed)
    assert result.status == 1
    assert "problem  settings  lurcher.toml: unknown setting 'search.limits' (did you mean 'search.limit'?" in result.out
    assert result.err == "1 problem\n"


def test_a_damaged_model_is_a_problem(indexed: Path, tiny_model: Path, tmp_path: Path) -> None:
    data = bytearray(tiny_model.read_bytes())
    data[100] ^= 1
    (tmp_path / "bad.table").write_bytes(data)
    result = run_lurcher("doctor", indexed, "--set", f"dense.model={tmp_path / 'bad.table'}")
    assert result.status == 1
    assert "problem  model     model file bad.table is damaged" in result.out


def test_a_repository_that_git_refuses_is_a_problem(repository: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to somebody else")
    for path in (repository, repository / ".git"):
        os.chown(path, 54321, 54321)
    result = run_lurcher("doctor", repository)
    assert result.status == 1
    assert f"git config --global --add safe.directory {repository}" in result.out


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    result = run_lurcher("doctor", tmp_path / "nowhere")
    assert (result.status, result.out) == (2, "")
    assert "does not exist" in result.err


def test_an_index_folder_that_is_a_file_is_a_problem(root: Path) -> None:
    (root / ".lurcher").write_text("x")
    result = run_lurcher("doctor", root)
    assert result.status == 1
    assert "is a file" in result.out


def test_a_folder_that_cannot_be_written_is_a_problem(indexed: Path, without_privileges: tuple[str, ...]) -> None:
    (indexed / ".lurcher").chmod(0o555)
    try:
        result = run_lurcher("doctor", indexed, before=without_privileges)
    finally:
        (indexed / ".lurcher").chmod(0o755)
    assert result.status == 1
    assert f"{indexed}/.lurcher cannot be written" in result.out


def test_too_little_room_is_a_problem(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(indexed)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage._replace(free=10))
    (finding,) = problems(project_of(indexed))
    assert "too few to rebuild the index" in finding.message


def test_a_check_that_fails_itself_is_a_problem_and_the_others_go_on(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def packages() -> Any:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(checks, "check_packages", packages)
    found = list(diagnose(indexed))
    assert [finding.message for finding in found if finding.state == PROBLEM] == [
        "the check itself failed: ZeroDivisionError: oh"
    ]
    assert found[-1].check == "watch"


def test_a_missing_grammar_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    original = checks.load_capsule

    def without(module: str, function: str) -> Any:
        if module in ("tree_sitter_lua", "tree_sitter_ocaml"):
            raise ImportError(f"No module named '{module}'")
        return original(module, function)

    monkeypatch.setattr(checks, "load_capsule", without)
    bad, good, note = checks.check_grammars()
    assert (bad.state, bad.hint) == (PROBLEM, "run: pip install tree-sitter-lua")
    assert "26 languages" in good.message
    assert (note.state, note.hint) == ("note", "run: pip install 'lurcher[languages]'")
    assert note.message.endswith(": ocaml, ocaml-interface")


def test_grammars_are_listed_with_their_versions() -> None:
    from importlib.metadata import version

    (good,) = checks.check_grammars()
    for language, package in (("python", "tree-sitter-python"), ("csharp", "tree-sitter-c-sharp")):
        assert f"{language} {version(package)}" in good.message


def test_a_grammar_that_the_kernel_does_not_know_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = {"go": "tree-sitter", "lua": "lines"}

    def describe(languages: list[str]) -> dict[str, dict[str, str]]:
        return {name: {"package": f"p-{name}", "version": "9", "reader": readers.get(name, "kernel")} for name in languages}

    monkeypatch.setattr(checks, "describe_grammars", describe)
    monkeypatch.setattr(checks, "native", object)
    _, slower, unread = checks.check_grammars()
    assert slower.state == NOTE and slower.message.endswith("as the kernel does not know their grammars: go")
    assert unread.state == PROBLEM and unread.message.endswith("files are cut by lines: lua")
    assert unread.hint == "run: pip install --force-reinstall p-lua"
    monkeypatch.setattr(checks, "native", lambda: None)  # then all are read by tree-sitter, which the kernel's line says
    assert [finding.state for finding in checks.check_grammars()] == ["ok", PROBLEM]


def test_a_missing_kernel_is_a_note_that_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LURCHER_KERNEL", raising=False)
    monkeypatch.setitem(sys.modules, "lurcher._kernel", None)  # type: ignore[arg-type]
    (missing,) = checks.check_kernel()
    assert missing.state == NOTE
    assert "it was not built when lurcher was installed; everything falls back to Python" in missing.message
    assert "C compiler" in missing.hint
    (tmp_path / "tree").mkdir()
    result = run_lurcher("doctor", tmp_path / "tree", "--json", env={"LURCHER_KERNEL": "python"})
    (told,) = (check for check in result.json["checks"] if check["check"] == "kernel")
    assert (told["state"], told["hint"]) == (NOTE, "unset LURCHER_KERNEL to use it")


def test_a_damaged_table_of_tokens_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(Path(token_table.FILE).read_bytes())
    content[-1] ^= 1
    (tmp_path / "tokens").write_bytes(content)
    monkeypatch.setattr(token_table, "FILE", str(tmp_path / "tokens"))
    (finding,) = run_check("tokens", checks.check_tokens)
    assert (finding.state, finding.hint) == (PROBLEM, token_table.REINSTALL)
    assert "its checksum differs" in finding.message


@pytest.mark.parametrize("package", ["ast-grep-py", "google-re2", "lz4", "numpy", "tree-sitter"])
def test_a_package_that_cannot_be_imported_is_a_problem(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (module,) = (module for module, name in checks._PACKAGES.items() if name == package)
    monkeypatch.setitem(sys.modules, module, None)  # type: ignore[arg-type]
    bad, good = checks.check_packages()
    assert bad.state == PROBLEM and bad.message.startswith(f"{package} cannot be imported")
    assert package not in {name.split()[0] for name in good.message.split(", ")}


def test_an_index_that_is_rewritten_meanwhile_is_checked_again(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(indexed)
    rounds = []

    def examine(*arguments: Any, **options: Any) -> Iterator[Finding]:
        rounds.append(1)
        if len(rounds) == 1:
            opened(indexed).index(rebuild=True)
            yield Finding("index", PROBLEM, "a segment is missing")

    monkeypatch.setattr("lurcher.inspect.doctor.index_files._check_generation", examine)
    assert list(check_index(project, silent, quick=False)) == []
    assert len(rounds) == 2


def test_several_roots_are_distinguished(indexed: Path, repository: Path) -> None:
    with Engine.open(repository) as engine:
        engine.index()
    (repository / ".lurcher" / "manifest").write_bytes(b"")
    report = run_lurcher("doctor", indexed, repository, "--json")
    assert report.status == 1
    assert [check["root"] for check in report.json["checks"] if check["state"] == "problem"] == [str(repository)]
