"""Symbols of files and folders."""

from __future__ import annotations

import pytest

from lurcher.errors import FilterError
from lurcher.inspect import Basis, files_at
from lurcher.inspect.outline import OutlineAnswer, OutlineSymbol, check_kinds, outline
from lurcher.types import IndexState
from tests.inspect.trees import FILES
from tests.small import snapshot_of


def asked(path: str, *kinds: str) -> OutlineAnswer:
    snapshot = snapshot_of(FILES)
    return outline(snapshot, *files_at(snapshot, [path]), kinds, Basis(IndexState(1, True, 0)))


def drawn(symbols: tuple[OutlineSymbol, ...]) -> list[object]:
    return [(symbol.name, drawn(symbol.children)) if symbol.children else symbol.name for symbol in symbols]


def test_a_file_is_nested_with_signatures_and_lines() -> None:
    (file,) = asked("shop/client.py").files
    assert drawn(file.symbols) == [("Client", ["retry"]), "connect"]
    method = file.symbols[0].children[0]
    assert (method.qualified, method.kind, method.signature) == ("Client.retry", "method", "def retry(self, times=3)")
    assert (method.start_line, method.end_line) == (8, 9)
    assert (file.language, file.lines) == ("python", 13)


def test_methods_outside_of_their_type_are_listed_in_it() -> None:
    (file,) = asked("go/pool.go").files
    assert ("Pool", ["Get"]) in drawn(file.symbols)


def test_a_folder_shows_the_outermost_of_each_file_that_has_some() -> None:
    answer = asked("shop")
    assert [file.path for file in answer.files] == ["shop/cart.py", "shop/client.py", "shop/report.py", "shop/wire.py"]
    assert drawn(answer.files[1].symbols) == ["Client", "connect"]
    assert answer.total == 7


def test_kinds_are_found_at_any_depth() -> None:
    answer = asked("shop", "method")
    assert [(file.path, drawn(file.symbols)) for file in answer.files] == [("shop/client.py", ["retry"])]
    assert asked("shop", "enum").files == ()


def test_an_unknown_kind_names_what_is_near() -> None:
    with pytest.raises(FilterError, match="unknown kind 'clas'") as caught:
        check_kinds(["clas"])
    assert "class" in caught.value.hint


def test_a_file_without_symbols_is_shown_empty() -> None:
    answer = asked("shop/__init__.py")
    assert [file.symbols for file in answer.files] == [()]
    assert answer.total == 0


def test_headings_are_the_symbols_of_a_document() -> None:
    (file,) = asked("README.md").files
    (shop,) = file.symbols
    assert (shop.name, shop.kind, shop.start_line, shop.end_line) == ("Shop", "heading", 1, 3)
