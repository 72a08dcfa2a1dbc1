"""Where the contract of stores is tested: one line per store.

A store plugs in by a context manager that takes an empty folder and yields the address of an empty store; `store_at` must be
able to open it, more than once and from several threads of this process. What cannot be run here calls `pytest.skip`.

    PLACES["mine"] = my_place

Every test of `test_contract.py` and `test_answers.py` then runs on it too, as `[mine]`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.stores import qdrant_backends
from tests.stores.memory import SHARED
from tests.stores.postgres_server import postgres

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin" / "src"
"""The store that docs/extending.md shows keeps the contract as well."""

_COUNT = itertools.count()


@contextmanager
def memory(folder: Path) -> Iterator[str]:
    url = f"memory://{next(_COUNT)}"
    yield url
    SHARED.pop(url, None)


@contextmanager
def shelf(folder: Path) -> Iterator[str]:
    folder.mkdir(parents=True)
    yield f"shelf://{folder}/shelf.sqlite"


PLACES: dict[str, Callable[[Path], AbstractContextManager[str]]] = {"memory": memory, "shelf": shelf, "postgres": postgres}
PLACES |= qdrant_backends.PLACES
