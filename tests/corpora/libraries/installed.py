"""Puts packages where each ecosystem keeps them, as their tools would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return folder


def python(
    site: Path, distribution: str, version: str, files: Mapping[str, str], *, record: str | None = None, info: bool = True
) -> Path:
    """A distribution with its record; `record` is put there in place of the right one."""
    write(site, files)
    if info:
        lines = "".join(f"{name},sha256=x,{len(text)}\n" for name, text in files.items())
        about = f"{distribution}-{version}.dist-info"
        head = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        write(site, {
            f"{about}/METADATA": f"{head}\nVersion: 9.9.9 is what the text speaks of\n",
            f"{about}/RECORD": lines + f"{about}/RECORD,,\n" if record is None else record,
        })  # fmt: skip
    return site


def node(modules: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    return write(modules / name, {"package.json": json.dumps({"name": name, "version": version}), **files})


PARSER = '''
    """Reads tokens and builds trees out of them."""

    class TreeBuilder:
        """Builds a syntax tree from tokens."""

        def build_tree(self, tokens):
            """Consume every token and return the root of the tree."""
            return self.reduce(tokens)
    '''
