"""The model card: what the table is, what it was made of and by which recipe. Written by training, never by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lurcher.vectors.table import Table


def write(path: Path, facts: Mapping[str, Any], table: Table) -> None:
    recipe, removed = facts["recipe"], facts["packages_removed"]
    lines = [
        f"# Model card: {table.meta.name}",
        "",
        "A static term table: one vector per term of code and of the words around it. It places questions and code near each",
        "other when they are about the same thing. It is the dense lane's model, shipped in the wheel; [how it is",
        "made](README.md).",
        "",
        "| | |",
        "|---|---|",
        f"| terms | {len(table):,} and {table.buckets:,} buckets of character n-grams |",
        f"| dimensions | {table.dims}, {table.meta.bits}-bit numbers with a scale per row |",
        f"| size | {table.size / 1e6:.1f} MB |",
        f"| digest | `{table.digest}` |",
        f"| licence | {table.meta.licence} |",
        f"| trained on | {facts['pairs']:,} pairs from {facts['packages']:,} packages ({facts['megabytes']:,} MB of source) |",
        f"| left out as evaluation content | {len(removed)} packages, {facts['files_removed']:,} files of others |",
        f"| seed, final loss | {facts['seed']}, {facts['loss']} |",
        f"| recipe | {', '.join(f'{key} {value}' for key, value in recipe.items() if key != 'seed')} |",
        "",
        _table("pairs by kind", facts["kinds"]),
        _table("pairs by language", facts["languages"]),
        _table("packages by licence (the most common)", facts["licences"]),
        f"**packages left out whole**, because a tenth or more of their long lines stand in a repository that evaluation uses"
        f" (often code that both have copied from a third): {', '.join(removed)}",
        "",
        "Rows start from the vectors that all-MiniLM-L6-v2 (Apache-2.0) gives to single terms, and are then trained on the",
        "pairs above. That encoder's own training data is public but not ours to filter.",
        "",
        "Meant for ranking code and technical prose with English identifiers and comments. It knows nothing of truth, and",
        "little of other languages: words that it has never seen are composed from their letters.",
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


def _table(title: str, counts: Mapping[str, int]) -> str:
    cells = " · ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    return f"**{title}:** {cells}\n"
