# ruff: noqa: E501 - files on one line each

"""Definitions of ten languages are those that universal-ctags finds."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.small import snapshot_of

SOURCES = {
    "shop.py": "LIMIT = 3\n\n\nclass Cart:\n    def add(self, item):\n        return item\n\n\ndef pay(cart):\n    return cart\n",
    "shop.js": "class Cart {\n  add(item) { return item }\n}\n\nfunction pay(cart) { return cart }\n",
    "shop.ts": "interface Priced { price: number }\n\nclass Cart {\n  add(item: Priced): number { return 1 }\n}\n\nenum Size { Small }\n",
    "shop.go": "package shop\n\nconst Limit = 3\n\ntype Cart struct{ Items int }\n\nfunc (c *Cart) Add() {}\n\nfunc Pay(c Cart) {}\n",
    "Shop.java": "class Shop {\n  private int limit;\n\n  int pay(int price) { return price; }\n}\n\ninterface Priced { int price(); }\n",
    "shop.rs": "pub struct Cart { items: u32 }\n\npub enum Size { Small }\n\npub trait Priced { fn price(&self); }\n\npub fn pay() {}\n",
    "shop.c": "struct cart { int items; };\n\nenum size { SMALL };\n\nint pay(struct cart *c) { return c->items; }\n",
    "shop.cpp": "namespace shop {\nclass Cart {\n public:\n  int add(int item) { return item; }\n};\n}\n\nint pay(int c) { return c; }\n",
    "shop.rb": "module Shop\n  class Cart\n    def add(item)\n      item\n    end\n  end\nend\n",
    "shop.php": "<?php\ninterface Priced {}\n\nclass Cart {\n  function add($item) { return $item; }\n}\n\nfunction pay($c) { return $c; }\n",
    "shop.lua": "function pay(cart)\n  return cart\nend\n\nlocal function add(item)\n  return item\nend\n",
}
"""One file for each language."""
_AROUND = ("package", "module", "namespace")
"""What is around definitions, which one of the two or both count as one."""


@pytest.mark.parametrize("path", SOURCES)
def test_the_definitions_are_those_of_ctags(path: str, tmp_path: Path) -> None:
    program = shutil.which("ctags")
    if program is None:
        pytest.skip("ctags is not installed")
    (tmp_path / path).write_text(SOURCES[path])
    command = [program, "--output-format=json", "--fields=+nK", "-f", "-", path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.startswith("{"):
        pytest.skip("this ctags does not write JSON")
    tags = [entry for entry in map(json.loads, done.stdout.splitlines()) if entry["kind"] not in _AROUND]
    snapshot = snapshot_of({path: SOURCES[path]})
    own = snapshot.definitions_of(snapshot.live_paths[path])
    assert len(tags) >= 2
    assert {(item.name, item.start_line) for item in own if item.kind not in _AROUND} == {
        (entry["name"], entry["line"]) for entry in tags
    }
