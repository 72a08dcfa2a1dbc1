"""One page out of sections of lines, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lurcher.budget.tokens import count
from lurcher.survey.answers import Section

_FURTHER = "… {} more"


def packed(
    head: str, written: Mapping[str, Sequence[str]], shares: Mapping[str, float], budget: int
) -> tuple[tuple[Section, ...], str]:
    """As many entries of each section as its share of what is left takes, first ones first; the whole never costs more."""
    taken: dict[str, int] = dict.fromkeys(written, 0)
    left = budget - count(head)
    for name, entries in written.items():
        title = count(_titled(name)) + count(_FURTHER.format(len(entries)) + "\n")
        room = int(left * shares[name]) - title
        spent = title
        for entry in entries:
            cost = count(entry + "\n")
            if cost > room:
                break
            room -= cost
            spent += cost
            taken[name] += 1
        left -= spent if taken[name] else 0
    # Tokens of a whole are rarely more than those of its lines; where they are, the last lines go.
    while (text := _text(head, written, taken)) and count(text) > budget:
        last = next((name for name in reversed(taken) if taken[name]), None)
        if last is None:
            text = ""
            break
        taken[last] -= 1
    kept = {name: tuple(entries[: taken[name]]) for name, entries in written.items()}
    return tuple(Section(name, kept[name], len(entries) - taken[name]) for name, entries in written.items()), text


def _titled(name: str) -> str:
    return f"\n## {name[0].upper()}{name[1:]}\n"


def _text(head: str, written: Mapping[str, Sequence[str]], taken: dict[str, int]) -> str:
    parts = [head]
    for name, entries in written.items():
        if taken[name]:
            parts += [_titled(name), *(f"{entry}\n" for entry in entries[: taken[name]])]
            if taken[name] < len(entries):
                parts.append(_FURTHER.format(len(entries) - taken[name]) + "\n")
    return "".join(parts)
