"""A small repository whose code, commits and documents tell one story."""

from __future__ import annotations

import pytest

from lurcher import Engine
from tests.corpora.history.repo import Repo

KILN = (
    "class Kiln:\n    '''Fires pots.'''\n\n    def raise_heat(self, degrees):\n        '''Heat the kiln step by step.'''\n"
    "        for step in range(degrees):\n            self.burner.open(step)\n"
)
CAREFUL = KILN.replace("range(degrees)", "range(0, degrees, 5)")
GLAZE = "def mix_glaze(ash, clay):\n    '''Mix ash and clay for a glaze.'''\n    return ash + clay\n"
FILLER = "Pots are made of clay, and clay is dug from the ground, which takes time and good weather.\n" * 12
DOCS = {
    "docs/firing.md": (
        f"# Firing\n\n{FILLER}\n## Climbing slowly\n\nIn src/kiln.py the method `raise_heat` climbs in small steps, so that\n"
        "pots do not crack. See also [glazing](glazing.md).\n"
    ),
    "docs/glazing.md": "# Glazing\n\nThe recipe for celadon is one part wood ash, which nobody should change lightly.\n",
    "docs/visitors.md": "# Visitors\n\nOpening hours of the pottery shop are nine to five, and dogs are welcome.\n",
}


@pytest.fixture(scope="session")
def pottery(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repo, dict[str, str]]:
    """The repository, and its commits by what they are."""
    repo = Repo(tmp_path_factory.mktemp("pottery") / "tree")
    names = {
        "start": repo.commit("Fire pots in a kiln", {"src/kiln.py": KILN, "src/glaze.py": GLAZE}),
        "slow": repo.commit("Raise the heat in steps of five\n\nPots cracked in winter.", {"src/kiln.py": CAREFUL}),
    }
    told = DOCS["docs/glazing.md"] + f"\nThe kiln was slowed down in {names['slow'][:9]}.\n"
    names["docs"] = repo.commit("Write the handbook", {**DOCS, "docs/glazing.md": told})
    return repo, names


@pytest.fixture(scope="session")
def engine(pottery: tuple[Repo, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine.open(pottery[0].top, index_dir=tmp_path_factory.mktemp("index"))
