"""A cursor comes back as it went out, or is refused with the reason."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher import answer
from lurcher.answer import MAX_WAITING, CursorState, Fingerprint, PackState, decode_cursor, encode_cursor, make_fingerprint
from lurcher.errors import CursorError
from lurcher.query import Query
from lurcher.types import Filter

QUERY = Query("where are retries configured", limit=5, budget=2000)
HERE = make_fingerprint(QUERY, root="/repo", generation=7, checksum="ab12")
STATE = CursorState(PackState(12, (3, 8, 9)), HERE)
ALPHABET = string.ascii_letters + string.digits + "-_"


@st.composite
def states(draw: st.DrawFn) -> CursorState:
    waiting = sorted(draw(st.sets(st.integers(0, 5000), max_size=MAX_WAITING)))
    least = waiting[-1] + 1 if waiting else 0
    place = PackState(draw(st.integers(least, 10_000)), tuple(waiting))
    made = make_fingerprint(
        Query(draw(st.text(alphabet=st.characters()))),
        root=draw(st.text(alphabet=st.characters())),
        generation=draw(st.integers(0, 2**63 - 1)),
    )
    return CursorState(place, made)


def refusal(text: str, expect: Fingerprint = HERE) -> CursorError:
    with pytest.raises(CursorError) as caught:
        decode_cursor(text, expect=expect)
    assert caught.value.hint
    return caught.value


@given(states())
def test_a_cursor_comes_back_as_it_went_out(state: CursorState) -> None:
    text = encode_cursor(state)
    assert decode_cursor(text, expect=state.fingerprint) == state
    assert encode_cursor(state) == text
    assert set(text) <= set(ALPHABET)
    assert len(text) < 400


def test_a_usual_cursor_is_short() -> None:
    assert len(encode_cursor(STATE)) <= 48


def test_the_format_of_this_version_does_not_drift() -> None:
    made = Fingerprint(query=b"8 bytes!", root=b"6bytes", index=b"6 more", generation=300)
    assert encode_cursor(CursorState(PackState(12, (3, 8, 9)), made)) == "ATggYnl0ZXMhNmJ5dGVzNiBtb3JlrAIMAwUB2rBZlX40cfU"


@given(states(), st.data())
def test_any_changed_character_is_noticed(state: CursorState, data: st.DataObject) -> None:
    text = encode_cursor(state)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw((st.sampled_from(ALPHABET) | st.characters()).filter(lambda c: c != text[at]))
    assert "damaged" in refusal(text[:at] + other + text[at + 1 :], state.fingerprint).message


def test_every_changed_last_character_is_noticed() -> None:
    text = encode_cursor(STATE)
    for other in ALPHABET.replace(text[-1], "") + "=+/ \n":
        assert "damaged" in refusal(text[:-1] + other).message


@given(st.data())
def test_missing_added_and_swapped_characters_are_noticed(data: st.DataObject) -> None:
    text = encode_cursor(STATE)
    at = data.draw(st.integers(0, len(text) - 1))
    refusal(text[:at])
    refusal(text[:at] + text[at + 1 :])
    refusal(text[:at] + data.draw(st.sampled_from(ALPHABET + "= \n")) + text[at:])
    refusal(text + text[: at + 1])


@given(st.text(alphabet=st.characters()) | st.text(alphabet=ALPHABET))
def test_random_text_is_refused(text: str) -> None:
    refusal(text)


@given(st.binary(max_size=200))
def test_even_a_sealed_forgery_is_read_or_refused_but_never_crashes(body: bytes) -> None:
    sealed = bytes([answer.VERSION]) + HERE.query + HERE.root + HERE.index + bytes([HERE.generation]) + body
    text = answer._encode_base64(sealed + answer._make_seal(sealed))
    try:
        state = decode_cursor(text, expect=HERE)
    except CursorError:
        return
    assert encode_cursor(state) == text


@pytest.mark.parametrize(
    "body",
    [b"", b"\x07", b"\x07\x80", b"\x07\x05\x80", b"\x07\x85\x00", b"\x07\x05\x05", b"\x07" + b"\xff" * 20 + b"\x01"],
)
def test_a_sealed_forgery_that_encode_would_not_write_is_refused(body: bytes) -> None:
    sealed = bytes([answer.VERSION]) + HERE.query + HERE.root + HERE.index + body
    assert "damaged" in refusal(answer._encode_base64(sealed + answer._make_seal(sealed))).message


def test_a_very_long_text_is_refused_as_such() -> None:
    assert "too long" in refusal("A" * 4097).message
    assert "damaged" in refusal("A" * 4096).message


def test_a_cursor_of_another_version_is_distinguished_from_a_damaged_one() -> None:
    raw = base64.urlsafe_b64decode(encode_cursor(STATE) + "==")
    later = bytes([answer.RERANKED + 1]) + b"whatever a later version carries"
    assert "another version" in refusal(answer._encode_base64(later + answer._make_seal(later))).message
    assert "damaged" in refusal(answer._encode_base64(later + raw[-8:])).message


@pytest.mark.parametrize("name", [name for name in Query.__slots__ if name != "cursor"])
def test_a_cursor_of_another_query_or_other_options_is_refused(name: str) -> None:
    other = QUERY.replace(**{name: Filter(globs=("*.c",)) if name == "filter" else "another value"})
    expect = make_fingerprint(other, root="/repo", generation=7, checksum="ab12")
    assert "another query or other options" in refusal(encode_cursor(STATE), expect).message


def test_an_empty_filter_is_not_an_unset_one() -> None:
    other = QUERY.replace(filter=Filter(prefixes=()))
    expect = make_fingerprint(other, root="/repo", generation=7, checksum="ab12")
    assert "other options" in refusal(encode_cursor(STATE), expect).message


def test_settings_that_change_the_list_count_as_options() -> None:
    expect = make_fingerprint(QUERY, root="/repo", generation=7, checksum="ab12", options="k1=1.2")
    assert "other options" in refusal(encode_cursor(STATE), expect).message


def test_the_cursor_in_the_question_is_not_part_of_the_question() -> None:
    again = QUERY.replace(cursor=encode_cursor(STATE))
    expected = make_fingerprint(again, root="/repo", generation=7, checksum="ab12")
    assert decode_cursor(encode_cursor(STATE), expect=expected) == STATE


@pytest.mark.parametrize(("generation", "checksum"), [(8, "ab12"), (7, "cd34")])
def test_a_cursor_of_another_index_generation_is_refused(generation: int, checksum: str) -> None:
    expect = make_fingerprint(QUERY, root="/repo", generation=generation, checksum=checksum)
    assert refusal(encode_cursor(STATE), expect).message == "the index has changed since; run the query again"


def test_a_cursor_of_another_folder_is_refused() -> None:
    assert "another folder" in refusal(encode_cursor(STATE), make_fingerprint(QUERY, root="/else", generation=7)).message
