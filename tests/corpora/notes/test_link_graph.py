"""What is known of all notes together is whole whoever asks, and does not outlive its snapshot."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from lurcher.corpora.notes.links import open_vault
from lurcher.types import HEADING, Definition


class Slow:
    """A snapshot of one note; while its headings are read for the first time, another thread asks for its anchors."""

    def __init__(self) -> None:
        self.graphs: dict[Any, Any] = {}
        self.reads = 0
        self.elsewhere: list[dict[int, str]] = []

    def definitions_of(self, file: int) -> Iterator[Definition]:
        self.reads += 1
        first = self.reads == 1
        for number in range(3):
            if first and number == 2:
                thread = threading.Thread(target=lambda: self.elsewhere.append(dict(open_vault(self).anchors(file))))  # type: ignore[arg-type]
                thread.start()
                thread.join(30)
            yield Definition("Same", HEADING, "", "", number, number + 1, number, number, False)


def test_a_query_while_anchors_are_built_gets_all_of_them() -> None:
    snapshot = Slow()
    whole = {0: "same", 1: "same-1", 2: "same-2"}
    assert open_vault(snapshot).anchors(0) == whole  # type: ignore[arg-type]
    assert snapshot.elsewhere == [whole]
