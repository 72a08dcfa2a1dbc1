"""Outcomes on disk: one small file that holds what was found out about a history, so that a question only has to look.

It is made anew whenever the history has changed; the fixes in it, with the order they were found in, save most of that work.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.outcomes.fix_candidates import FIX
from lurcher.corpora.history.outcomes.verdicts import STANDING, SUCCESS, VERDICTS, Evidence, Outcome, Verdicts, rules_of
from lurcher.runtime.light import cached_property
from lurcher.storage.container import PACKED, Container
from lurcher.storage.container_writer import ContainerWriter
from lurcher.storage.segment_writer import as_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 1
MARKED = [
    ("sha", "V32"), ("sha_size", "<u4"), ("verdict", "<u4"), ("confidence", "<f8"), ("evidence", "<u4"), ("size", "<u4"),
]  # fmt: skip
"""A commit of which more is to be said than that it stands; its evidence is text."""
_SHA_BYTES = 32


def write(
    out: ContainerWriter,
    verdicts: Verdicts,
    commits: int,
    marks: NDArray[np.uint64],
    fixes: NDArray[Any],
    settings: OutcomeSettings,
    shallow: str,
) -> str:
    """Write outcomes; their digest. `commits` is how many the verdicts are about."""
    import numpy as np

    rows, texts, position = [], [], 0
    for name, outcome in sorted((bytes.fromhex(sha), outcome) for sha, outcome in verdicts.marked.items()):
        text = json.dumps([list(entry.to_dict().values()) for entry in outcome.evidence], separators=(",", ":")).encode()
        rows.append((
            name.ljust(_SHA_BYTES, b"\0"), len(name), VERDICTS.index(outcome.verdict), outcome.confidence, position, len(text)
        ))  # fmt: skip
        texts.append(text)
        position += len(text)
    out.add("marked", "V", as_bytes(np.array(rows, MARKED)))
    out.add("evidence", PACKED, b"".join(texts))
    out.add("order", "<u8", as_bytes(marks.astype("<u8")))
    out.add("fixes", "V", as_bytes(fixes))
    mix = verdicts.mix()
    return out.finish({
        "outcomes": FORMAT, "rules": rules_of(settings), "shallow": shallow, "commits": commits,
        "mix": [mix[verdict] for verdict in VERDICTS],
    })  # fmt: skip


class KeptVerdicts(Verdicts):
    """Outcomes read from a file, each when it is asked for."""

    def __init__(self, container: Container) -> None:
        """The file is read once and whole, so that damage shows here and nowhere later."""
        container.verify()
        self._container = container
        self._rows = _checked(container)
        pairs = zip(self._rows["sha"].tolist(), self._rows["sha_size"].tolist(), strict=True)
        self._names = [name[:size] for name, size in pairs]

    @cached_property
    def _places(self) -> dict[bytes, int]:
        return {name: place for place, name in enumerate(self._names)}

    def of(self, sha: str) -> Outcome:
        try:
            place = self._places.get(bytes.fromhex(sha))
        except ValueError:
            place = None
        return STANDING if place is None else self._outcome(place)

    def _outcome(self, place: int) -> Outcome:
        row = self._rows[place]
        start = int(row["evidence"])
        text = bytes(self._container.section("evidence", start, start + int(row["size"])))
        try:
            evidence = tuple(_evidence(*fields) for fields in json.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            raise self._container.corrupt("its evidence makes no sense") from error
        return Outcome(VERDICTS[int(row["verdict"])], float(row["confidence"]), evidence)

    @property
    def marked(self) -> Mapping[str, Outcome]:
        return {name.hex(): self._outcome(place) for place, name in enumerate(self._names)}

    def faulted(self) -> dict[str, str]:
        verdicts = self._rows["verdict"].tolist()
        standing = VERDICTS.index(SUCCESS)
        return {
            name.hex(): VERDICTS[verdict] for name, verdict in zip(self._names, verdicts, strict=True) if verdict != standing
        }

    def mix(self) -> dict[str, int]:
        return dict(zip(VERDICTS, self._container.meta["mix"], strict=True))

    @property
    def commits(self) -> int:
        """How many commits these are the outcomes of."""
        return int(self._container.meta["commits"])


def _evidence(kind: str, sha: str, date: int, author: str, note: str, how: str, confidence: float) -> Evidence:
    if any(type(text) is not str for text in (kind, sha, author, note, how)) or type(date) is not int:
        raise TypeError("it is of another kind")
    return Evidence(kind, sha, date, author, note, how, float(confidence))


def _checked(container: Container) -> NDArray[Any]:
    """The rows of a file that is what it says; each leads to its evidence."""
    import numpy as np

    meta = container.meta
    mix, commits = meta.get("mix"), meta.get("commits")
    if meta.get("outcomes") != FORMAT or type(meta.get("rules")) is not dict or type(commits) is not int:
        raise container.corrupt("it does not hold outcomes of this format")
    if type(mix) is not list or len(mix) != len(VERDICTS) or any(type(count) is not int for count in mix):
        raise container.corrupt("it counts no verdicts")
    rows = container.table("marked", MARKED)
    ends = np.cumsum(rows["size"].astype(np.int64))
    total = int(ends[-1]) if len(ends) else 0
    if (
        total != container.length("evidence")
        or not (rows["evidence"] == ends - rows["size"]).all()
        or not (rows["verdict"] < len(VERDICTS)).all()
        or not set(rows["sha_size"].tolist()) <= {20, _SHA_BYTES}
    ):
        raise container.corrupt("an outcome leads nowhere")
    return rows


def known_fixes(
    container: Container, settings: OutcomeSettings, shallow: str
) -> tuple[NDArray[np.uint64], NDArray[Any]] | None:
    """The order and the fixes of a file, if they were found by these rules in the same clone."""
    meta = container.meta
    rules, wanted = meta.get("rules"), rules_of(settings)
    if meta.get("outcomes") != FORMAT or type(rules) is not dict or meta.get("shallow") != shallow:
        return None
    if any(rules.get(name) != wanted[name] for name in ("window", "overlap", "words")):
        return None
    order, fixes = container.array("order", "<u8"), container.table("fixes", FIX)
    if len(fixes) and (int(fixes["earlier"].max()) >= len(order) or not (fixes["later"] < fixes["earlier"]).all()):
        raise container.corrupt("a fix leads nowhere")
    return order, fixes


def restricted(verdicts: Verdicts, shas: Iterable[str], count: int) -> Verdicts:
    """Verdicts on these commits only, of which there are so many."""
    return Verdicts(dict(_those(verdicts.marked, shas)), count)


def _those(marked: Mapping[str, Outcome], shas: Iterable[str]) -> Iterator[tuple[str, Outcome]]:
    for sha in shas:
        outcome = marked.get(sha)
        if outcome is not None:
            yield sha, outcome
