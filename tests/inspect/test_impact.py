"""What depends on a file, hop by hop."""

from __future__ import annotations

import pytest

from lurcher.errors import QueryError
from lurcher.inspect import Basis
from lurcher.inspect.impact import ImpactAnswer, impact
from lurcher.types import IndexState
from tests.inspect.trees import FILES
from tests.small import snapshot_of

STANDING = Basis(IndexState(1, True, 0))


def asked(path: str, symbol: str | None = None, hops: int = 3, most: int = 100, **more: str) -> ImpactAnswer:
    snapshot = snapshot_of({**FILES, **more})
    return impact(snapshot, snapshot.live_paths[path], symbol, hops, most, STANDING)


def reached(answer: ImpactAnswer) -> list[tuple[int, str, str]]:
    return [(entry.hop, entry.path, entry.via) for entry in answer.dependents]


def test_dependents_come_by_hop_and_say_through_what() -> None:
    answer = asked("shop/wire.py")
    assert reached(answer) == [
        (1, "shop/client.py", "shop/wire.py"),
        (2, "shop/__init__.py", "shop/client.py"),
        (2, "shop/cart.py", "shop/client.py"),
        (3, "shop/report.py", "shop/cart.py"),
        (3, "tests/test_cart.py", "shop/cart.py"),
    ]
    first = answer.dependents[0]
    assert (first.names, first.line, first.confidence, first.language) == (("send", "receive"), 2, 1.0, "python")
    assert [entry.test for entry in answer.dependents] == [False, False, False, False, True]
    assert (answer.total, answer.tests) == (5, 1)


def test_hops_are_a_limit() -> None:
    assert [entry.path for entry in asked("shop/wire.py", hops=1).dependents] == ["shop/client.py"]


def test_a_symbol_leaves_what_uses_it() -> None:
    answer = asked("shop/client.py", "Client.retry")
    assert [(entry.path, entry.use) for entry in answer.dependents] == [("shop/cart.py", "mentioned")]
    answer = asked("shop/client.py", "connect")
    assert [(entry.path, entry.use) for entry in answer.dependents] == [("shop/cart.py", "imported")]
    assert answer.basis.degraded == ()


def test_a_symbol_is_not_another_one_of_its_name() -> None:
    text = "from shop.client import Client\n\n\nclass Other:\n    def retry(self):\n        return self.retry()\n"
    other = {"shop/other.py": text}
    answer = asked("shop/client.py", "Client.retry", **other)
    assert [entry.path for entry in answer.dependents] == ["shop/cart.py"]


def test_a_name_in_a_comment_or_in_another_spelling_is_no_use() -> None:
    assert asked("shop/cart.py", "retry").dependents == ()
    assert asked("shop/cart.py", "Checkout").dependents == ()


def test_a_symbol_that_the_file_lacks_is_reported() -> None:
    (note,) = asked("shop/client.py", "conect").basis.degraded
    assert note.reason == "shop/client.py does not define conect"
    assert note.hint == "it defines connect"


def test_a_name_that_is_none_is_an_error() -> None:
    with pytest.raises(QueryError, match="is no name"):
        asked("shop/client.py", "::")


def test_many_importers_are_cut_and_all_are_counted() -> None:
    many = {f"users/u{i:02}.py": "from shop.wire import send\n" for i in range(30)}
    answer = asked("shop/wire.py", hops=1, most=10, **many)
    assert len(answer.dependents) == 10
    assert [(hop.total, hop.shown) for hop in answer.by_hop] == [(31, 10)]
    assert answer.total == answer.to_dict()["total"] == 31


def test_languages_without_imports_say_so() -> None:
    answer = asked("README.md")
    assert answer.dependents == () and answer.by_hop == ()
    assert [note.reason for note in answer.basis.degraded] == ["imports in markdown files are not read"]


def test_configuration_of_the_tree_is_read_from_the_index() -> None:
    answer = asked(
        "web/lib/api.ts",
        **{
            "web/lib/api.ts": "export const get = 1;\n",
            "web/app/page.ts": 'import { get } from "@lib/api";\n',
            "web/tsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"@lib/*": ["lib/*"]}}}',
        },
    )
    assert [(entry.path, entry.names) for entry in answer.dependents] == [("web/app/page.ts", ("get",))]


def test_files_of_one_package_that_use_a_symbol_need_no_import() -> None:
    more = {
        "net/conn.go": "package net\nfunc Dial() {}\nfunc Other() {}\n", "net/pool.go": "package net\nfunc get() { Dial() }\n",
        "net/else.go": "package net\nfunc other() { Other() }\n",
    }  # fmt: skip
    answer = asked("net/conn.go", "Dial", **more)
    assert [(entry.hop, entry.path, entry.line, entry.use) for entry in answer.dependents] == [
        (1, "net/pool.go", 2, "mentioned")
    ]
    assert asked("net/pool.go", "get", **more).dependents == ()
