"""What looks like a secret is not indexed, not shown and not sent, unless the user wants it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.errors import ConfigError, LurcherError, PathError
from lurcher.sources import decode, filter
from lurcher.sources.decode import REASON, SUSPECT, secret_path, secret_text
from lurcher.storage import manifest as manifests
from tests.corpora.history.repo import Repo

BODY = "MIIEowIBAAKCAQEAzanzibarzanzibarzanzibarzanzibarzanzibarzanzibar1\n" * 3
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}-----END RSA PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEA\n-----END CERTIFICATE-----\n"

SECRET = (
    ".env", ".env.local", ".env.production", "api/.env", "prod.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc",
    ".pgpass", ".git-credentials", ".htpasswd", "credentials.json", "a/b/credentials.json", "client_secret_12.apps.json",
    "id_rsa", "keys/id_ed25519",
    "terraform.tfvars", "prod.auto.tfvars", "x.tfvars.json", "terraform.tfstate", "terraform.tfstate.backup",
    ".aws/credentials",
    "home/.aws/credentials", ".docker/config.json", ".kube/config", "vault.kdbx", "store.p12", "store.pfx", "store.jks",
    "a.ppk",
    ".gnupg/trustdb.gpg", "config/master.key", ".ENV", "ID_RSA", "CREDENTIALS.JSON",
)  # fmt: skip
PLAIN = (
    ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.local.example", "example.env", "example.tfvars",
    "terraform.tfvars.example", "env.py", "environment.ts", "id_rsa.pub", "config.json", "docker/config.json", "kube/config",
    "aws/credentials.py", "credentials.py", "credentials.yml.enc", "netrc.c", "npmrc.md", "key.py", "server.pem", "public.key",
    "secrets.py", "package.json", "tfstate.go", "env", "src/env", ".environment",
)  # fmt: skip


@pytest.mark.parametrize("path", SECRET)
def test_files_with_secrets_are_recognised_by_their_path(path: str) -> None:
    assert secret_path(path)
    name = path.rpartition("/")[2]
    assert name.rpartition(".")[2] in SUSPECT or name.startswith(".env.") or ".gnupg" in path  # or nobody would look closer


@pytest.mark.parametrize("path", PLAIN)
def test_others_are_not_taken_for_them(path: str) -> None:
    assert not secret_path(path)


@pytest.mark.parametrize(("text", "extension"), [
    (KEY, ""), (KEY, "py"), (f"\n  {KEY}", "txt"), (KEY.replace("RSA ", ""), "md"), (KEY.replace("RSA ", "EC "), ""),
    (KEY.replace("RSA PRIVATE", "OPENSSH PRIVATE"), ""), (KEY.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"), "asc"),
    (f"Bag Attributes\n    localKeyID: 01\n{KEY}", "pem"), (CERTIFICATE + KEY, "pem"),
    ("PuTTY-User-Key-File-3: ssh-rsa\n", "txt"),
    ('{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\nMII"}', "json"),
])  # fmt: skip
def test_private_keys_are_known_by_their_text(text: str, extension: str) -> None:
    assert secret_text(text.encode(), extension)


@pytest.mark.parametrize(("text", "extension"), [
    (CERTIFICATE, "pem"), (f'"""Tests."""\nKEY = """{KEY}"""\n', "py"), ("-----BEGIN PUBLIC KEY-----\nMII\n", "pem"),
    ("# How to make a PRIVATE KEY\n", "md"), ('{"private_key": "keys/a.pem"}', "json"), ("", ""), ("  \n" * 1000, "key"),
])  # fmt: skip
def test_other_texts_are_not_taken_for_keys(text: str, extension: str) -> None:
    assert not secret_text(text.encode(), extension)


HIDDEN = {
    ".env": "PASSWORD=zanzibar\n", "deploy/.env.local": "TOKEN=zanzibar\n", "id_rsa": KEY, "deploy/any_name": KEY,
    "server.key": CERTIFICATE + KEY, ".netrc": "machine example.com password zanzibar\n", ".npmrc": "_authToken=zanzibar\n",
    "credentials.json": '{"token": "zanzibar"}\n', "main.tfvars": 'password = "zanzibar"\n', ".gnupg/notes.md": "# zanzibar\n",
    "account.json": '{"user": "zanzibar", "private_key": "-----BEGIN PRIVATE KEY-----"}\n',
}  # fmt: skip
SHOWN = {".env.example": "PASSWORD=\n", "app.py": "def password():\n    return read('.env')\n", "server.pem": CERTIFICATE}


@pytest.fixture(params=["git", "tracked", "folder"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Secrets that git does not ignore, secrets that are tracked, and secrets where there is no git."""
    folder = tmp_path / "tree"
    for path, text in {**HIDDEN, **SHOWN}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    if request.param != "folder":
        repo = Repo(folder)
        repo.git("add", *([] if request.param == "git" else ["."]), *([] if request.param == "tracked" else ["app.py"]))
        repo.git("commit", "-qm", "Begin")
    return folder


def texts(engine: Engine) -> dict[str, str]:
    """All that an index holds."""
    snapshot = engine.projects[0].view(lambda *_: None).snapshot
    return {path: snapshot.file_text(number).decode() for path, number in snapshot.live_paths.items()}


def test_secrets_are_left_out_and_counted(tree: Path) -> None:
    with Engine.open(tree) as engine:
        assert texts(engine).keys() == SHOWN.keys()
        status = engine.status(skipped=True)
        # Of a folder that is walked, what is in a folder that is left out is not counted one by one.
        assert status["skipped"] == {REASON: len(HIDDEN)}
        assert "deploy/any_name" in status["skipped_paths"][REASON]
        assert not engine.exists("zanzibar", exact=True).exists
        for mode in ("auto", "lexical", "dense", "literal", "hybrid"):
            for hit in engine.search("zanzibar password", mode=mode, limit=100).hits:
                assert hit.path in SHOWN and "zanzibar" not in hit.text
        assert engine.search("zanzibar", sources=["all"]).hits == () or all(
            "zanzibar" not in hit.text for hit in engine.search("zanzibar", sources=["all"]).hits
        )
        assert "zanzibar" not in engine.context(".").text
        for path in HIDDEN:
            for ask in (engine.file, engine.outline, engine.context, engine.brief):
                with pytest.raises(LurcherError) as problem:
                    ask(path)
                assert "zanzibar" not in str(problem.value)
        assert "looks like a secret" in engine.why(".env", "password").verdict
        assert "looks like a secret" in engine.why("deploy/any_name", "password").verdict


def test_the_user_can_bring_them_back(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine.open(tree) as engine:
        assert not HIDDEN.keys() & texts(engine).keys()
    monkeypatch.setenv("LURCHER_INDEX_SECRETS", "true")
    with Engine.open(tree) as engine:
        assert texts(engine).keys() == {**HIDDEN, **SHOWN}.keys()
        assert engine.exists("zanzibar", exact=True).exists
    monkeypatch.delenv("LURCHER_INDEX_SECRETS")
    with Engine.open(tree) as engine:
        assert texts(engine).keys() == SHOWN.keys()


@pytest.mark.parametrize(("file", "text"), [("lurcher.toml", "[index]\n"), ("pyproject.toml", "[tool.lurcher.index]\n")])
def test_a_project_cannot_bring_them_back(tree: Path, file: str, text: str) -> None:
    (tree / file).write_text(f"{text}secrets = true\n")
    with pytest.raises(ConfigError, match="a project cannot"), Engine.open(tree) as engine:
        engine.search("password")
    with Engine.open(tree, overrides={"index.secrets": "false"}) as engine:
        assert not HIDDEN.keys() & texts(engine).keys()


def test_no_rule_of_a_repository_brings_them_back(tree: Path) -> None:
    (tree / ".lurcherignore").write_text("!.env\n!*\n!deploy/\n!.gnupg/\n!.gnupg/*\n")
    (tree / ".gitignore").write_text("\n".join([*HIDDEN, ".gnupg/"]))
    with Engine.open(tree) as engine:
        assert not HIDDEN.keys() & texts(engine).keys()
        assert engine.status()["skipped"][REASON]


def test_a_link_does_not_lead_to_them(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PASSWORD=zanzibar\n")
    (tmp_path / "deploy_key").write_text(KEY)
    (tmp_path / "notes.txt").symlink_to(".env")
    (tmp_path / "more.txt").symlink_to("deploy_key")
    with Engine.open(tmp_path, overrides={"index.follow_symlinks": "true"}) as engine:
        assert texts(engine) == {}


def test_an_index_that_holds_some_is_rebuilt(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:  # as versions did that knew of no secrets
        before.setattr(filter, "secret_path", lambda path: False)
        before.setattr(filter, "FOLDERS", frozenset())
        before.setattr(decode, "secret_text", lambda data, extension: False)
        whole = manifests.make_fingerprint
        before.setattr(manifests, "make_fingerprint", lambda *given: {k: v for k, v in whole(*given).items() if k != "secrets"})
        with Engine.open(tree) as engine:
            assert texts(engine).keys() == {**HIDDEN, **SHOWN}.keys()
    with Engine.open(tree) as engine:
        assert texts(engine).keys() == SHOWN.keys()
        assert len(list((tree / ".lurcher").glob("*.segment"))) == 1  # what was there before is gone


def test_a_file_that_becomes_one_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("no key yet, but zanzibar\n")
    with Engine.open(tmp_path) as engine:
        assert texts(engine).keys() == {"key.txt"}
        (tmp_path / "key.txt").write_text(KEY)
        assert texts(engine) == {}


def test_history_shows_nothing_of_them(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.put({**HIDDEN, **SHOWN})
    repo.git("add", "-A")
    repo.git("commit", "-qm", "Add the password file")
    other = BODY.replace("zanzibar", "zanzibaq")
    env = "".join(f"NAME_{number}=value\n" for number in range(20))
    repo.put({".env": f"{env}PASSWORD=zanzibar2\n", "deploy/any_name": KEY.replace(BODY, other)})
    repo.put({"app.py": "def password():\n    return 1\n"})
    repo.git("commit", "-qam", "Change the password")
    repo.git("mv", ".env", "settings.txt")
    repo.put({"settings.txt": f"{env}PASSWORD=zanzibar3\n"})
    repo.git("commit", "-qam", "Rename the password file")

    def hunks(engine: Engine) -> str:
        found = engine.search("password file key", sources=["history"], limit=100, context="block")
        return "\n".join(f"{hit.path}\n{hit.text}" for hit in found.hits)

    with Engine.open(repo.top) as engine:
        engine.index(history=True)
        shown = hunks(engine)
        assert "return 1" in shown
        assert "zanziba" not in shown
        for query in ("zanzibar", "zanzibar2", "zanzibar3", "zanzibaq"):
            assert all(query not in hit.text for hit in engine.search(query, sources=["history"], limit=100).hits)
        for path in ("deploy/any_name", ".netrc", "id_rsa"):
            with pytest.raises(PathError, match="looks like a secret"):
                engine.explain(path)
        assert "zanzibar2" not in str(engine.explain("settings.txt").to_dict())
    with Engine.open(repo.top, overrides={"index.secrets": "true"}) as engine:
        engine.index(history=True)
        assert "zanzibar" in hunks(engine)
        assert engine.explain(".netrc").writers


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): oct(stat.S_IMODE(path.lstat().st_mode)) for path in [folder, *folder.rglob("*")]}


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.usefixtures("open_umask")
def test_an_index_is_its_owners_alone(tmp_path: Path, run: Callable[..., Any]) -> None:
    repo = Repo(tmp_path / "repo")
    repo.put({"a.py": "x = 1\n"})
    repo.git("add", "-A")
    repo.git("commit", "-qm", "Begin")
    for settings, place in (({}, repo.top / ".lurcher"), ({"LURCHER_INDEX_DIR": str(tmp_path / "away")}, tmp_path / "away")):
        assert run("index", "--history", repo.top, env=settings).status == 0
        place = place if place.name == ".lurcher" else next(place.iterdir())
        (repo.top / "a.py").write_text("y = 2\n")
        assert run("search", "y", repo.top, env=settings).status == 0
        found = modes(place)
        assert {"manifest", "lock", "history/manifest"} <= found.keys()
        for path, mode in found.items():
            assert mode == ("0o700" if (place / path).is_dir() else "0o600"), path


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.usefixtures("open_umask")
def test_one_that_others_could_read_is_closed_when_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with Engine.open(tmp_path) as engine:
        engine.index()
    (tmp_path / ".lurcher").chmod(0o755)
    with Engine.open(tmp_path) as engine:
        (tmp_path / "a.py").write_text("x = 2\n")
        engine.index()
    assert modes(tmp_path / ".lurcher")["."] == "0o700"


def test_the_reason_is_one_that_an_index_can_keep() -> None:
    assert filter.REASON in manifests.SKIP_REASONS
