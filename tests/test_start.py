"""The modules of a question come out of one file, which is never older than their sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import lurcher

Run = Callable[..., str]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, whose files may be changed."""
    source = Path(lurcher.__file__).parent
    shutil.copytree(source, tmp_path / "lib" / "lurcher", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "lib" / "lurcher"


@pytest.fixture
def run(tmp_path: Path, package: Path, clean_environment: Callable[..., dict[str, str]]) -> Run:
    """Asks a question of a small tree by the copy, whose index is there; returns what it said on stdout and stderr."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "retry.py").write_text("def retry(request):\n    return request\n")
    environment = {
        **clean_environment(), "PYTHONPATH": str(package.parent), "LURCHER_INDEX_DIR": str(tmp_path / "index"),
    }  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def asked(*flags: str, words: tuple[str, ...] = ("how is a request retried", "--json")) -> str:
        command = [sys.executable, *flags, "-m", "lurcher", "search", words[0], str(tmp_path / "tree"), *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
        return done.stdout + done.stderr

    asked("-B")  # makes the index
    time.sleep(0.2)
    asked("-B")  # now the tree has settled
    return asked


def bundles(package: Path) -> list[Path]:
    return list((package / "__pycache__").glob("*.bundle"))


def from_the_bundle(run: Run) -> set[str]:
    """The modules that did not come from files of their own."""
    said = run("-v")
    own = {line.split("matches ")[1] for line in said.splitlines() if ".pyc matches " in line}
    loaded = {line.split("'")[1] for line in said.splitlines() if line.startswith("import 'lurcher.")}
    return {name for name in loaded if not any(path.endswith(f"/{name.replace('.', '/')}.py") for path in own)}


def test_a_question_keeps_what_it_loaded_and_the_next_one_loads_that(run: Run, package: Path) -> None:
    assert not bundles(package)
    first = run()
    assert len(bundles(package)) == 1
    before = bundles(package)[0].read_bytes()
    assert run() == first
    assert bundles(package)[0].read_bytes() == before
    assert from_the_bundle(run) >= {"lurcher.engine", "lurcher.lanes.lexical", "lurcher.ranking.default", "lurcher.errors"}
    assert not list((package / "__pycache__").glob("*.bundle.*"))


def test_a_module_that_changed_is_loaded_anew(run: Run, package: Path) -> None:
    run()
    module = package / "answering.py"
    module.write_text(module.read_text() + "\nimport sys\nsys.stderr.write('changed\\n')\n")
    assert "changed\n" in run()
    assert "changed\n" in run()  # and from then on out of the file
    assert "lurcher.answering" in from_the_bundle(run)


def test_a_module_that_is_gone_is_not_loaded(run: Run, package: Path) -> None:
    run()
    (package / "ranking" / "default.py").unlink()
    with pytest.raises(subprocess.CalledProcessError):
        run()


@pytest.mark.parametrize("damage", [b"", b"lurcher", b"\xff" * 1000], ids=["empty", "short", "garbage"])
def test_a_damaged_file_is_done_without_and_written_anew(run: Run, package: Path, damage: bytes) -> None:
    first = run()
    place = bundles(package)[0]
    whole = place.read_bytes()
    for broken in (damage, whole[: len(whole) // 2], whole[:16] + damage + b"["):
        place.write_bytes(broken)
        assert run() == first
        assert place.read_bytes()[:16] == whole[:16]
        assert len(place.read_bytes()) == len(whole)


def test_nothing_is_kept_where_python_keeps_nothing(run: Run, package: Path) -> None:
    run("-B")
    assert not (package / "__pycache__").exists()


def test_nothing_is_kept_of_other_commands(run: Run, package: Path) -> None:
    run(words=("how is a request retried", "-n", "1", "--help"))
    assert not bundles(package)


def test_each_way_of_compiling_has_a_file_of_its_own(run: Run, package: Path) -> None:
    assert run("-O") == run()
    tag = sys.implementation.cache_tag
    assert sorted(path.name for path in bundles(package)) == [f"question.{tag}.bundle", f"question.{tag}.opt-1.bundle"]


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_folder_that_takes_nothing_does_no_harm(run: Run, package: Path) -> None:
    first = run()
    place = bundles(package)[0]
    place.unlink()
    place.mkdir()  # nothing can be put in its place
    (place / "held").touch()
    assert run() == first
    assert [path.name for path in bundles(package)] == [place.name]
    assert not list((package / "__pycache__").glob("*.bundle.*"))


def test_what_the_command_says_is_said_wherever_it_goes(run: Run, tmp_path: Path) -> None:
    """It ends without taking the interpreter apart, and still nothing that was said is lost."""
    whole = run()
    assert whole.startswith("{") and whole.endswith("}\n")
    command = [sys.executable, "-m", "lurcher", "search", "how is a request retried", str(tmp_path / "tree"), "--json"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "lib"), "LURCHER_INDEX_DIR": str(tmp_path / "index")}
    with (tmp_path / "said").open("wb") as said:
        assert subprocess.run(command, stdout=said, env=environment, timeout=60, check=False).returncode == 0
    assert (tmp_path / "said").read_text() == whole
    if Path("/dev/full").exists():
        with open("/dev/full", "wb") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment, timeout=60, check=False)
        assert done.returncode == 2 and b"No space left" in done.stderr
