"""Mutated sources: files as they are while somebody types, cut off, doubled, or with noise in them, in every language."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from lurcher.chunking.code import parse
from lurcher.languages.detect import LANGUAGES, detect
from lurcher.languages.grammar import grammar_of
from tests.drills.drill import Drill
from tests.languages.samples import samples

MOST_BYTES, LARGEST = 4_000, 990_000
"""Of most texts, and of a few: the settings leave out larger files."""
_FEW = 0.005
MOST_FILES = 4_000
NOISE = (
    "(", ")", "{", "}", "[", "]", "<", ">", '"', "'", "`", '"""', "'''", "\\", "#", "/*", "*/", "//", "--", ";", ":", "::", "=",
    "=>", "->", "@", "$", "${", "#{", "\n", "\r\n", "\t", "\0", " ", "\x0b", "é", "漢", "😀", "\ufeff", "\u2028", "if", "else",
    "#if ", "#endif\n", "<a>", "</a>", "%w(", "[[", "--[==[", "val x\n", "where\n", "{-", "-}", "?>", "<?php ",
    "class", "def", "end", "fn", "val", "func", "0x", "1e", "<<EOF\n", "r#\"", "@a", "%", "&", "|", "!", "?", "...",
)  # fmt: skip


class Sources(Drill):
    """Each is read in less than two seconds and 500 MB, and its chunks are the whole text."""

    name = "sources"
    short, long = 6_000, 300_000
    cpu_seconds = 2.0
    memory = 500 << 20

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        known = [language for language in samples() if grammar_of(language) or LANGUAGES[language].script]
        self._texts = sorted((language, samples()[language].source.encode()) for language in known)
        for tree in sources:
            self._texts += _texts_in(tree)
        self._languages = sorted({language for language, _ in self._texts})
        self._of = {name: [text for language, text in self._texts if language == name] for name in self._languages}
        for name in self._languages:
            parse(self._of[name][0], name)  # grammars are loaded before memory is limited

    def attempt(self, chance: random.Random) -> str | None:
        language = chance.choice(self._languages)
        text = mutated(chance.choice(self._of[language]), chance, self._texts)
        parsed = parse(text, language)
        place = 0
        for chunk in parsed.chunks:
            if chunk.start_byte != place or chunk.end_byte <= chunk.start_byte:
                return f"a chunk of {language} begins at {chunk.start_byte} instead of {place}: {text!r}"
            place = chunk.end_byte
        if place != len(text):
            return f"the chunks of {language} end at {place} of {len(text)}: {text!r}"
        self.counts[language] += 1
        return None


def mutated(text: bytes, chance: random.Random, others: Sequence[tuple[str, bytes]]) -> bytes:
    """Another text, UTF-8: most are small, a few as large as files may be."""
    most = LARGEST if chance.random() < _FEW else MOST_BYTES
    if len(text) > most:
        start = chance.randrange(len(text) - most)
        text = text[start : start + most]
    elif most == LARGEST:
        text *= chance.choice((1, LARGEST // max(1, len(text))))
    for _ in range(chance.choice((1, 1, 2, 4, 12))):
        at, turn = chance.randrange(len(text) + 1), chance.random()
        if turn < 0.15:  # as while somebody types
            text = text[:at]
        elif turn < 0.35:
            text = text[:at] + text[at + chance.choice((1, 1, 2, 5, 60)) :]
        elif turn < 0.65:
            text = text[:at] + chance.choice(NOISE).encode() * chance.choice((1, 1, 1, 2, 40)) + text[at:]
        elif turn < 0.8:  # something again, elsewhere
            other = chance.randrange(len(text) + 1)
            text = text[:at] + text[other : other + chance.choice((3, 30, 300))] + text[at:]
        elif turn < 0.88:  # something of another file
            _, source = chance.choice(others)
            other = chance.randrange(len(source) + 1)
            text = text[:at] + source[other : other + chance.choice((10, 100, 400))] + text[at:]
        elif turn < 0.91:
            text = _repeated(text, at, chance, most)
        elif turn < 0.95 and text:
            changed = bytearray(text)
            changed[chance.randrange(len(changed))] = chance.randrange(256)
            text = bytes(changed)
        else:
            lines = text.splitlines(keepends=True)
            chance.shuffle(lines)
            text = b"".join(lines)
        text = text[:most]
    return text.decode("utf-8", "ignore").encode()


def _repeated(text: bytes, at: int, chance: random.Random, most: int) -> bytes:
    """A few tokens over and over, with or without others to close them."""
    noise = "".join(chance.choices(NOISE, k=chance.choice((1, 2, 3)))).encode()
    piece = chance.choice((noise, text[at : at + chance.choice((3, 10, 40))] or noise))
    times = min(chance.choice((10, 100, 1_000, 100_000)), most // len(piece))
    closing = "".join(chance.choices(NOISE, k=2)).encode() * times if chance.random() < 0.4 else b""
    return text[:at] + piece * times + closing + text[at:]


def _texts_in(tree: Path) -> list[tuple[str, bytes]]:
    """Small source files of a tree, in their order; of large ones the beginning."""
    found = []
    for path in sorted(tree.rglob("*")):
        if path.is_symlink() or not path.is_file() or len(found) >= MOST_FILES:
            continue
        data = path.read_bytes()[:LARGEST]
        language = detect(path.name, data[:200])
        if data and b"\0" not in data and grammar_of(language):
            found.append((language, data.decode("utf-8", "ignore").encode()))
    return found


DRILL = Sources
