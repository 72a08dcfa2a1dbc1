"""The drawing in the docstring is the tree."""

from __future__ import annotations

import json

import pytest

from lurcher import errors
from lurcher.errors import LurcherError


def classes() -> list[type[LurcherError]]:
    return [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, LurcherError)]


def drawn() -> dict[str, str | None]:
    """Each class of the drawing with the class that it hangs from."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        lead = len(line) - len(line.lstrip(" │├└─"))
        name = line[lead:].split(" ")[0]
        if not line.startswith("    ") or not name:
            continue
        depth = (lead - 4) // 4
        path[depth:] = [name]
        parents[name] = path[depth - 1] if depth else None
    return parents


def test_the_drawing_equals_the_tree_of_classes() -> None:
    tree = {item.__name__: None if item is LurcherError else item.__bases__[0].__name__ for item in classes()}
    assert drawn() == tree
    assert list(drawn()) == list(tree)


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [item.code for item in classes()]
    assert len(set(codes)) == len(codes)
    assert all(code == code.lower() and " " not in code for code in codes)


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_an_error_becomes_one_json_object(kind: type[LurcherError]) -> None:
    error = kind("what happened", "what to do")
    about = {"service": kind.service} if kind.service else {}
    told = {"code": kind.code, "message": "what happened", "hint": "what to do", **about}
    assert json.loads(json.dumps(error.to_dict())) == told
    assert str(error) == "what happened"
    assert kind("alone").hint == ""
