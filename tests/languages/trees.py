"""Small trees out of dictionaries, and their imports."""

from __future__ import annotations

from functools import cache

from tree_sitter import Language, Parser

from lurcher.chunking.code import parse
from lurcher.languages import load_capsule
from lurcher.languages.detect import LANGUAGES, detect
from lurcher.languages.graph import Graph
from lurcher.languages.imports import imports_of
from lurcher.languages.parsed_file import Import


@cache
def parser(language: str) -> Parser:
    entry = LANGUAGES[language].grammar
    assert entry is not None
    return Parser(Language(load_capsule(*entry)))


def found(text: str | bytes, language: str) -> list[Import]:
    data = text.encode("utf-8") if isinstance(text, str) else text
    return list(imports_of(parser(language).parse(data).root_node, data, language))


def brief(text: str | bytes, language: str) -> list[tuple[str, tuple[str, ...], str]]:
    """Imports without their lines."""
    return [(entry.spec, entry.names, entry.kind) for entry in found(text, language)]


def graph(files: dict[str, str]) -> Graph:
    listed = []
    for path, text in files.items():
        language = detect(path, text.encode("utf-8"))
        listed.append((path, language, parse(text.encode("utf-8"), language).imports))
    return Graph.build(listed, files.get)


def leads(files: dict[str, str], source: str) -> dict[str, float]:
    """Targets of one file with their confidences."""
    return {edge.target: round(edge.confidence, 3) for edge in graph(files).edges() if edge.source == source}
