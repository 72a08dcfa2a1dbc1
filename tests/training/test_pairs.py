"""Cutting packages into questions and answers."""

from __future__ import annotations

import numpy as np
import pytest

from training.pairs import FIELDS, KINDS, MOST_PER_FILE, Pair, _of_file, cut
from training.prose import say

MODULE = b'''"""Keeps sessions alive between requests."""
import time


class SessionStore:
    """Stores every open session by its token."""

    def expire(self, now):
        """Forget sessions that nobody has used for an hour."""
        # the oldest come first
        for token in list(self.sessions):
            self.sessions.pop(token)
            self.count_of_forgotten_sessions += 1
            self.notify_listeners_about(token, now)
'''


def pairs_of(path: str, text: bytes) -> list[Pair]:
    return _of_file(path, text)[1]


def by_kind(pairs: list[Pair], kind: str) -> list[Pair]:
    return [pair for pair in pairs if pair.kind == kind]


def test_documentation_is_paired_with_its_definition() -> None:
    asked = {pair.query: pair for pair in by_kind(pairs_of("web/session.py", MODULE), "comment")}
    assert "Forget sessions that nobody has used for an hour" in " ".join(asked)
    pair = next(pair for query, pair in asked.items() if query.startswith("Forget"))
    assert "sessions.pop" in pair.body and pair.symbols == "expire"


def test_the_question_is_cut_out_of_the_answer() -> None:
    for pair in by_kind(pairs_of("web/session.py", MODULE), "comment"):
        assert pair.query.split()[0] not in pair.body + pair.comments


def test_a_file_header_is_paired_with_the_card_and_the_first_unit() -> None:
    pairs = pairs_of("web/session.py", MODULE)
    header, card = by_kind(pairs, "header")[0], by_kind(pairs, "card")[0]
    assert header.query == card.query == "Keeps sessions alive between requests"
    assert card.body == "" and "SessionStore expire" in card.symbols


def test_a_name_is_paired_with_its_body_without_the_name() -> None:
    pair = by_kind(pairs_of("web/session.py", MODULE), "name")[0]
    assert pair.query == "session store" and "SessionStore" not in pair.body


def test_a_path_is_paired_with_a_unit() -> None:
    assert by_kind(pairs_of("web/session.py", MODULE), "path")[0].query == "session web"


def test_a_heading_is_paired_with_its_section() -> None:
    text = "# Guide\n\n## Opening a session\n\n" + "A session is opened by a token. " * 12
    (pair,) = by_kind(pairs_of("README.md", text.encode()), "section")
    assert pair.query == "Guide Opening a session" and "token" in pair.comments


def test_a_commit_message_is_paired_with_its_change() -> None:
    patch = (
        "From: somebody\nSubject: [PATCH 1/2] Forget old sessions on restart\n\n---\n"
        "--- a/web/session.py\n+++ b/web/session.py\n@@ -1,3 +1,4 @@ class SessionStore\n"
        "-    keep_everything_for_ever(self)\n+    forget_the_oldest(self.sessions, self.now)\n"
    )
    (pair,) = pairs_of("debian/patches/a.patch", patch.encode())
    assert pair.kind == "patch" and pair.query == "Forget old sessions on restart"
    assert "forget_the_oldest" in pair.body and "session" in pair.symbols


@pytest.mark.parametrize("text", [b"", b"\n\n", b"x = 1\n", b"\xff\xfe\x00", b"#!/bin/sh\n"])
def test_files_without_anything_to_ask_give_nothing(text: bytes) -> None:
    assert not len(cut([("a.py", text)], "seed").kinds)


def test_a_file_gives_no_more_than_its_share_and_the_same_each_time() -> None:
    text = b"\n\n".join(
        b"def compute_part_%d(value):\n    # adds the numbers of part %d together\n    total = value + %d\n    return %s"
        % (i, i, i, b" * ".join([b"value"] * 12))
        for i in range(100)
    )
    first, again, other = (cut([("parts/sum.py", text)], seed) for seed in ("a", "a", "b"))
    assert len(first.kinds) == MOST_PER_FILE
    assert first.terms == again.terms and np.array_equal(first.kinds, again.kinds)
    assert first.terms != other.terms


def test_counts_are_stored_by_field_over_sorted_terms() -> None:
    found = cut([("web/session.py", MODULE)], "seed")
    assert found.terms == sorted(found.terms)
    assert set(found.postings) == set(FIELDS)
    number = found.terms.index("session")
    asked = found.postings["name"]
    where = set(asked.owners[asked.terms == number].tolist())
    assert where == {i for i, kind in enumerate(found.kinds) if KINDS[kind] not in ("path", "patch")}


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("/**\n * Opens the file for reading.\n * @param path where it lies\n */", "Opens the file for reading"),
        ("// Copyright 2020 The Authors. All rights reserved.", ""),
        ("# eslint-disable-next-line no-console", ""),
        ("// ok", ""),
        ("/* ========================================= */", ""),
        ('"""Sends a request.\n\n    Args:\n        url: where to\n    """', "Sends a request"),
        ("# Retries until it answers.\n# Waits longer each time.", "Retries until it answers Waits longer each time"),
    ],
)
def test_what_a_comment_says(comment: str, said: str) -> None:
    assert say(comment).rstrip(".") == said
