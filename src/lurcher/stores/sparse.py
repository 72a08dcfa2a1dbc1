"""Units and questions as sparse vectors of their words, for the leg of a store that goes by words.

    unit:      √noise · tf·(k1 + 1) / (tf + k1·(1 − b + b·length/usual length)), tf and length as in the lexical lane
    question:  weight · idf

so their product is BM25, but for two things that keep a unit's vector the same whatever else the project has: the usual length
is a constant, and how rare a word is stands on the side of the question. Tests, examples and the like are found half as soon as
the ranking would push them down: else they take the places of files that stand before them in the end, and if they are pushed
down as far as there, they are not found where they are all there is (17,451 units: of 1,000 files in the first ten, 38 are not
fetched without this, 18 with the root, 60 with the whole factor).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lurcher.config.schema import LexicalSettings, NoiseSettings
from lurcher.lanes.lexical import FIELD_WEIGHTS
from lurcher.ranking.evidence.noise import DATA, SETUP, VENDORED
from lurcher.sources import roles
from lurcher.stores.base import Sparse
from lurcher.stores.term_hash import SPARSE_BITS, number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

WEIGHTS = FIELD_WEIGHTS
USUAL_LENGTH = 200.0
"""The weighted number of words in a unit, about the mean over many projects."""


def standing_of(flags: NDArray[Any]) -> NDArray[np.float64]:
    """What words of files with these roles count."""
    import numpy as np

    noise = NoiseSettings()  # the defaults: the settings of one user do not decide what a team shares
    factors = {
        roles.TEST: noise.tests, roles.LEGACY: noise.legacy, roles.EXAMPLE: noise.examples, roles.STUB: noise.stub,
        roles.SETUP: SETUP, roles.VENDORED: VENDORED, roles.DATA: DATA,
    }  # fmt: skip
    found = np.ones(len(flags))
    for role, factor in factors.items():
        found[(flags & role) != 0] *= factor
    return np.sqrt(found)


def saturated(
    tf: NDArray[np.float64], lengths: NDArray[np.float64], standing: NDArray[np.float64]
) -> NDArray[np.float32]:
    import numpy as np

    settings = LexicalSettings()
    norm = settings.k1 * (1 - settings.b + settings.b * lengths / USUAL_LENGTH)
    return (standing * tf * (settings.k1 + 1) / (tf + norm)).astype(np.float32)


def sparse_of(weights: Mapping[str, float]) -> Sparse | None:
    """Words with their weights, as a vector; None where there are none."""
    import numpy as np

    by_number: dict[int, float] = {}
    for term, weight in weights.items():
        if weight > 0:
            number = number_of(term) & SPARSE_BITS
            by_number[number] = by_number.get(number, 0.0) + weight
    if not by_number:
        return None
    numbers = sorted(by_number)
    return Sparse(np.array(numbers, np.uint32), np.array([by_number[number] for number in numbers], np.float32))
