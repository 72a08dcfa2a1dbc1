"""The kernel's shelf gives the tables, strings and counts of the reference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.chunking.code import parse
from lurcher.languages.parsed_file import ParsedFile, Span
from lurcher.storage.segment import CARD_FIELD, KINDS
from lurcher.storage.segment_writer import HEADING_TERM, NativeRowBuilder, PythonRowBuilder, make_row_builder
from lurcher.terms.count import NativeCounter, ReferenceCounter
from lurcher.types import Definition
from tests.kernel import kernel
from tests.languages.samples import samples

pytestmark = kernel.needed
FIELDS = ("body", "comments", "symbols", "types", CARD_FIELD)
TEXT = st.text(st.sampled_from("aB9_. ()\né漢e\u0301ß"), max_size=40)
NAMES = st.sampled_from(["name", "HTTPServer2", "getName_of", "<<", "größeNeu", "漢字かな", "a" * 130, "", "_", "x\0y"]) | TEXT


def shelved(native: bool, files: list[tuple[bytes, ParsedFile]]) -> list[Any]:
    counter = NativeCounter() if native else ReferenceCounter()
    on = make_row_builder(counter)
    assert isinstance(on, NativeRowBuilder if native else PythonRowBuilder)
    sizes = []
    for number, (text, parsed) in enumerate(files):
        sizes.append(on.sizes())
        on.add_file(number, text, parsed)
    units, definitions, strings, keys = on.finish()
    for key in keys:
        counter.require(key)
    terms, postings = counter.finish(FIELDS)
    rows = [(each.terms.tolist(), each.owners.tolist(), each.counts.tolist()) for each in postings.values()]
    return [sizes, units.tolist(), definitions.tolist(), strings, keys, terms, rows, counter.required().tolist()]


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, ParsedFile]:
    text = draw(TEXT).encode()
    cuts = sorted({0, *draw(st.lists(st.integers(0, max(len(text) - 1, 0)), max_size=4))}) if text else []
    chunks = tuple(Span(a, b, 1, 2) for a, b in zip(cuts, [*cuts[1:], len(text)], strict=False))
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    comments = tuple((a, b) for a, b in zip(places[::2], places[1::2], strict=False) if a < b)
    definitions = [
        Definition(
            draw(NAMES), draw(st.sampled_from([*KINDS, "unheard"])), draw(NAMES), draw(NAMES), start,
            draw(st.integers(start, len(text))), draw(st.integers(0, 9)), draw(st.integers(0, 9)), draw(st.booleans()),
        )
        for start in (draw(st.lists(st.integers(0, len(text)), max_size=6)) if chunks else [])
    ]  # fmt: skip
    definitions.sort(key=lambda entry: (entry.start_byte, -entry.end_byte, entry.name))
    return text, ParsedFile("x", chunks, tuple(definitions), comments)


@given(st.lists(files(), max_size=3))
@settings(max_examples=60, deadline=None)
def test_whatever_is_put_is_the_same(given_files: list[tuple[bytes, ParsedFile]]) -> None:
    assert shelved(True, given_files) == shelved(False, given_files)


def test_real_files_are_put_alike() -> None:
    texts = [(sample.source.encode(), language) for language, sample in samples().items()]
    parsed = [(text, parse(text, language, 120)) for text, language in texts]
    ours = shelved(True, parsed)
    assert ours == shelved(False, parsed)
    assert len(ours[2]) > 200


def test_the_first_forty_names_go_onto_the_card() -> None:
    text = b"".join(b"def name%d(): pass\n" % i for i in range(45))
    both = [shelved(native, [(text, parse(text, "python"))]) for native in (True, False)]
    assert both[0] == both[1]
    assert len(both[0][6][-1][0]) == 40 * 2 + 1


def test_headings_are_filed_together_and_are_no_symbols() -> None:
    heading = Definition("Getting started", "heading", "", "Getting started", 0, 3, 1, 1, True)
    _, _, _, _, keys, terms, rows, _ = shelved(True, [(b"abc", ParsedFile("x", (Span(0, 3, 1, 1),), (heading,), ()))])
    assert keys == [HEADING_TERM] and "started" not in terms and rows[2] == ([], [], [])


def test_files_that_cannot_be_are_refused() -> None:
    one, whole = Span(0, 3, 1, 1), (Span(0, 3, 1, 1),)
    entry = Definition("a", "class", "", "", 0, 3, 1, 1, True)
    wrong: list[tuple[Any, ...]] = [
        (0, b"abc", (Span(0, 4, 1, 1),), (), ()), (0, b"abc", (Span(2, 1, 1, 1),), (), ()), (0, b"abc", (one, one), (), ()),
        (0, b"abc", (Span(-1, 3, 1, 1),), (), ()), (0, b"abc", whole, (entry,), ((0, 4),)), (0, b"abc", whole, (), ((2, 1),)),
        (0, b"abc", whole, (), (3,)), (0, b"abc", (), (entry,), ()), (0, b"abc", whole, (object(),), ()),
        (0, "abc", whole, (), ()),
        (0, b"abc", whole, (Definition("a", "class", "", "", 0, 9, 1, 1, True),), ()),
        (0, b"abc", whole, (Definition(3, "class", "", "", 0, 3, 1, 1, True),), ()),  # type: ignore[arg-type]
        (0, b"abc", [one], (), ()), (0, b"abc", (Span(2, 3, 1, 1),), (entry,), ()),
    ]  # fmt: skip
    for arguments in wrong:
        counter = NativeCounter()
        with pytest.raises((TypeError, ValueError, AttributeError, OverflowError)):
            NativeRowBuilder(counter)._native.add_file(*arguments)
    for counter_, fields in ((object(), (0, 1, 2, 3, 4)), (NativeCounter().counter, (0, 1, 2, 3, 99))):
        with pytest.raises((TypeError, ValueError)):
            kernel.module().RowBuilder(1, counter_, fields, {}, set(), set(), "", "", str)
