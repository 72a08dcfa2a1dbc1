"""What an agent reads first: sources before what was built from them, the name it asked for before similar ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import environment, git
from tests.indexing.conftest import write
from tests.surfaces.mcp.talk import Near

MERGE = """\
export function mergeConfig(first, second) {
  const merged = { ...first };
  for (const name of Object.keys(second)) {
    merged[name] = second[name];
  }
  return merged;
}
"""
FILES = {
    "dist/client.js": MERGE + "\nexport function request(config) {\n  return mergeConfig({ timeout: 0 }, config);\n}\n",
    "lib/core/merge.js": MERGE,
    "lib/core/request.js": "import { mergeConfig } from './merge.js';\n\nexport function request(config) {\n"
    "  return mergeConfig({ timeout: 0 }, config);\n}\n",
    "lib/names.js": "export function merge_config(text) {\n  const unlike = text;\n  return unlike;\n}\n",
    "test/merge.spec.js": "import { mergeConfig } from '../lib/core/merge.js';\n\nit('merges', () => {\n"
    "  expect(mergeConfig({}, {})).toEqual({});\n});\n",
}


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Near]:
    folder = tmp_path_factory.mktemp("built")
    write(folder, FILES)
    git(folder, "init", "-q")
    git(folder, "add", "--all")
    with Near(folder) as found:
        assert not found.call("index").is_error
        yield found


def _heads(text: str) -> list[str]:
    return [line.partition(":")[0] for line in text.splitlines() if line.partition(":")[0] in FILES]


def test_what_was_built_comes_after_its_source(talk: Near) -> None:
    assert _heads(talk.text("search", query="how are configs merged"))[0] == "lib/core/merge.js"
    assert _heads(talk.text("symbol", name="mergeConfig"))[:2] == ["lib/core/merge.js", "dist/client.js"]


def test_references_list_code_before_tests_and_built_files(talk: Near) -> None:
    text = talk.text("references", name="mergeConfig")
    assert list(dict.fromkeys(_heads(text))) == ["lib/core/request.js", "dist/client.js", "test/merge.spec.js"]
    assert "mergeConfig is defined at lib/core/merge.js:1" in text


def test_a_name_that_is_spelled_otherwise_is_not_shown_whole(talk: Near) -> None:
    text = talk.text("symbol", name="mergeConfig")
    assert "merged[name] = second[name]" in text
    assert "merge_config(text)" in text and "unlike" not in text
    assert "unlike" in talk.text("symbol", name="merge_config")


def test_a_name_that_only_others_resemble_is_shown_whole_all_the_same(talk: Near) -> None:
    assert "merged[name] = second[name]" in talk.text("symbol", name="MergeConfig")


def test_where_only_the_built_files_are_there_nothing_is_held_against_them(tmp_path: Path) -> None:
    write(tmp_path, {"dist/client.js": FILES["dist/client.js"], "test/merge.spec.js": FILES["test/merge.spec.js"]})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "--all")
    with Near(tmp_path) as found:
        found.call("index")
        [first, *_] = found.data("search", query="how are configs merged")["hits"]
    run = subprocess.run(
        [sys.executable, "-m", "lurcher", "search", "how are configs merged", "--explain", "--json"], cwd=tmp_path,
        env=environment(LURCHER_CONFIG="/dev/null"), capture_output=True, timeout=60,
    )  # fmt: skip
    assert first["path"] == "dist/client.js"
    assert b"dist/client.js" in run.stdout and b"generated" not in run.stdout, run.stderr
