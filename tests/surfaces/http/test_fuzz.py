"""Whatever the OpenAPI document allows, and what it forbids, is answered: never with an error of the server's own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import hypothesis
import pytest
from starlette.testclient import TestClient

from lurcher.surfaces.http.endpoints import ENDPOINTS
from tests.surfaces.http.conftest import client_for, with_past

schemathesis = pytest.importorskip("schemathesis")
from schemathesis import GenerationMode  # noqa: E402

EXAMPLES = 25


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with client_for(with_past(tmp_path_factory.mktemp("fuzzed"))) as client:
        yield client


def operations(document: dict[str, Any], path: str) -> Any:
    schema = schemathesis.openapi.from_dict(document)
    return schema[path]["get"]


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)
def test_every_endpoint_survives_what_its_document_allows_and_more(known: TestClient, endpoint: Any) -> None:
    operation = operations(known.get("/openapi.json").json(), endpoint.path)
    statuses: list[int] = []
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        if mode is GenerationMode.NEGATIVE and not endpoint.parameters:
            continue

        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        @hypothesis.settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate],
        )
        def ask(case: Any) -> None:
            query = [
                (name, one)
                for name, value in (case.query or {}).items()
                for one in (value if isinstance(value, list) else [value])
            ]
            address = urlencode([(str(name), text(one)) for name, one in query], errors="replace")
            hypothesis.assume(len(address) < 60_000)  # the client sends no more
            answer = known.request(case.method, f"{endpoint.path}?{address}")
            statuses.append(answer.status_code)
            assert answer.headers["content-type"] == "application/json"
            body = answer.json()
            if answer.status_code == 200:
                assert "error" not in body
            else:
                assert answer.status_code in (400, 404, 405), (query, body)
                assert set(body["error"]) == {"code", "message", "hint"}
                assert "\n" not in body["error"]["message"]

        ask()
    assert statuses


def text(value: Any) -> str:
    return (
        {True: "true", False: "false", None: "null"}.get(value, str(value))
        if isinstance(value, (bool, type(None)))
        else str(value)
    )


def test_a_real_path_is_fuzzed_too(known: TestClient, shared: Path) -> None:
    """Random paths are hardly ever files: what lies behind a real one is asked for with every number."""
    for name, extra in (
        ("file", {}),
        ("blame", {}),
        ("outline", {}),
        ("graph", {"hops": 6}),
        ("impact", {"symbol": "\u202e"}),
        ("explain", {"first": 10_000_000}),
        ("related", {"line": 10_000_000}),
        ("why", {"q": "\U0001f600"}),
    ):
        answer = known.get(f"/api/{name}", params={"path": "src/client.py", **extra})
        assert answer.status_code in (200, 400, 404), (name, answer.text)
        if answer.status_code != 200:
            assert answer.json()["error"]["message"]


WORDS = (
    "router", ".....", "a" * 300, "x/" * 1500, "../../etc/passwd", "/etc/passwd", "src", ".", "", " ", "\n", "\0", "\U0001f600",
    "\u202e", "(", "[", "a{9999}", "\\", "$X", "def $F($$$)", "**/", "[!a]", "{a,b", "-1", "99999999999999999999", "1e9", "nan",
    "9999y", "HEAD~99999", "--output=/tmp/x", "0001-01-01", "10000-01-01", "2020-13-45", "@{1}", ":/x", "::", "a..b", "\ufeff",
    "src//client.py", "./src/client.py", "src/client.py\n", ".git/config", "eyJ9", "\x1b[31m", "^$", "\\n", "(?i)", "(?<=a)b",
    "\\p{Greek}", "line one\n\nTraceback (most recent call last):\n  File \"src/client.py\", line 3", "python", "CON",
)  # fmt: skip


def test_hostile_words_in_every_parameter(known: TestClient) -> None:
    """What a document's schema would hardly ever make up, put together by chance, always the same."""
    chance = random.Random(20)

    def value(parameter: Any) -> str:
        if parameter.choices and chance.random() < 0.8:
            return str(chance.choice(parameter.choices))
        if parameter.kind != "text" and chance.random() < 0.8:
            return str(chance.choice([parameter.low, parameter.high, 1, 7] if parameter.low is not None else ["true", "0", ""]))
        if parameter.name == "path" and chance.random() < 0.5:
            return str(chance.choice(["src/client.py", "src/cookies.py", "README.md"]))
        return str(chance.choice(WORDS))

    for _ in range(400):
        endpoint = chance.choice(ENDPOINTS)
        taken = [parameter for parameter in endpoint.parameters if parameter.required or chance.random() < 0.25]
        query = [(parameter.name, value(parameter)) for parameter in taken]
        answer = known.get(endpoint.path, params=query)
        assert answer.status_code in (200, 400, 404), (endpoint.name, query, answer.text)
