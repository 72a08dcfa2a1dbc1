"""Qdrant over HTTP: addresses, keys, TLS, time limits, servers that are busy, wrong or gone."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from lurcher import config
from lurcher.errors import ConfigError, LurcherError, StoreError
from lurcher.stores.base import store_at
from lurcher.stores.qdrant import parse_address, rest
from lurcher.stores.qdrant import store as qdrant_store
from tests.stores.qdrant_backends import quick
from tests.stores.samples import asking, file, head

pytest.importorskip("qdrant_client")
pytest.importorskip("qdrant_edge")

from tests.stores.qdrant_server import FakeQdrant, serving


def settings(**values: object) -> config.Settings:
    """Of [qdrant], but for how long a question may take."""
    named = {"store.seconds" if key == "seconds" else f"qdrant.{key}": value for key, value in values.items()}
    return config.apply(config.Settings(), named, "flag")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeQdrant]:
    with quick(tmp_path / "server") as folder, serving(folder) as running:
        yield running


def written(url: str, made: config.Settings, files: int = 3) -> None:
    store = store_at(url, made)
    with store.writing("p", 5):
        store.put("p", [file("p", f"src/{number}.py") for number in range(files)], 1, lambda count: None)
        store.publish("p", head(1, files, 2 * files))
        store.sweep("p", 1)
    store.close()


class TestAddress:
    def test_the_default_port_is_that_of_qdrant(self):
        assert parse_address("qdrant://db").server.netloc == "db:6333"
        assert parse_address("qdrant://db:7000").server.netloc == "db:7000"
        assert parse_address("qdrant://[::1]").server.netloc == "[::1]:6333"

    @pytest.mark.parametrize("url", ["qdrants://db", "qdrant+https://db", "QDRANTS://db"])
    def test_the_scheme_selects_tls(self, url):
        assert parse_address(url).server.scheme == "https"

    @pytest.mark.parametrize(
        "url",
        ["qdrant://", "qdrant://user:secret@db", "qdrant://db:port", "qdrant://d b", "qdrant+edge://here", "qdrant+local://:memory:",
         "qdrant+ftp://db", "qdrant://db?key=1", "qdrant:db"],
    )  # fmt: skip
    def test_what_is_no_address_is_refused(self, url):
        with pytest.raises(ConfigError):
            store_at(url, config.Settings())

    def test_a_project_does_not_decide_how_a_shared_store_is_used(self):
        made = config.apply(config.Settings(), {"qdrant.collection": "others"}, config.PROJECT_FILE)
        with pytest.raises(ConfigError, match="which a project cannot"):
            store_at("qdrant://127.0.0.1", made)


class TestKey:
    def test_the_key_is_sent_with_every_request(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LURCHER_STORE_KEY", "sesame")
        with serving(tmp_path / "server", key="sesame") as server:
            written(server.url, settings())
            assert {headers.get("api-key") for _, _, headers in server.seen} == {"sesame"}

    def test_a_wrong_key_is_reported_without_showing_it(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LURCHER_STORE_KEY", "wrong-secret")
        with serving(tmp_path / "server", key="sesame") as server, pytest.raises(StoreError) as told:
            store_at(server.url, settings()).head("p")
        assert "refuses access" in told.value.message
        assert "wrong-secret" not in str(told.value.to_dict())
        assert "LURCHER_STORE_KEY" in told.value.hint

    def test_it_is_not_sent_in_the_clear_to_another_machine(self, monkeypatch):
        monkeypatch.setenv("LURCHER_STORE_KEY", "sesame")
        with pytest.raises(ConfigError, match="in the clear") as told:
            store_at("qdrant://db.example:6333", settings())
        assert "qdrants://" in told.value.hint


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_tls_with_a_certificate_of_ones_own(tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", str(key), "-out", str(certificate), "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    server = FakeQdrant(str(tmp_path / "server"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        url = server.url.replace("qdrant://", "qdrants://")
        with pytest.raises(StoreError, match="certificate") as told:
            store_at(url, settings(seconds=30)).head("p")
        assert not told.value.passing
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        written(url, settings())
    finally:
        server.shutdown()
        server.server_close()
        server.points.close()


class TestTrouble:
    def test_a_server_that_is_not_running_is_an_error(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"qdrant://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(StoreError, match="nothing answers at") as told:
            store_at(url, settings(seconds=0.3)).head("p")
        assert url in told.value.message
        assert "tried POST /collections/code_chunks_projects/points" in told.value.message
        assert "lurcher doctor" in told.value.hint

    def test_a_server_that_is_slow_is_given_up_in_time(self, server):
        server.delay = 30
        with pytest.raises(StoreError, match=r"did not answer within 0.3 s \(tried POST /collections/"):
            store_at(server.url, settings(seconds=0.3)).head("p")

    def test_a_byte_now_and_then_does_not_stretch_the_limit(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def trickle() -> None:
                connection, _ = listening.accept()
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\n")
                    for number in count():
                        connection.sendall(b"X-%d: y\r\n" % number)
                        time.sleep(0.05)
                except OSError:
                    pass

            threading.Thread(target=trickle, daemon=True).start()
            with pytest.raises(StoreError, match="did not answer"):
                store_at(f"qdrant://127.0.0.1:{listening.getsockname()[1]}", settings(seconds=0.4)).head("p")

    def test_a_busy_server_is_retried(self, server):
        written(server.url, settings())
        server.trouble = [(503, {}, b"{}"), (429, {"Retry-After": "0"}, b"{}")]
        assert store_at(server.url, settings()).head("p").generation == 1
        assert not server.trouble

    def test_a_fault_of_ours_is_not_retried(self, server):
        written(server.url, settings())
        server.trouble = [(400, {}, b'{"status": {"error": "Wrong input:\\n bad"}}')] * 2
        with pytest.raises(StoreError, match="answers 400: Wrong input: bad"):
            store_at(server.url, settings()).head("p")
        assert len(server.trouble) == 1

    def test_a_connection_is_reused_and_reopened_when_the_server_closed_it(self, server):
        written(server.url, settings())
        store = store_at(server.url, settings())
        before, connections = len(server.seen), server.connections
        assert store.head("p") is not None
        assert store.head("p") is not None
        assert (len(server.seen), server.connections) == (before + 2, connections + 1)
        for connection in store._points._client._idle:
            connection.sock.shutdown(socket.SHUT_RDWR)
        assert store.head("p") is not None
        assert server.connections == connections + 2

    @pytest.mark.parametrize(
        "body",
        [b"", b"<html>", b"[]", b"null", b'"x"', b"{}", b'{"result": null}', b'{"result": 7}', b'{"result": [7]}',
         b'{"result": [{"id": 7, "payload": {}}]}', b'{"result": [{"id": "x", "payload": []}]}', b'{"result": {}}',
         b'{"result": [{"id": "ID", "payload": {"project_id": "p", "generation": "many", "head": []}}]}',
         b'{"result": [{"id": "ID", "payload": {"project_id": "q", "generation": 1}}]}',
         b'{"result": [{"id": "ID", "payload": {"project_id": "p", "generation": 1, "head": {"generation": 1, "more": 5}}}]}',
         b'{"result": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"],
        ids=lambda body: repr(body[:60]),
    )  # fmt: skip
    def test_an_answer_that_makes_no_sense_is_reported(self, server, body):
        from lurcher.stores.qdrant.layout import named_point_id as named

        server.trouble = [(200, {}, body.replace(b"ID", named("head", "p").encode()))]
        with pytest.raises(StoreError):
            store_at(server.url, settings()).head("p")

    @pytest.mark.parametrize(
        "body", [b'{"result": []}', b'{"result": [{"points": 5}, {"points": []}]}', b'{"result": {"points": 1}}']
    )
    def test_hits_that_make_no_sense_are_reported(self, server, body):
        written(server.url, settings())
        for call in (
            lambda store: store.candidates("p", 1, asking("common")),
            lambda store: list(store.listing("p")),
            lambda store: store.pages("p", 1, ["w"]),
            lambda store: store.projects(),
        ):
            server.trouble = [(200, {}, body)]
            with pytest.raises(StoreError):
                call(store_at(server.url, settings()))

    def test_an_answer_without_end_is_cut_off(self, server, monkeypatch):
        monkeypatch.setattr("lurcher.stores.qdrant.rest.MAX_BYTES", 10_000)
        server.trouble = [(200, {}, b" " * 100_000)]
        with pytest.raises(StoreError, match="more than 10,000 bytes"):
            store_at(server.url, settings()).head("p")

    def test_a_listing_that_goes_in_circles_ends(self, server):
        page = b'{"result": {"points": [{"id": "x", "payload": {"project_id": "p"}}], "next_page_offset": "x"}}'
        server.trouble = [(200, {}, page)] * 5
        with pytest.raises(StoreError):
            store_at(server.url, settings()).projects()

    def test_an_old_server_is_reported_before_anything_is_written(self, tmp_path):
        with serving(tmp_path / "server", version="1.12.4") as server:
            with pytest.raises(StoreError, match=r"Qdrant 1\.12\.4") as told:
                written(server.url, settings())
            assert "1.17" in told.value.hint
            assert all(method == "GET" for method, _, _ in server.seen)

    def test_vectors_of_another_length_are_refused(self, server):
        written(server.url, settings())
        store = store_at(server.url, settings())
        with pytest.raises(StoreError, match="vectors of 8 dimensions, and this model makes 4") as told, store.writing("q", 5):
            store.put("q", [file("q", "a.py", dims=4)], 1, lambda count: None)
        assert "qdrant.collection" in told.value.hint
        assert store.head("q") is None


class TestBackPressure:
    def test_no_more_batches_are_under_way_than_allowed_and_none_is_made_ahead(self, server, monkeypatch):
        monkeypatch.setattr(qdrant_store, "BATCH", 2)
        monkeypatch.setattr(rest, "CONCURRENCY", 3)
        store = store_at(server.url, settings())
        made: list[int] = []
        safe: list[int] = []
        ahead = 0

        def files() -> Iterator[object]:
            nonlocal ahead
            for number in range(40):
                made.append(number)
                ahead = max(ahead, len(made) - sum(safe))
                yield file("p", f"{number}.py")

        with store.writing("p", 5):
            server.delay, server.busiest = 0.01, 0
            store.put("p", files(), 1, safe.append)
            server.delay = 0.0
        assert sum(safe) == 40
        assert 1 < server.busiest <= 3
        assert ahead <= 3 + 3

    def test_a_busy_server_gets_all_of_it_in_the_end(self, server, monkeypatch):
        monkeypatch.setattr(qdrant_store, "BATCH", 4)
        store = store_at(server.url, settings())
        with store.writing("p", 5):
            server.trouble = [(503, {}, b"{}"), (500, {}, b"{}"), (429, {}, b"{}")]
            store.put("p", [file("p", f"{number}.py") for number in range(10)], 1, lambda count: None)
            assert not server.trouble
            assert len(list(store.listing("p"))) == 10

    def test_a_server_that_stays_away_ends_the_run(self, server, monkeypatch):
        monkeypatch.setattr(qdrant_store, "BATCH", 4)
        monkeypatch.setattr(rest, "PATIENCE", 0.5)
        store = store_at(server.url, settings(seconds=0.5))
        made = 0

        def files() -> Iterator[object]:
            nonlocal made
            for made in range(1, 1001):
                if made == 20:
                    server.trouble = [(503, {}, b"{}")] * 100_000
                yield file("p", f"{made}.py")

        with pytest.raises(StoreError, match="503"), store.writing("p", 5):
            store.put("p", files(), 1, lambda count: None)
        assert made < 200


def test_errors_of_every_kind_are_ours(server, monkeypatch):
    """Whatever a server answers, no call ends in anything but an answer or an error of ours."""
    monkeypatch.setattr(rest, "PATIENCE", 0.1)
    store = store_at(server.url, settings(seconds=0.15))
    for status in (200, 201, 301, 404, 418, 500):
        for body in (b"{}", b"", b'{"status": 5, "result": true}', b'{"status": {"error": {}}}'):
            for call in (
                lambda: store.head("p"), store.projects, store.state, lambda: store.drop("p"),
                lambda: store.records("p", ["k"]), lambda: store.texts("p", [("k", 0)]), lambda: store.sweep("p", 1),
            ):  # fmt: skip
                server.trouble = [(status, {}, body)] * 50
                try:
                    call()
                except LurcherError as error:
                    assert error.message
