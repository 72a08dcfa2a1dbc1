"""Texts that no grammar foresees, for the kernel's parser: what it makes of them is compared with what tree-sitter makes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.languages.grammar import KernelReader, TreeSitterReader, grammar_of, tree_sitter_reader

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.languages.samples import samples

if TYPE_CHECKING:
    from kernel_fuzz import Fuzz

NOISE = (
    "(", ")", "{", "}", "[", "]", "<", ">", '"', "'", "`", "\\", "#", "/*", "*/", "//", ";", ":", "=", "@", "$", "\n", "\t",
    "\0", " ", "é", "漢", "😀", "\ufeff", "if", "class", "def", "end", "0x", "<<EOF\n",
)  # fmt: skip


def prepared(language: str, text: bytes) -> bytes:
    grammar = grammar_of(language)
    return text if grammar is None else grammar.prepared(text)


class Parsing:
    def __init__(self, fuzz: Fuzz) -> None:
        self.fuzz, self.kernel, self.random = fuzz, fuzz.kernel, fuzz.random
        self._sources = sorted((language, sample.source) for language, sample in samples().items() if grammar_of(language))
        self._readers: dict[str, tuple[KernelReader, TreeSitterReader]] = {}

    def readers(self, language: str) -> tuple[KernelReader, TreeSitterReader]:
        if language not in self._readers:
            grammar = grammar_of(language)
            assert grammar is not None and grammar.kernel is not None, f"the kernel does not read {language}"
            reference = tree_sitter_reader(language, grammar.capsule)
            assert reference is not None
            self._readers[language] = grammar.kernel, reference
        return self._readers[language]

    def text(self, source: str) -> bytes:
        for _ in range(self.random.choice((0, 1, 1, 2, 5, 20))):
            at, turn = self.random.randrange(len(source) + 1), self.random.random()
            if turn < 0.4:
                source = source[:at] + source[at + self.random.choice((1, 1, 5, 60)) :]
            elif turn < 0.8:
                source = source[:at] + self.random.choice(NOISE) + source[at:]
            else:
                other = self.random.randrange(len(source) + 1)
                source = source[:at] + source[other : other + self.random.choice((3, 30, 200))] + source[at:]
        return source.encode()

    def parse(self) -> None:
        language, source = self.random.choice(self._sources)
        ours, reference = self.readers(language)
        text = self.text(source)
        if language == "bash":  # its scanner reads outside of a table for other characters than these
            text = prepared(language, text)
        elif self.random.random() < 0.1:  # no UTF-8: it may be refused, and nothing worse
            at = self.random.randrange(len(text) + 1)
            wrong = self.random.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80"))
            self.fuzz.refusable(ours.parse, text[:at] + wrong + text[at:])
        root = ours.parse(text)
        if root is None:  # tree-sitter takes minutes for it
            return
        expected = reference.parse(text)
        assert _nodes(root) == _nodes(expected), f"another tree of {language}: {text!r}"
        assert sorted(_places(ours.matches(root))) == sorted(_places(reference.matches(expected))), f"other matches in {text!r}"

    def patterns(self) -> None:
        """Steps of patterns that lead anywhere, or nowhere."""
        language, source = self.random.choice(self._sources)
        loaded = self.readers(language)[0].language
        root = loaded.parse(source.encode())
        numbers = (-2, -1, 0, 1, 2, 5, 300, 65534, 65535, 1 << 31)
        steps: list[Any] = []
        for i in range(self.random.randrange(1, 5)):
            if self.random.random() < 0.3:
                missing = tuple(self.random.choices(numbers, k=self.random.randrange(3)))
                steps.append((*self.random.choices(numbers[1:7], k=6), missing))
            else:
                symbol, parent = (self.random.choice((-1, 1, 90)), 0) if i else (1, -1)
                steps.append((symbol, 0, parent, -1, self.random.randrange(4), -1, ()))
        patterns = self.fuzz.refusable(self.kernel.Patterns, loaded, ("a",), ((0, tuple(steps)),))
        if patterns is not None:
            self.fuzz.refusable(patterns.matches, root)
            self.fuzz.refusable(patterns.within, root, [(self.random.choice((0, 7)), self.random.choice((0, 9, 1 << 32)))])


def _nodes(root: Any) -> list[Any]:
    found, pending = [], [root]
    while pending:
        node = pending.pop()
        found.append((node.type, *node.byte_range, node.is_named, node.has_error, node.is_missing))
        pending += reversed(node.children)
    return found


def _places(matches: Any) -> list[Any]:
    return [sorted((name, *nodes[0].byte_range) for name, nodes in captures.items()) for _, captures in matches]
