from __future__ import annotations

from lurcher.lanes import symbol
from lurcher.lanes.symbol import SymbolHit
from tests.small import snapshot_of

FILES = {
    "src/client.py": "class Client:\n    def retry(self):\n        return self.retry()\n\n    def get(self):\n        pass\n",
    "src/server.py": "from client import Client\n\nclass Server:\n    def retry(self):\n        return Client().retry()\n",
    "tests/test_client.py": "class Client:\n    def retry(self):\n        pass\n",
    "lib/other.rs": "pub struct Pool { size: usize }\nimpl Pool {\n    pub fn retry(&self) {}\n}\nfn hidden() {}\n",
}


def best(name: str) -> tuple[SymbolHit, ...]:
    snapshot = snapshot_of(FILES)
    return symbol.rank_definitions(snapshot, symbol.find_definitions(snapshot, [name]), 20)


def test_qualified_names_resolve_in_every_spelling() -> None:
    for name in ("Client.retry", "Client::retry", "Client#retry"):
        hit = best(name)[0]
        assert (hit.path, hit.qualified, hit.start_line) == ("src/client.py", "Client.retry", 2)
    assert best("Pool::retry")[0].path == "lib/other.rs"


def test_definitions_outside_of_tests_come_first() -> None:
    hits = best("Client")
    assert [(hit.path, hit.test) for hit in hits] == [("src/client.py", False), ("tests/test_client.py", True)]


def test_an_attribute_of_the_code_comes_before_methods_of_tests() -> None:
    files = {
        "src/router.py": "class Router:\n    route = make_router('route')\n",
        "tests/test_router.py": "class Fake:\n    def route(self):\n        pass\n",
    }
    snapshot = snapshot_of(files)
    hits = symbol.rank_definitions(snapshot, symbol.find_definitions(snapshot, ["route"]), 5)
    assert [(hit.qualified, hit.test) for hit in hits] == [("Router.route", False), ("Fake.route", True)]
    hits = symbol.rank_definitions(snapshot, symbol.find_definitions(snapshot, ["Fake.route"]), 5)
    assert hits[0].qualified == "Fake.route"


def test_other_spellings_come_after_the_exact_one() -> None:
    snapshot = snapshot_of({"a.py": "def get_user(): pass\n", "b.js": "function getUser() {}\n"})
    hits = symbol.rank_definitions(snapshot, symbol.find_definitions(snapshot, ["getUser"]), 5)
    assert [hit.name for hit in hits] == ["getUser", "get_user"]


def test_uses_are_counted_where_the_container_is_mentioned() -> None:
    by_name = {hit.qualified: hit.references for hit in best("retry") if not hit.test}
    assert by_name["Client.retry"] == 2
    assert by_name["Pool.retry"] == 0


def test_an_unknown_name_has_no_definition() -> None:
    assert best("absent") == ()
    assert best("::") == ()
