"""What a test file of a language is made of: a small source, and what is to be found in it.

Each `test_<file>.py` of a language file has `SAMPLES`, by the name of a language; tests of all languages, here and elsewhere,
take theirs from `samples()`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

from lurcher.chunking.code import parse

Imports = list[tuple[str, list[tuple[str, tuple[str, ...], str]]]]
"""Sources, each with what it imports: what, names, kind."""


@dataclass(frozen=True)
class Sample:
    """A source and what it defines: lines of `kind qualified-name`, private ones marked with a minus."""

    source: str
    definitions: str
    signatures: dict[str, str] = field(default_factory=dict)
    """Of some definitions, which have distinct names."""
    others: list[tuple[str, list[str]]] = field(default_factory=list)
    """Further sources, each with all that it defines, as `kind name`."""
    imports: Imports = field(default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", self.source.lstrip("\n"))


def check(samples: Mapping[str, Sample]) -> None:
    """What each sample says is what is found."""
    for language, sample in samples.items():
        found = parse(sample.source.encode(), language).definitions
        lines = [f"{'' if entry.exported else '-'}{entry.kind} {entry.qualified}" for entry in found]
        assert lines == [line for line in sample.definitions.split("\n") if line], language
        for name, signature in sample.signatures.items():
            assert [entry.signature for entry in found if entry.name == name] == [signature], (language, name)
        for source, expected in sample.others:
            named = [f"{entry.kind} {entry.name}" for entry in parse(source.encode(), language).definitions]
            assert named == expected, (language, source)
        for source, imports in sample.imports:
            read = [(entry.spec, entry.names, entry.kind) for entry in parse(source.encode(), language).imports]
            assert read == imports, (language, source)


@cache
def samples() -> dict[str, Sample]:
    """The samples of all languages."""
    found: dict[str, Sample] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name.startswith("test_"):
            found |= getattr(import_module(f"tests.languages.{module.name}"), "SAMPLES", {})
    return found
