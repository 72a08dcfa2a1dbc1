"""Whether the tag that is being released is the version of the package, and the changelog has that version.

    GITHUB_REF_NAME=v1.2.3 python tools/check_release.py

Without a tag in GITHUB_REF_NAME only the changelog is checked.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def check(ref: str, version: str, changelog: str) -> list[str]:
    """What is wrong, in sentences."""
    problems = []
    if re.fullmatch(r"v\d.*", ref) and ref != f"v{version}":
        problems.append(f"the tag is {ref}, and the package's version {version}")
    if not re.search(rf"^## .*\b{re.escape(version)}\b", changelog, re.M):
        problems.append(f"CHANGELOG.md has no heading for {version}")
    return problems


def main() -> int:
    source = (ROOT / "src" / "lurcher" / "runtime" / "__init__.py").read_text("utf-8")
    version = re.search(r'^VERSION = "([^"]+)"', source, re.M)
    if version is None:
        sys.exit("runtime/__init__.py has no VERSION")
    problems = check(os.environ.get("GITHUB_REF_NAME", ""), version[1], (ROOT / "CHANGELOG.md").read_text("utf-8"))
    print("\n".join(problems) or f"{version[1]} can be released")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
