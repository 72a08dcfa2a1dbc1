"""Damages source files in every language, as an editor or an enemy would, and parses them within limits of time and memory.

    python tools/mutate_sources.py --count 30000 --seed 7 FOLDER...

A child process parses one text after the other, as indexing does. It measures processor time and memory that each takes,
and is ended by the system when one takes far too long; the parent notes that one, and a new child goes on with the next. Every
text follows from the seed and its number: `--only NUMBER` does one of them again, `--keep FOLDER` keeps those that failed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "chunking"))

SECONDS, MEMORY = 2.0, 500 << 20
"""Of processor time and bytes, which no text may take more of."""
LARGEST = 990_000
"""Bytes of a text: the settings leave out larger files, unless they are told otherwise."""
_PER_LANGUAGE = 400
"""Files that are damaged, of each language; taken evenly from all."""
NOISE = (
    "(", ")", "{", "}", "[", "]", "<", ">", '"', "'", "`", "\\", "#", "/*", "*/", "//", "--", ";", ":", ",", ".", "=", "=>",
    "->", "@", "$", "%", "&", "?", "!", "\n", "\r\n", "\t", "    ", " ", "\0", "é", "漢", "😀", "\ufeff", "\u2028", "if ",
    "class ", "def ", "end\n", "fun ", "0x", "1e", "<<EOF\n", '"""', "'''", "${", "#{", "#if ", "#endif\n", "@a", "<a>", "</a>",
    "r#\"", "%w(", "[[", "--[==[", "val x\n", "where\n", "{-", "-}", "?>", "<?php ",
)  # fmt: skip


@dataclass(frozen=True)
class Failure:
    number: int
    language: str
    path: str
    size: int
    seconds: float
    memory: int
    reason: str


def run(
    count: int, seed: int, seconds_limit: float = SECONDS, memory_limit: int = MEMORY, sources: Sequence[str | Path] = (),
    first: int = 0, quiet: bool = True, keep: Path | None = None,
) -> list[Failure]:  # fmt: skip
    """Parse `count` damaged texts; those that took too much, or brought the process down."""
    failures: list[Failure] = []
    number, end, given_up, slowest, largest = first, first + count, 0, 0.0, 0
    began = time.monotonic()
    while number < end:
        command = [sys.executable, __file__, "--serve", str(number), "--count", str(end - number), "--seed", str(seed)]
        command += ["--seconds", str(seconds_limit), *map(str, sources)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            begun: dict[str, object] = {}
            for line in child.stdout:
                told = json.loads(line)
                if "seconds" not in told:
                    begun = told
                    continue
                number = told["number"] + 1
                slowest, largest = max(slowest, told["seconds"]), max(largest, told["memory"])
                given_up += told.pop("gave_up")
                reason = told.pop("error")
                if told["seconds"] > seconds_limit:
                    reason = reason or "too long"
                if told["memory"] > memory_limit:
                    reason = reason or "too much memory"
                if reason:
                    failures.append(Failure(**told, reason=reason))
                if not quiet and number % 1000 == 0:
                    print(f"{number - first:,} tried, {len(failures)} failed, {given_up} given up", flush=True)
        if child.returncode == 0:
            break
        if not begun:
            raise RuntimeError(f"the child ended with {child.returncode} before it had begun")
        reason = "never ends" if child.returncode == -getattr(signal, "SIGPROF", 0) else f"ended with {child.returncode}"
        failures.append(Failure(**begun, seconds=0.0, memory=0, reason=reason))  # type: ignore[arg-type]
        number = failures[-1].number + 1
    if keep is not None and failures:
        keep.mkdir(parents=True, exist_ok=True)
        texts = _Texts(seed, sources)
        for failure in failures:
            (keep / f"{seed}-{failure.number}.{failure.language}").write_bytes(texts.text(failure.number)[2])
    if not quiet:
        took = time.monotonic() - began
        print(f"slowest {slowest:.2f} s, largest {largest >> 20} MB, {given_up} cut by lines, {took:.0f} s in all")
    return failures


class _Texts:
    def __init__(self, seed: int, sources: Sequence[str | Path]) -> None:
        from snippets import SNIPPETS

        from lurcher.chunking.grammar import grammar_of
        from lurcher.chunking.languages import detect

        self._seed = seed
        files: dict[str, list[tuple[str, bytes]]] = {
            language: [("snippet", source.encode())] for language, (source, _) in SNIPPETS.items() if grammar_of(language)
        }
        for folder in sources:
            for path in sorted(_files_in(Path(folder))):
                language = detect(str(path), b"")
                if language in files and 0 < path.stat().st_size <= LARGEST:
                    files[language].append((str(path), b""))
        self._files = {name: _evenly(found, _PER_LANGUAGE) for name, found in sorted(files.items())}

    def text(self, number: int) -> tuple[str, str, bytes]:
        """Language, path and text."""
        chance = random.Random(f"{self._seed}:{number}")
        language = chance.choice(list(self._files))
        path, text = chance.choice(self._files[language])
        text = text or Path(path).read_bytes()
        return language, path, mutate(text.decode("utf-8", "replace"), chance).encode("utf-8", "replace")[:LARGEST]


def mutate(text: str, chance: random.Random) -> str:
    """The text with a little or a lot of damage."""
    if chance.random() < 0.5:  # a part, as most files are long
        at = chance.randrange(len(text) + 1)
        text = text[at : at + chance.choice((50, 300, 2000))]
    for _ in range(chance.choice((1, 1, 1, 2, 3, 5, 20))):
        at, turn = chance.randrange(len(text) + 1), chance.random()
        other, width = chance.randrange(len(text) + 1), chance.choice((1, 1, 3, 20, 100, 1000))
        if turn < 0.2:  # as while somebody types
            text = text[:at]
        elif turn < 0.4:
            text = text[:at] + text[at + width :]
        elif turn < 0.65:
            text = text[:at] + "".join(chance.choices(NOISE, k=chance.choice((1, 1, 1, 2, 3)))) + text[at:]
        elif turn < 0.8:
            text = text[:at] + text[other : other + width] + text[at:]
        elif turn < 0.9:
            text = text[:at] + text[at + width : at + 2 * width] + text[at : at + width] + text[at + 2 * width :]
        else:
            text = _repeated(text, at, chance)
    return text


def _repeated(text: str, at: int, chance: random.Random) -> str:
    """A few tokens, over and over, with or without others to close them."""
    noise = "".join(chance.choices(NOISE, k=chance.choice((1, 2, 3))))
    piece = chance.choice((noise, text[at : at + chance.choice((3, 10, 40))]))
    times = chance.choice((10, 100, 100, 1000, 1000, 10_000, 100_000))
    times = min(times, LARGEST // max(1, len(piece)))
    closing = "".join(chance.choices(NOISE, k=2)) * times if chance.random() < 0.4 else ""
    return text[:at] + piece * times + closing + text[at:]


def _files_in(folder: Path) -> Iterable[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (path for name in names if (path := Path(place, name)).is_file() and not path.is_symlink())


def _evenly(items: list[tuple[str, bytes]], most: int) -> list[tuple[str, bytes]]:
    step = max(1, len(items) // most)
    return items[::step]


def _serve(first: int, count: int, seed: int, seconds: float, sources: Sequence[str]) -> None:
    """The child's side: a line before each text and one after it."""
    from lurcher.chunking.code import load, parse

    texts = _Texts(seed, sources)
    for language in texts._files:
        load(language)
    for number in range(first, first + count):
        language, path, text = texts.text(number)
        about = {"number": number, "language": language, "path": path, "size": len(text)}
        print(json.dumps(about), flush=True)
        before = _reset_peak()
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 4 * seconds + 2)
        began, error, gave_up = time.process_time(), "", False
        try:
            parsed = parse(text, language)
            gave_up = parsed.gave_up
            if b"".join(text[chunk.start_byte : chunk.end_byte] for chunk in parsed.chunks) != text:
                error = "its chunks are not the text"
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"[:200]
        took = time.process_time() - began
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0)
        memory = max(0, _peak() - before)
        about |= {"seconds": round(took, 3), "memory": memory, "gave_up": gave_up, "error": error}
        print(json.dumps(about), flush=True)


def _reset_peak() -> int:
    """Forget how much memory there was at most, where the system can; bytes in use now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _peak()
    return _status("VmRSS")


def _peak() -> int:
    found = _status("VmHWM")
    if found:
        return found
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _status(name: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(name)), 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", help="folders with source files; without any, a snippet of each language")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--memory", type=int, default=MEMORY)
    parser.add_argument("--only", type=int, help="do this one again")
    parser.add_argument("--keep", type=Path, help="where to put texts that failed")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        _serve(given.serve, given.count, given.seed, given.seconds, given.sources)
        return 0
    first, count = (0, given.count) if given.only is None else (given.only, 1)
    failures = run(count, given.seed, given.seconds, given.memory, given.sources, first, quiet=False, keep=given.keep)
    for failure in failures:
        print(json.dumps(asdict(failure)))
    print(f"{count:,} tries, {len(failures)} failures, seed {given.seed}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
