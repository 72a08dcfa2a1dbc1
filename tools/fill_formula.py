"""Fills the Homebrew formula for a source archive, and prints it.

    python tools/fill_formula.py dist/lurcher-1.2.3.tar.gz URL HOMEPAGE > lurcher.rb

URL is where that archive can be downloaded.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

TEMPLATE = Path(__file__).resolve().parents[1] / "packaging" / "homebrew" / "lurcher.rb"


def fill(archive: bytes, url: str, homepage: str) -> str:
    """The formula, for an archive of these bytes; ValueError for what cannot stand in it."""
    for address in (url, homepage):
        if not address.startswith("https://") or not address.isprintable() or '"' in address or "#{" in address:
            raise ValueError(f"not an https address: {address}")
    text = TEMPLATE.read_text("utf-8")
    text = text[text.index("class ") :]
    for name, value in (("URL", url), ("HOMEPAGE", homepage), ("SHA256", hashlib.sha256(archive).hexdigest())):
        text = text.replace(f"@{name}@", value)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description="fill the Homebrew formula")
    parser.add_argument("archive", type=Path)
    parser.add_argument("url")
    parser.add_argument("homepage")
    options = parser.parse_args()
    try:
        print(fill(options.archive.read_bytes(), options.url, options.homepage), end="")
    except (OSError, ValueError) as error:
        sys.exit(f"fill_formula: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
