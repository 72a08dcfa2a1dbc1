"""Builds what is published besides the package: plugin archives, an `.mcpb` bundle, and `server.json` for the MCP registry.

    python tools/build_bundles.py dist/bundles

The same version gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from lurcher.runtime import VERSION
from lurcher.surfaces.agents import bundles

COMMAND = ["lurcher"]
"""Archives are for any machine, so the command is looked up on the PATH there."""
EPOCH = (1980, 1, 1, 0, 0, 0)


def build(folder: Path) -> list[Path]:
    """Writes every file into a folder, and returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    archives = {
        f"lurcher-plugin-{VERSION}.zip": bundles.plugin_files(COMMAND),
        f"lurcher-hooks-plugin-{VERSION}.zip": bundles.hooks_plugin_files(COMMAND),
        f"lurcher-marketplace-{VERSION}.zip": bundles.marketplace_files(COMMAND),
        f"lurcher-{VERSION}.mcpb": bundles.desktop_files(),
    }
    for name, files in archives.items():
        pack(folder / name, files)
    server = folder / "server.json"
    server.write_text(json.dumps(bundles.registry_entry(), indent=2) + "\n", "utf-8")
    return [*(folder / name for name in archives), server]


def pack(path: Path, files: Mapping[str, str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, files[name])


def main() -> None:
    parser = argparse.ArgumentParser(description="Builds plugin archives, the .mcpb bundle and server.json.")
    parser.add_argument("folder", nargs="?", default="dist/bundles", type=Path)
    for path in build(parser.parse_args().folder):
        print(path)


if __name__ == "__main__":
    main()
