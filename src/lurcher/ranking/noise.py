"""Factors below 1 for files that are rarely the answer: tests, examples, barrels, old versions. The query can lift them."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.runtime.kernel import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.sources import roles
from lurcher.types import StageWhy

if TYPE_CHECKING:
    from numpy.typing import NDArray


_LIFTED_BY = {
    roles.TEST: {"test", "tests", "testing", "spec", "specs", "fixture", "fixtures", "mock", "mocks"},
    roles.EXAMPLE: {"example", "examples", "doc", "docs", "documentation", "demo", "sample", "tutorial", "benchmark"},
    roles.LEGACY: {"compat", "legacy", "deprecated", "obsolete", "compatibility", "old", "backport"},
    roles.SETUP: {"setup", "build", "ci", "workflow", "makefile", "packaging", "dockerfile", "install", "gradle", "cmake"},
    roles.VENDORED: {"vendor", "vendored", "third", "bundled"},
    roles.DATA: {"json", "yaml", "xml", "css", "html", "sql", "translation", "locale", "stylesheet", "schema"},
}


SETUP = 0.5
"""Factor for build, CI and set-up files."""
VENDORED = 0.3
"""Factor for copies of other projects."""
DATA = 0.5
"""Factor for data, markup and style files. Came with reading reports by their parts, which together took whole issue texts from
0.63 to 0.70 MRR; the other two are hand-set."""
BARREL_DEFINITIONS = 3
"""A file that re-exports is a barrel only if it defines fewer things than this: penalising all costs 0.06 MRR on issues."""


def noise_factors(context: Context) -> NDArray[np.float64]:
    """One factor per file, cached: most queries lift nothing and share the same factors."""
    settings, of_roles = context.settings.noise, _get_role_factors(context)
    key = (*of_roles.values(), settings.barrel, settings.legacy, _find_named_versions(context))
    known = context.snapshot.factors.get(key)
    if known is None:
        known = _compute_factors(context, of_roles)
        context.snapshot.factors.put(key, known, len(known))
    return known


def _compute_factors(context: Context, of_roles: dict[int, float]) -> NDArray[np.float64]:
    flags = context.snapshot.file_roles
    factors = np.ones(len(flags))
    for role, factor in of_roles.items():
        factors[(flags & role) != 0] *= factor
    barrel = ((flags & roles.BARREL) != 0) & (
        context.snapshot.file_definitions < BARREL_DEFINITIONS
    )
    factors[barrel] *= context.settings.noise.barrel
    factors[np.array(_find_superseded(context), np.int64)] *= context.settings.noise.legacy
    return factors


def explain_noise(context: Context, file: int) -> list[StageWhy]:
    """The factors that apply to one file, each with its reason."""
    flags = int(context.snapshot.file_roles[file])
    if not flags:
        return []
    found = [
        StageWhy("noise", factor=factor, note=roles.NAMES[role])
        for role, factor in _get_role_factors(context).items()
        if flags & role and factor != 1.0
    ]
    settings = context.settings.noise
    if flags & roles.BARREL and context.snapshot.file_definitions[file] < BARREL_DEFINITIONS:
        found.append(StageWhy("noise", factor=settings.barrel, note=roles.NAMES[roles.BARREL]))
    version = context.snapshot.superseded.get(file) if flags & roles.VERSIONED else None
    if version is not None and version not in _find_named_versions(context):
        found.append(StageWhy("noise", factor=settings.legacy, note=roles.NAMES[roles.VERSIONED]))
    return found


def _get_role_factors(context: Context) -> dict[int, float]:
    """The factor of each role for this query, computed once."""
    if not context.role_factors:
        context.role_factors.update(_choose_role_factors(context))
    return context.role_factors


def _choose_role_factors(context: Context) -> dict[int, float]:
    settings = context.settings.noise
    factors = {
        roles.TEST: settings.tests,
        roles.LEGACY: settings.legacy,
        roles.EXAMPLE: settings.examples,
        roles.STUB: settings.stub,
        roles.SETUP: SETUP,
        roles.VENDORED: VENDORED,
        roles.DATA: DATA,
    }
    if not context.plan.change:
        words_in_query = {group.word for group in context.plan.groups}
        for role, words in _LIFTED_BY.items():
            if words_in_query & words:
                factors[role] = 1.0
    return factors


def _find_superseded(context: Context) -> list[int]:
    """Files of a version folder that has a later one beside it, unless the query names the version."""
    named = _find_named_versions(context)
    return [file for file, version in context.snapshot.superseded.items() if version not in named]


def _find_named_versions(context: Context) -> frozenset[int]:
    """The versions of superseded folders that the query names."""
    older = context.snapshot.superseded
    words = [group.word for group in context.plan.groups if group.word[:1] == "v"] if older else ()
    return frozenset(version for version in older.values() if f"v{version}" in words) if words else frozenset()
