"""What a judge replies, in all the ways in which models do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.rerank.llm import read_scores


@pytest.mark.parametrize(
    "reply",
    [
        "0:7\n1:3\n2:10",
        "0: 7\n1: 3\n2: 10\n",
        "Here are the scores:\n\n0:7\n1:3\n2:10\n\nLet me know!",
        "[0]: 7\n[1]: 3\n[2]: 10",
        "- 0: 7/10\n- 1: 3/10\n- 2: 10/10",
        "**0**: 7\n**1**: 3\n**2**: 10",
        "Document 0: 7\nDocument 1: 3\nDocument 2: 10",
        "0 = 7.0\n1 = 3.0\n2 = 10",
        "0 - 7\n1 - 3\n2 - 10",
        "index 0: score 7\nindex 1: score 3\nindex 2: score 10",
        '{"0": 7, "1": 3, "2": 10}',
        '```json\n{\n  "0": 7,\n  "1": 3,\n  "2": 10\n}\n```',
        '[{"index": 0, "score": 7}, {"index": 1, "score": 3}, {"index": 2, "score": 10}]',
        '{"scores": [{"id": "0", "rating": "7"}, {"id": "1", "rating": 3}, {"id": 2, "rating": "10/10"}]}',
        '{"scores": {"0": 7, "1": {"score": 3}, "2": 10}}',
        "[7, 3, 10]",
        "[[0, 7], [1, 3], [2, 10]]",
        '["0:7", "1:3", "2:10"]',
        "<think>0:1 or perhaps 1:9? no.</think>\n0:7\n1:3\n2:10",
        "0:7\n1:3\n2:10\n2:99\n3:4\n-1:5",
    ],
)
def test_replies_of_every_shape_are_read(reply: str) -> None:
    assert read_scores(reply, 3) == [7.0, 3.0, 10.0]


def test_what_is_missing_or_out_of_bounds_is_not_there() -> None:
    assert read_scores("0:7\n1:11\n2:-4\n3:5.5", 4) == [7.0, None, None, 5.5]


def test_a_score_may_have_many_digits() -> None:
    assert read_scores("0:5.666666666666667\n1:8.0", 2) == pytest.approx([17 / 3, 8.0])


def test_of_two_scores_the_lower_counts() -> None:
    assert read_scores("0:2\n1:6\n0:10", 2) == [2.0, 6.0]


@pytest.mark.parametrize(
    "reply", ["", "I cannot help with that.", "{", "[" * 100_000, "0:", "7", "\0\0", '{"0": NaN}', "1e999:3"]
)
def test_nothing_is_found_in_garbage(reply: str) -> None:
    assert read_scores(reply, 3) == [None, None, None]


def test_scores_numbered_from_one_are_ignored() -> None:
    """Each score would be that of the document before."""
    assert read_scores("1:7\n2:3\n3:10", 3) == [None, None, None]
    assert read_scores('{"1": 7, "2": 3, "3": 10}', 3) == [None, None, None]
    assert read_scores("1:7\n2:3", 3) == [None, 7.0, 3.0]


def test_one_document_is_not_taken_for_its_number() -> None:
    assert read_scores("[0]: 7", 1) == [7.0]


@given(st.text(), st.integers(0, 5))
def test_any_text_is_survived(reply: str, count: int) -> None:
    found = read_scores(reply, count)
    assert len(found) == count and all(score is None or 0 <= score <= 10 for score in found)


@given(st.lists(st.integers(0, 10), min_size=1, max_size=40))
def test_both_reply_formats_are_read_back(scores: list[int]) -> None:
    assert read_scores("\n".join(f"{i}:{score}" for i, score in enumerate(scores)), len(scores)) == scores
    said = json.dumps([{"index": i, "score": score} for i, score in enumerate(scores)])
    assert read_scores(said, len(scores)) == scores
