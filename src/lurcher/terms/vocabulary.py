"""What is known of words: stop words, the abbreviations that developers use, and stems.

Stems match a query's words with their other forms. They are for queries only; the index holds words as written. The algorithm
is Porter's (An algorithm for suffix stripping, Program 14(3), 1980).
"""

from __future__ import annotations

from functools import lru_cache

STOP_WORDS = frozenset(
    """
    a about after all also an and any are as at be because been before being between both but by can could did do does doing
    each for from had has have having here how i if in into is it its itself just me more most my no nor not now of off on once
    only or other our out over own same should so some such than that the their them then there these they this those through
    to too under until up use used uses using very via was we were what when where which while who whom why will with within
    without would you your it's i'm don't doesn't
    """.split()
)

_ABBREVIATIONS = """
    abbreviation abbr
    address addr
    administrator admin
    allocate alloc allocation allocator
    application app
    argument arg
    argument argv
    arguments args
    asynchronous async
    attribute attr
    attributes attrs
    authentication auth
    authenticate auth
    authorization auth
    authorize auth
    average avg
    boolean bool
    buffer buf
    button btn
    calculate calc
    callback cb
    certificate cert
    character char
    command cmd
    communication comm
    compare cmp
    concatenate concat
    configuration config
    configuration cfg
    configuration conf
    configure config
    connection conn
    constant const
    context ctx
    control ctrl
    coordinate coord
    count cnt
    current cur
    current curr
    database db
    debug dbg
    declaration decl
    default def
    definition def
    delete del
    delete rm
    dependency dep
    dependencies deps
    description desc
    descriptor desc
    descriptor fd
    destination dest
    destination dst
    development dev
    dictionary dict
    difference diff
    dimension dim
    directory dir
    document doc
    documentation docs
    document docs
    duplicate dup
    element elem
    element el
    environment env
    error err
    evaluate eval
    event evt
    exception exc
    execute exec
    execution exec
    expression expr
    extension ext
    feature feat
    file fs
    filesystem fs
    function fn
    function func
    generate gen
    generator gen
    group grp
    hexadecimal hex
    identifier id
    identifier ident
    image img
    implementation impl
    implement impl
    import imp
    increment inc
    index idx
    information info
    initialize init
    initialization init
    instance inst
    instruction instr
    integer int
    interface iface
    internationalization i18n
    iterate iter
    iterator iter
    iteration iter
    javascript js
    language lang
    length len
    library lib
    library libs
    localization l10n
    location loc
    manager mgr
    maximum max
    memory mem
    message msg
    middleware mw
    minimum min
    miscellaneous misc
    modification mod
    module mod
    mutex mtx
    navigation nav
    network net
    notification notif
    number num
    object obj
    operation op
    operator op
    option opt
    options opts
    original orig
    package pkg
    parameter param
    parameters params
    password pwd
    password passwd
    perform perf
    performance perf
    pointer ptr
    position pos
    predicate pred
    previous prev
    process proc
    production prod
    property prop
    properties props
    protocol proto
    prototype proto
    query qry
    random rand
    receive recv
    recursive rec
    reference ref
    references refs
    regular regex
    regexp regex
    regexp re
    repository repo
    request req
    resource res
    response resp
    response res
    result res
    return ret
    revision rev
    schedule sched
    scheduler sched
    sequence seq
    serialize ser
    deserialize de
    serialization serde
    server srv
    service svc
    session sess
    source src
    specification spec
    standard std
    statement stmt
    statistics stats
    status stat
    string str
    structure struct
    subscribe sub
    synchronize sync
    synchronous sync
    synchronization sync
    system sys
    table tbl
    temperature temp
    template tmpl
    template tpl
    temporary temp
    temporary tmp
    text txt
    thread thr
    timestamp ts
    token tok
    transaction tx
    transaction txn
    transform xform
    translate trans
    typescript ts
    user usr
    utilities utils
    utility util
    utility utils
    validate val
    value val
    variable var
    variables vars
    vector vec
    version ver
    websocket ws
    window win
"""


def abbreviations(word: str) -> tuple[str, ...]:
    """The abbreviations of a word, and the words of an abbreviation; found in the text, since a query needs only a few."""
    found: set[str] = set()
    at = _ABBREVIATIONS.find(word) if word.isalnum() else -1
    while at >= 0:
        end = at + len(word)
        if _ABBREVIATIONS[at - 1].isspace() and _ABBREVIATIONS[end].isspace():
            long, *short = _ABBREVIATIONS[_ABBREVIATIONS.rindex("\n", 0, at) : _ABBREVIATIONS.index("\n", end)].split()
            found.update(short if word == long else (long,))
        at = _ABBREVIATIONS.find(word, end)
    return tuple(sorted(found))


def list_abbreviations() -> list[tuple[str, str]]:
    """All pairs of a word and an abbreviation of it."""
    found = []
    for long, *short in map(str.split, _ABBREVIATIONS.strip().split("\n")):
        found += [(long, other) for other in short]
    return found


_STEP2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("abli", "able"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"),
    ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"),
    ("biliti", "ble"),
)  # fmt: skip
_STEP3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous",
    "ive", "ize", "or",
)  # fmt: skip


_RULES2 = tuple(sorted(_STEP2, key=lambda rule: -len(rule[0])))
_RULES3 = tuple(sorted(_STEP3, key=lambda rule: -len(rule[0])))
_ENDS4 = tuple(sorted(_STEP4, key=len, reverse=True))
"""The longest ending that fits applies."""
_ENDS2, _ENDS3 = tuple(rule[0] for rule in _RULES2), tuple(rule[0] for rule in _RULES3)


def _measure(stem: str) -> int:
    """How many vowel–consonant sequences the stem has."""
    runs = _count_vowel_runs(stem)
    return runs - 1 if runs and _ends_in_vowel(stem) else runs


def _count_vowel_runs(stem: str) -> int:
    """How many runs of vowels the stem has; y is a vowel unless it follows one."""
    runs, before, inside = 0, "a", False
    for letter in stem:
        vowel = letter in "aeiou" or (letter == "y" and before not in "aeiou")
        runs += vowel and not inside
        before, inside = letter, vowel
    return runs


def _ends_in_vowel(stem: str) -> bool:
    return bool(stem) and (stem[-1] in "aeiou" or (stem[-1] == "y" and len(stem) > 1 and stem[-2] not in "aeiou"))


def _has_vowel(stem: str) -> bool:
    return _count_vowel_runs(stem) > 0


def _ends_in_double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and not _ends_in_vowel(word)


def _ends_in_short_syllable(word: str) -> bool:
    return (
        len(word) > 2
        and not _ends_in_vowel(word)
        and word[-1] not in "wxy"
        and _ends_in_vowel(word[:-1])
        and not _ends_in_vowel(word[:-2])
    )


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a lower-case word; words that are not plain letters are their own stem."""
    if len(word) < 4 or not word.isalpha() or not word.isascii():
        return word[:-1] if len(word) == 3 and word.endswith("s") and word[1] not in "aeious" else word
    word = _strip_plural(word)
    word = _strip_past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    if word.endswith(_ENDS2):
        word = _replace_ending(word, _RULES2)
    if word.endswith(_ENDS3):
        word = _replace_ending(word, _RULES3)
    if word.endswith(_ENDS4):
        word = _drop_ending(word)
    if word.endswith("e"):
        base = word[:-1]
        measure = _measure(base)
        if measure > 1 or (measure == 1 and not _ends_in_short_syllable(base)):
            word = base
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _strip_plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _strip_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            if not _has_vowel(base):
                return word
            if base.endswith(("at", "bl", "iz")):
                return base + "e"
            if _ends_in_double_consonant(base) and base[-1] not in "lsz":
                return base[:-1]
            return base + "e" if _measure(base) == 1 and _ends_in_short_syllable(base) else base
    return word


def _replace_ending(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for suffix, new in rules:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base + new if _measure(base) > 0 else word
    return word


def _drop_ending(word: str) -> str:
    for suffix in _ENDS4:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            if _measure(base) > 1 and (suffix != "ion" or base.endswith(("s", "t"))):
                return base
            return word
    return word
