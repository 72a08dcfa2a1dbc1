"""Notes: what counts in them."""

from __future__ import annotations

from lurcher.runtime.light import dataclass
from lurcher.settings import setting


@dataclass(frozen=True)
class NoteSettings:
    """How sections of notes are ranked."""

    k1: float = setting(1.5, "BM25: how fast repeated terms saturate.", low=0.01, high=10)
    b: float = setting(0.5, "BM25: how much long sections are held back.", low=0, high=1)
    b_above: float = setting(0.25, "The same, for long titles and headings.", low=0, high=1)
    rarity: float = setting(0.8, "How much rare words count for more: the power of their IDF.", low=0, high=4)
    body: float = setting(1.0, "Weight of terms in the text.", low=0, high=100)
    above: float = setting(2.0, "Weight of terms in title, headings, tags and other names.", low=0, high=100)
    comments: float = setting(0.1, "Weight of terms in comments, which readers do not see.", low=0, high=100)
    name: float = setting(1.0, "Weight of terms in the file's name.", low=0, high=100)
    folder: float = setting(0.0, "Weight of terms in the last three folders.", low=0, high=100)
    variant: float = setting(0.3, "Weight of a word's other forms (same stem, known abbreviation).", low=0, high=1)
    title: float = setting(0.03, "How much of its title the query explains.", low=0, high=10)
    whole: float = setting(0.5, "Weight of the words of the whole note.", low=0, high=10)
    b_whole: float = setting(0.6, "BM25: how much long notes are held back as a whole.", low=0, high=1)
    small: float = setting(0.5, "Words such as 'the' in the whole note: they tell its language.", low=0, high=10)
    pairs: float = setting(0.25, "Words next to each other in the query and anywhere in the note.", low=0, high=10)
    pair: float = setting(0.03, "The same, in the section itself.", low=0, high=10)
    looked_at: int = setting(20, "Notes whose text is looked at for such pairs.", low=1, high=10_000)
    card: float = setting(0.08, "Nearness of the whole note in meaning.", low=0, high=10)
    meaning: float = setting(0.05, "Nearness of the section: the shipped model knows code better than prose.", low=0, high=10)
    alone: float = setting(0.4, "Least cosine of a section or note that is found without any word of the query.", low=0, high=1)
    links: float = setting(0.02, "What the best notes lend to those that are linked with them.", low=0, high=10)
    compared: int = setting(40, "Notes whose sections are compared in meaning.", low=1, high=100_000)
