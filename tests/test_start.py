"""The modules of a question come out of one file, which is never older than their sources."""

from __future__ import annotations

import os
import random
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
        start = () if "-c" in flags else ("-m", "lurcher")
        command = [sys.executable, *flags, *start, "search", words[0], str(tmp_path / "tree"), *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
        return done.stdout + done.stderr

    asked("-B")  # makes the index
    time.sleep(0.2)
    asked("-B")  # now the tree has settled
    return asked


def bundles(package: Path) -> list[Path]:
    return list((package / "__pycache__").glob("*.bundle"))


# What the command does, and then which modules came out of the file: made by Python, or in the order of the last time.
TELLING = """
import sys
from lurcher import start

made = []
make = start._make
start._make = lambda spec: (made.append(spec.name), make(spec))
start._leave = lambda status: None
status = start.main()
loaded = [name for name, module in sys.modules.items() if type(getattr(module, "__loader__", None)) is start._Loader]
print(*made, file=sys.stderr)
print(*(name for name in loaded if name not in made), file=sys.stderr)
for name in loaded:
    module, parent = sys.modules[name], sys.modules[name.rpartition(".")[0]]
    spec = module.__spec__
    assert getattr(parent, name.rpartition(".")[2]) is module
    assert spec.loader is module.__loader__ and spec.origin == module.__file__ and spec.cached == module.__cached__
    assert module.__package__ == spec.parent and module.__name__ == spec.name
    assert getattr(module, "__path__", None) == spec.submodule_search_locations
"""


def from_the_bundle(run: Run) -> tuple[list[str], list[str]]:
    """Modules that did not come from files of their own: those that were made before they were asked for, and others."""
    made, others = run("-c", TELLING).splitlines()[-2:]
    return made.split(), others.split()


NEEDED = {"lurcher.engine", "lurcher.lanes.lexical", "lurcher.ranking.default", "lurcher.errors"}


def test_a_question_keeps_what_it_loaded_and_the_next_one_loads_that(run: Run, package: Path) -> None:
    assert not bundles(package)
    first = run()
    assert len(bundles(package)) == 1
    made, others = from_the_bundle(run)
    assert set(others) >= NEEDED and not made
    before = bundles(package)[0].read_bytes()
    assert run() == first
    assert bundles(package)[0].read_bytes() == before
    assert not list((package / "__pycache__").glob("*.bundle.*"))


def test_what_two_questions_needed_is_made_before_it_is_requested(run: Run, package: Path) -> None:
    first = run()
    assert run() == first
    made, others = from_the_bundle(run)
    assert len(made) > 3 * len(others) and {*made, *others} >= NEEDED
    assert run() == first
    run(words=("how is a request retried", "--mode", "lexical"))  # needs less, and something else to show it
    before = bundles(package)[0].read_bytes()
    assert run() == first
    assert bundles(package)[0].read_bytes() == before


def test_modules_are_only_made_for_questions(run: Run, package: Path, tmp_path: Path) -> None:
    run()
    run()
    telling = TELLING.replace("import sys\n", "import sys\nsys.argv = ['lurcher', 'status', sys.argv[2]]\n", 1)
    made = run("-c", telling).splitlines()[-2]
    assert made == ""


def test_beside_other_threads_python_imports_each(run: Run, package: Path) -> None:
    run()
    run()
    waiting = "import sys, threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    made, others = (line.split() for line in run("-c", TELLING.replace("import sys\n", waiting, 1)).splitlines()[-2:])
    assert not made and set(others) >= NEEDED


def test_what_cannot_be_made_that_way_is_left_to_python(run: Run, package: Path) -> None:
    first = run()
    run()
    telling = TELLING.replace("make = start._make", "def make(spec):\n    sys.modules[spec.name] = None\n    raise KeyError")
    said = run("-c", telling)
    assert said.startswith(first)
    made, others = (line.split() for line in said.splitlines()[-2:])
    assert len(made) == 1 and set(others) >= NEEDED - {*made}


def test_a_module_that_changed_is_loaded_again(run: Run, package: Path) -> None:
    run()
    run()
    module = package / "answer" / "page.py"
    module.write_text(module.read_text() + "\nimport sys\nsys.stderr.write('changed\\n')\n")
    assert "changed\n" in run()
    assert "changed\n" in run()  # and from then on out of the file
    assert "changed\n" in run()
    made, others = from_the_bundle(run)
    assert "lurcher.answer" in {*made, *others} and made


def test_a_module_that_needs_another_one_than_before_gets_it(run: Run, package: Path) -> None:
    run()
    run()
    (package / "more.py").write_text("WORD = 'more'\n")
    module = package / "errors.py"
    module.write_text(module.read_text() + "\nimport sys\nfrom lurcher.more import WORD\nsys.stderr.write(WORD + '\\n')\n")
    for _ in range(4):
        assert "more\n" in run()


def test_a_module_that_is_gone_is_not_loaded(run: Run, package: Path) -> None:
    run()
    (package / "ranking" / "default.py").unlink()
    with pytest.raises(subprocess.CalledProcessError):
        run()


@pytest.mark.parametrize("damage", [b"", b"lurcher", b"\xff" * 1000], ids=["empty", "short", "garbage"])
def test_a_damaged_file_is_done_without_and_rewritten(run: Run, package: Path, damage: bytes) -> None:
    first = run()
    place = bundles(package)[0]
    whole = place.read_bytes()
    for broken in (damage, whole[: len(whole) // 2], whole[:16] + damage + b"["):
        place.write_bytes(broken)
        assert run() == first
        assert place.read_bytes()[:16] == whole[:16]
        assert len(place.read_bytes()) == len(whole)


def test_a_byte_that_changed_anywhere_does_no_harm(run: Run, package: Path) -> None:
    first = run()
    run()
    place = bundles(package)[0]
    whole = place.read_bytes()
    rng = random.Random(20)
    for _ in range(25):
        at = rng.randrange(len(whole))
        place.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        assert run() == first
        assert run() == first  # which has the order in it again
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
