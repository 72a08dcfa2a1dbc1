"""Evidence that a file answers a question, one function for each kind: `score_<kind>(context)`; and the noise factors.

Each gives an array with one number per file, from 0 (nothing to say) to 1, and may leave a note for `why` in `context.notes`.
The weights are in `default`. What only long reports have (stack traces, links, paths) is in `report_evidence`.

Noise factors, below 1, are for files that are rarely the answer: tests, examples, barrels, old versions. The query can lift
them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import fsum, log

from lurcher.lanes import FileScores, top_files
from lurcher.lanes.dense import DenseCosines
from lurcher.lanes.lexical import LexicalScores
from lurcher.query import LANGUAGE, Group, split_qualified_name
from lurcher.ranking import Context
from lurcher.runtime.kernel import native, np
from lurcher.sources import roles
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.tables import SUM_BUFFER, PostingSum
from lurcher.terms import compound, words
from lurcher.terms.vocabulary import STOP_WORDS
from lurcher.types import StageWhy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray


def score_content(context: Context, power: float) -> NDArray[np.float64]:
    """H: the harmonic sum of a file's chunk scores, Σ score / rank^power over all its chunks, best first."""
    found = weigh_units(context)
    return sum_harmonic(context.snapshot, found.scores, found.files, context.allowed, power)


def weigh_units(context: Context) -> LexicalScores:
    """The lexical scores, those of inline tests times the factor of tests; in a large tree, for a question, those of each unit
    times the share of the question that it has."""
    if context.weighed is None:
        found, tests = context.lexical, context.snapshot.inline_tests
        factor = get_test_factor(context) if len(tests) else 1.0
        strength = _get_coverage_strength(context.snapshot.unit_count) if context.plan.intent == LANGUAGE else 0.0
        scores = found.scores
        if strength:
            scores = _weigh_coverage(context, strength)
        elif factor != 1.0:
            scores = scores.copy()
        if factor != 1.0:
            scores[tests] *= factor
        if scores is not found.scores:
            found = LexicalScores(context.snapshot, scores, found.shares, found.idf)
        context.weighed = found
    return context.weighed


COVERAGE_UNITS = 2000
COVERAGE_GROWTH = 0.4
"""From so many units on, how many words of a question a unit has counts for more than how often it has one of them: fully at
twelve times as many. The more units there are, the more of them are full of one rare word by chance. Chosen on the code
set, where it costs 0.018 in trees of 50 to 1,800 units at full strength, and on the same questions asked of all its trees as
one (0.829 to 0.835)."""


def _get_coverage_strength(units: int) -> float:
    return min(COVERAGE_GROWTH * log(units / COVERAGE_UNITS), 1.0) if units > COVERAGE_UNITS else 0.0


def _weigh_coverage(context: Context, strength: float) -> NDArray[np.float64]:
    """Each unit's score times 1 − strength + strength · the share of the query's words, by weight and rarity, that it has."""
    found = context.lexical
    worth = {group.word: group.weight * found.idf.get(group.word, 0.0) for group in context.plan.groups}
    total = fsum([worth[share.word] for share in found.shares]) or 1.0
    factors: NDArray[np.float64] = np.full(len(found.scores), 1 - strength)
    for share in found.shares:
        factors[share.owners] += strength * worth[share.word] / total
    return found.scores * factors


def _load_divisors(snapshot: Snapshot, power: float) -> NDArray[np.float64]:
    """What the first, second, … best unit of a file is divided by."""
    known = snapshot.divisors.get(power)
    if known is None:
        most = int(snapshot.unit_counts.max(initial=0))
        known = snapshot.divisors[power] = np.array([place**power for place in range(1, most + 1)], np.float64)
    return known


def sum_harmonic(
    snapshot: Snapshot, scores: NDArray[np.float64], files: FileScores, allowed: NDArray[np.bool_], power: float
) -> NDArray[np.float64]:
    """The sum of each allowed file."""
    counts = snapshot.unit_counts
    divisors = _load_divisors(snapshot, power)
    kernel = native()
    if kernel is not None:
        sums = np.empty(snapshot.file_total)
        kernel.harmonic(scores, files.best, snapshot.first_unit, counts, allowed, divisors, sums)
        return sums
    return _sum_harmonic_numpy(snapshot, scores, allowed, divisors)


def _sum_harmonic_numpy(
    snapshot: Snapshot, scores: NDArray[np.float64], allowed: NDArray[np.bool_], divisors: NDArray[np.float64]
) -> NDArray[np.float64]:
    import numpy as np

    unit_file = snapshot.unit_file
    units = np.flatnonzero((scores > 0) & allowed[unit_file])
    files = unit_file[units]
    values = scores[units]
    # By score, then stably by file; the order of equal scores does not matter, and small file numbers sort in linear time.
    order = np.argsort(-values)
    number = files[order].astype(np.uint16 if snapshot.file_total < 1 << 16 else np.int64)
    order = order[np.argsort(number, kind="stable")]
    files, values = files[order], values[order]
    first = np.flatnonzero(np.diff(files, prepend=-1))
    place = np.arange(len(files)) - np.repeat(first, np.diff(np.append(first, len(files))))
    return np.bincount(files, values / divisors[place], snapshot.file_total).astype(np.float64, copy=False)


def score_phrase(context: Context) -> NDArray[np.float64]:
    """The file contains the query word for word."""
    from lurcher.lanes.literal import LiteralMatches  # not loaded unless the plan has this lane

    found = np.zeros(context.snapshot.file_total)
    lane = context.lanes.get("literal")
    if isinstance(lane, LiteralMatches):
        # Not np.unique, which loads masked arrays to find out that this is none.
        files = np.flatnonzero(np.bincount(context.snapshot.unit_file[lane.units]))
        found[files] = 1.0
        for file in files.tolist():
            context.notes["phrase", file] = f"says {lane.pattern.text}"
    return found


EXACT_MATCH, FORM_MATCH, PREFIX_MATCH = 1.0, 0.9, 0.7
MIN_PREFIX = 4


def score_file_name(context: Context) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How much of a file's own name the query explains: the mean over the name's words of the best match with a query word.

    The share of each file's name that is explained, and 1 where every word of it is.
    """
    snapshot = context.snapshot
    explained, complete = PostingSum(), PostingSum()
    whole = np.zeros(snapshot.file_total)
    for term, quality in find_explained_terms(context, "name").items():
        owners, counts = snapshot.postings("name", term)
        explained.add(owners, counts, quality)
        complete.add(owners, counts, 1.0)
        owners, _ = snapshot.postings("stem", term)
        whole[owners] = np.maximum(whole[owners], quality)
    size = np.maximum(snapshot.file_column("name"), 1)
    share, counted = explained.dense(snapshot.file_total), complete.dense(snapshot.file_total)
    if share is None or counted is None:
        return whole, (whole > 0).astype(float)
    return np.maximum(np.minimum(share / size, 1.0), whole), ((counted >= size) | (whole > 0)).astype(float)


def find_explained_terms(context: Context, family: str) -> dict[str, float]:
    """Each term of `family` that some query word explains, with how well."""
    best: dict[str, float] = {}
    for group in context.plan.groups:
        if group.word not in context.own_words:
            for term, quality in _explain_by_word(context.snapshot, group, family):
                if quality > best.get(term, 0.0):
                    best[term] = quality
    if context.plan.report is None:
        for joined in _join_neighbours(context.plan.text):
            if context.snapshot.knows(joined):
                best[joined] = EXACT_MATCH
    return best


def _explain_by_word(snapshot: Snapshot, group: Group, family: str) -> list[tuple[str, float]]:
    """The terms that one word explains, each with a quality; cached, as it is the same for every query with that word."""
    key = group.word, group.forms, family
    known = snapshot.explained.get(key)
    if known is None:
        word, best = group.word, {group.word: EXACT_MATCH}
        for form in group.forms:
            best.setdefault(form, FORM_MATCH)
        if len(word) >= MIN_PREFIX and word.isalpha():
            for term in snapshot.terms_with_prefix(word, family):
                best.setdefault(term, PREFIX_MATCH)
            for length in range(MIN_PREFIX, len(word)):
                best.setdefault(word[:length], PREFIX_MATCH)
        known = [(term, quality) for term, quality in best.items() if snapshot.knows(term)]
        snapshot.explained.put(key, known, len(known))
    return known


@lru_cache(maxsize=8)
def _join_neighbours(text: str) -> tuple[str, ...]:
    """Neighbouring words written as one: a question's "thread pool" is a file's `threadpool`."""
    found = [word.lower() for word in words(text)]
    return tuple([a + b for a, b in pairwise(found) if a not in STOP_WORDS and b not in STOP_WORDS])


def score_folders(context: Context) -> NDArray[np.float64]:
    """The share of the query, weighted by rarity, that is found in a file's last three folders."""
    snapshot = context.snapshot
    idfs = context.lexical.idf
    found = np.zeros(snapshot.file_total)
    total = 0.0
    for group in context.plan.groups:
        idf = idfs.get(group.word, 0.0)
        total += idf
        if group.word not in context.own_words:
            here = np.zeros(snapshot.file_total)
            for form in group.forms:
                here[snapshot.postings("folder", form)[0]] = FORM_MATCH
            here[snapshot.postings("folder", group.word)[0]] = EXACT_MATCH
            found += idf * here
    return found / total if total else found


def score_stem(context: Context) -> NDArray[np.float64]:
    """The file is named like the queried symbol."""
    found = np.zeros(context.snapshot.file_total)
    for name in context.plan.names:
        parts = split_qualified_name(name)
        if parts:
            owners, _ = context.snapshot.postings("stem", compound(parts[-1]))
            found[owners] = 1.0
    return found


def score_types(context: Context) -> NDArray[np.float64]:
    """The file defines a type whose name the query explains, weighted by how much of the query that name covers."""
    snapshot = context.snapshot
    total = sum(context.lexical.idf.values())
    if not total:
        return np.zeros(snapshot.file_total)
    rarity = _collect_idf(context)
    parts = []
    for term, quality in find_explained_terms(context, "types").items():
        owners, counts = snapshot.postings("types", term)
        if len(owners):
            parts.append((owners, counts, quality, quality * rarity.get(term, 0.0)))
    if not parts:
        return np.zeros(snapshot.file_total)
    kernel = native()
    tables = snapshot.definition_rows() if kernel is not None else None
    if kernel is None or tables is None:
        return _score_types_numpy(snapshot, parts, total)
    desk = SUM_BUFFER.zeros(2 * sum(len(segment.definitions) for segment in snapshot.segments))
    best: NDArray[np.float64] = kernel.covered(parts, tables, total, snapshot.file_total, desk)
    return best


def _score_types_numpy(
    snapshot: Snapshot, parts: list[tuple[NDArray[np.int64], NDArray[np.uint8], float, float]], total: float
) -> NDArray[np.float64]:
    import numpy as np

    found = np.zeros(snapshot.file_total)
    explained, covered = PostingSum(), PostingSum()
    for owners, counts, quality, cover in parts:
        explained.add(owners, counts, quality)
        covered.add(owners, (counts > 0), cover)
    definitions = len(snapshot.definition_file)
    explained_ones, shares = explained.sparse(definitions)
    matched, covers = covered.sparse(definitions)  # some of those
    if not len(matched):
        return found
    shares = shares[np.searchsorted(explained_ones, matched)]
    share = np.minimum(shares / np.maximum(snapshot.definition_parts[matched], 1), 1.0)
    np.maximum.at(found, snapshot.definition_file[matched], share * np.minimum(covers / total, 1.0))
    return found


def _collect_idf(context: Context) -> dict[str, float]:
    """Term → IDF of the query word of which it is a form."""
    rarity: dict[str, float] = {}
    for group in context.plan.groups:
        idf = context.lexical.idf.get(group.word, 0.0)
        for term in (group.word, *group.forms):
            rarity[term] = max(rarity.get(term, 0.0), idf)
    return rarity


def score_definitions(context: Context, *, shared: bool = False) -> NDArray[np.float64]:
    """The file defines a name of the query: types count most, then functions, then variables.

    `shared` divides by the number of files that define the name, so that rare names count.
    """
    found = np.zeros(context.snapshot.file_total)
    files_of: dict[str, set[int]] = {}
    for match in context.symbols:
        files_of.setdefault(match.name, set()).add(match.file)
    for match in context.symbols:
        strength = match.strength / len(files_of[match.name]) if shared else match.strength
        if strength > found[match.file]:
            found[match.file] = strength
            context.notes["definition", match.file] = f"defines {match.definition.qualified}"
    return found


DENSE_STEEPNESS = 4.0
DENSE_OFFSET = 0.5
"""What the nearest file gains, as a share of the weight; the rest of the scale pushes down."""
DENSE_FILES = 60
"""Files taken from each side: by other evidence, and by cards. From 30 to 400 the development set scores the same."""
DENSE_UNITS = 3
DENSE_ALONE = 0.4
"""The least cosine of a card that finds a file without any word of the query; hand-set with the built-in table."""
DENSE_NEAREST = 0.2
"""The same where no file has a word of the query: better the nearest places, marked as weak, than nothing."""
DENSE_MAX_LOSS = 0.95
"""The most that a file may lose of its other evidence: what was found by words stays found."""


def score_dense(context: Context, others: NDArray[np.float64], card: float, units: float) -> NDArray[np.float64] | None:
    """The file is near the question in meaning: its card, and the mean of its three nearest units.

        weight · (0.5 + 4 · (cosine − largest cosine)), for card and units each

    so the nearest file gains half the weight, and one that is far away is pushed down. Units are compared only in files that
    stand a chance: the best by all other evidence, and those with the nearest cards, which may have no other evidence at all
    if they are near enough (`DENSE_ALONE`).

    What each file gains or loses, given the sum of all `others`; None where the lane has nothing to say.
    """
    lane = context.lanes.get("dense")
    if not isinstance(lane, DenseCosines) or not lane or not (card or units):
        return None
    snapshot = context.snapshot
    usable = context.allowed & (snapshot.file_column("units") > 0)
    if not usable.any():
        return None
    cards = lane.cards()
    near_from = DENSE_ALONE if (usable & (others > 0)).any() else DENSE_NEAREST
    nearness = card * (DENSE_OFFSET + DENSE_STEEPNESS * (cards - np.where(usable, cards, -np.inf).max()))
    found = usable & (others > 0)
    near = usable & (cards >= near_from) & lane.known
    compared = np.zeros(len(usable), bool)
    compared[top_files(snapshot, np.flatnonzero(found), (others + nearness)[found], DENSE_FILES)] = True
    compared[top_files(snapshot, np.flatnonzero(near), cards[near], DENSE_FILES)] = True
    pool = np.flatnonzero(compared)
    if not len(pool):
        return None
    chunks = _average_nearest_units(context, lane, pool)
    gained = nearness + units * (DENSE_OFFSET + DENSE_STEEPNESS * (chunks.min() - chunks.max()))
    gained[pool] = nearness[pool] + units * (DENSE_OFFSET + DENSE_STEEPNESS * (chunks - chunks.max()))
    return np.where(found, np.maximum(gained, -DENSE_MAX_LOSS * others), np.where(compared, np.maximum(gained, 0.0), 0.0))


def _average_nearest_units(context: Context, lane: DenseCosines, pool: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean cosine of each file's nearest units. The nearest is remembered for files that no word leads to."""
    units, cosines = context.cosines = lane.units(pool)
    counts = context.snapshot.unit_counts[pool]
    means: NDArray[np.float64]
    kernel = native()
    if kernel is not None:
        means, best = kernel.nearest(cosines, counts, DENSE_UNITS)
        context.nearest = units[best]
        return means
    starts = np.cumsum(counts) - counts
    number = np.repeat(np.arange(len(pool)), counts)
    left = cosines.copy()
    sums = np.zeros(len(pool))
    for turn in range(DENSE_UNITS):
        best = _find_largest(left, starts, number)
        if not turn:
            context.nearest = units[best]
        there = counts > turn
        sums[there] += left[best[there]]
        left[best] = -np.inf
    means = sums / np.minimum(counts, DENSE_UNITS)
    return means


def _find_largest(values: NDArray[np.float64], starts: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of the largest value of each run, the first of equals. Runs begin at `starts`, `number` tells them apart."""
    import numpy as np

    highest = np.flatnonzero(values == np.maximum.reduceat(values, starts)[number])[::-1]
    found = np.empty(len(starts), np.int64)
    found[number[highest]] = highest  # the last write stays
    return found


_LIFTED_BY = {
    roles.TEST: {"test", "tests", "testing", "spec", "specs", "fixture", "fixtures", "mock", "mocks"},
    roles.EXAMPLE: {"example", "examples", "doc", "docs", "documentation", "demo", "sample", "tutorial", "benchmark"},
    roles.LEGACY: {"compat", "legacy", "deprecated", "obsolete", "compatibility", "old", "backport"},
    roles.SETUP: {"setup", "build", "ci", "workflow", "makefile", "packaging", "dockerfile", "install", "gradle", "cmake"},
    roles.VENDORED: {"vendor", "vendored", "third", "bundled"},
    roles.DATA: {"json", "yaml", "xml", "css", "html", "sql", "translation", "locale", "stylesheet", "schema"},
    roles.GENERATED: {"generated", "autogenerated", "codegen", "dist", "bundle"},
    roles.TRANSLATION: {
        "translation", "translations", "translated", "locale", "locales", "i18n", "l10n", "localization", "localisation",
    },
}


SETUP = 0.5
"""Factor for build, CI and set-up files."""
VENDORED = 0.3
"""Factor for copies of other projects."""
DATA = 0.5
"""Factor for data, markup and style files. Came with reading reports by their parts, which together took whole issue texts from
0.63 to 0.70 MRR; the other two are hand-set."""
GENERATED = 0.3
"""Factor for what a tool wrote; hand-set like that of copies, as is the next."""
TRANSLATION = 0.3
"""Factor for message catalogues and other files of one locale."""
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


def unit_factors(context: Context, units: NDArray[np.int64]) -> NDArray[np.float64]:
    """The factor of each unit: that of its file, and for inline tests that of tests."""
    factors: NDArray[np.float64] = noise_factors(context)[context.snapshot.unit_file[units]]
    if len(context.snapshot.inline_tests):
        factors *= np.array([get_inline_factor(context, unit) for unit in units.tolist()], np.float64)
    return factors


def get_test_factor(context: Context) -> float:
    return _get_role_factors(context)[roles.TEST]


def get_inline_factor(context: Context, unit: int) -> float:
    """The factor of a unit that is an inline test, 1 for others."""
    return get_test_factor(context) if context.snapshot.is_inline_test(unit) else 1.0


def explain_noise(context: Context, unit: int) -> list[StageWhy]:
    """The factors that apply to one unit, each with its reason."""
    file = int(context.snapshot.unit_file[unit])
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
    inline = get_inline_factor(context, unit) if flags & roles.INLINE_TESTS else 1.0
    if inline != 1.0:
        found.append(StageWhy("noise", factor=inline, note=roles.INLINE_TEST))
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
        roles.GENERATED: GENERATED,
        roles.TRANSLATION: TRANSLATION,
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
