"""Draws how a store in PostgreSQL grows: `python benchmarks/scaling_plot.py RESULT.json > docs/images/scaling.svg`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from growth_plot import drawn

PANELS = (
    ("A hybrid query, ms of processor time", (("whole", "whole"), ("client", "lurcher"), ("server", "PostgreSQL"))),
    ("In the database, GB", (("gigabytes", "all"), ("lists", "postings, vectors"))),
)


def flat(found: dict[str, Any]) -> list[dict[str, float]]:
    points = []
    for project in found["projects"]:
        sizes, units = project.get("bytes_per_unit", {}), project["units"]
        if isinstance(sizes, int):
            sizes = {name: size / units for name, size in project["bytes"].items()}
        if sizes:
            lists = sizes["postings"] + sizes["vectors"]
            points.append({"units": units, "gigabytes": sum(sizes.values()) * units / 1e9, "lists": lists * units / 1e9})
        for name in ("fastest_of_two", "three_times_the_cells"):
            if name in project:
                one = project[name]
                whole, client = one["processor_ms_p50"], one["client_ms_p50"]
                units = one.get("as_many_vectors_as_with_units", project["units"])
                points.append({"units": units, "whole": whole, "client": client, "server": whole - client})
    return points


def units(power: int) -> str:
    return f"{10 ** (power - 6)} million" if power >= 6 else f"{10**power:,}"


def main() -> None:
    points = flat(json.loads(Path(sys.argv[1]).read_text()))
    sys.stdout.write(drawn(
        points, PANELS, "How a store in PostgreSQL grows with the units of a project", "units",
        "Across: units of the project. Dashed: in proportion to them.", units,
    ))  # fmt: skip


if __name__ == "__main__":
    main()
