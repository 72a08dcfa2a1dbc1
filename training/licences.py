"""Which packages may train the table: their licence is read, named and put in a class.

Only statistics of terms leave the training, never text. So permissive licences and the usual copyleft ones are used;
what nobody could name, what restricts use, and the AGPL are left out.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Literal

Class = Literal["permissive", "copyleft", "refused", "unknown"]

USABLE: tuple[Class, ...] = ("permissive", "copyleft")
_WORST_FIRST: tuple[Class, ...] = ("refused", "unknown", "copyleft", "permissive")

# Refusals come first: "AGPL" contains "GPL", "CC-BY-NC" contains "CC-BY".
_NAMES: tuple[tuple[Class, re.Pattern[str]], ...] = (
    (
        "refused",
        re.compile(
            r"agpl|affero|busl|business[ -]source|sspl|server[ -]side|commons[ -]clause|non[- ]?commercial|\bnc\b|[-.]nc\b"
            r"|-nd\b|elastic|polyform|proprietary|commercial|unlicensed\b|all[ -]rights|source[- ]available|confluent"
            r"|no[- ]derivat|\beula\b|json[ -]licen[cs]e|^json$"
        ),
    ),
    (
        "copyleft",
        re.compile(
            r"gpl|general public|\bmpl|mozilla|\bepl\b|epl-|eclipse public|cddl|eupl|\bcpl\b|cpl-|\bosl|ofl|cecill|sa-[0-9]"
            r"|-sa\b|share-?alike|\bqpl|gfdl|sleepycat|\bapsl|\bms-rl|common development"
        ),
    ),
    (
        "permissive",
        re.compile(
            r"\bmit\b|mit[-/ 0-9]|expat|x11|bsd|apache|\bisc\b|isc[-/]|\biscl\b|zlib|libpng|\bbsl|boost"
            r"|unlicense$|unlicense[^d]|cc0|cc-?zero|public[ -]domain|\bpsf|python|artistic|perl|wtfpl|blueoak|ncsa|postgresql"
            r"|ruby|vim|openssl|ssleay|curl|hpnd|\bafl|academic free|w3c|unicode|icu|php|zpl|zope|upl|fsfap|fsfullr|permissive"
            r"|cc-by|mulan|ms-pl|beer-?ware"
            r"|tcl|\blua|naist|ijg|ftl|freetype|openldap|eclipse distribution|\bedl|lppl|historical|no[- ]restriction|mirros"
            r"|bouncy|jdom|saxpath|jaxen|dom4j|\bsgi\b"
        ),
    ),
)

_TEXTS: tuple[tuple[str, str], ...] = (
    ("AGPL-3.0", r"gnu affero general public"),
    ("Commons-Clause", r"commons clause"),
    ("BUSL-1.1", r"business source licen[cs]e"),
    ("SSPL-1.0", r"server side public licen[cs]e"),
    ("CC-BY-NC", r"attribution-?\s?non-?commercial"),
    ("Apache-2.0", r"apache (?:software )?licen[cs]e,?\s*(?:version )?2|licenses/apache-2\.0|under the apache licen[cs]e"),
    ("MPL-2.0", r"mozilla public license"),
    ("EPL-1.0", r"eclipse public license"),
    ("CDDL-1.0", r"common development and distribution license"),
    ("LGPL", r"gnu (?:lesser|library) general public|\blgpl"),
    ("GPL", r"gnu general public|\bgpl"),
    ("BSL-1.0", r"boost software license"),
    ("MIT", r"permission is hereby granted,? free of charge|\bmit licen[cs]e"),
    ("ISC", r"permission to use, copy, modify,? and(?:/or)? distribute this software"),
    ("BSD", r"redistributions? and use in source and binary forms|\bbsd licen[cs]e"),
    ("Zlib", r"this software is provided 'as-is'"),
    ("Unlicense", r"this is free and unencumbered software"),
    ("CC0-1.0", r"creative commons (?:cc0|zero)|\bcc0\b"),
    ("Artistic", r"artistic licen[cs]e"),
    ("public-domain", r"(?:in|into) the public domain"),
    ("WTFPL", r"do what the fuck you want"),
)
# The GPL's own text names the AGPL three times.
_IN_PASSING = re.compile(
    r"use with the gnu affero general public license|under version 3 of the gnu affero general public license into a single"
    r"|requirements of the gnu affero general public license, section 13"
)
_COMMON = re.compile(r"/usr/share/common-licenses/([A-Za-z][A-Za-z0-9.+-]*[A-Za-z0-9+])")
_OR = re.compile(r"\s+or\s+|\s*\|\|?\s*|\s*/\s*(?=[a-z])")
_AND = re.compile(r"\s+and\s+|\s*[,;&]\s+|\s\+\s")
_CLASSIFIER = re.compile(r"(?m)^Classifier: License :: (?:OSI Approved :: )?(.+)$")


def classify(licence: str) -> Class:
    """The class of a licence name or expression: the best of alternatives, the worst of what holds together."""
    text = re.sub(r"(?:\b|_)with[\s_-]+\S+(?:\s+exception)?|[()\"']", " ", licence.lower())
    text = re.sub(r"(?:-|\s)or(?:-|\s)(?:later|newer|any later version)|[- ]only|,? version\b|\bversions? \d[\d.]*", " ", text)
    together = [_best([_one(part) for part in _OR.split(piece)]) for piece in _AND.split(text) if piece.strip()]
    return _worst(together) if together else "unknown"


def _one(name: str) -> Class:
    name = name.strip()
    return next((kind for kind, pattern in _NAMES if pattern.search(name)), "unknown")


def _best(kinds: Iterable[Class]) -> Class:
    return max(kinds, key=_WORST_FIRST.index, default="unknown")


def _worst(kinds: Iterable[Class]) -> Class:
    return min(kinds, key=_WORST_FIRST.index, default="unknown")


def of_text(text: str) -> str:
    """The licence that a licence file states, or "" when it says nothing known."""
    flat = _IN_PASSING.sub(" ", " ".join(text.lower().split()))
    return next((name for name, pattern in _TEXTS if re.search(pattern, flat)), "")


def of_debian(text: str) -> str:
    """The main licence of a Debian copyright file "and" what holds for some files and is stricter; packaging does not count.

    A paragraph for some files whose licence has a name of its own does not spoil the package; the main one must be known.
    """
    if not re.search(r"(?mi)^(?:format|format-specification):", text):
        common = sorted(set(_COMMON.findall(text)))
        stated = of_text(text)
        # A document that points to one of the common licences says which; the words around it may name another in passing.
        return stated if stated and (classify(stated) == "refused" or not common) else " and ".join(common)
    main, others = "", []
    for paragraph in re.split(r"\n\s*\n", text):
        files = re.search(r"(?mi)^files:\s*(.*(?:\n[ \t].*)*)", paragraph)
        licence = re.search(r"(?mi)^licen[cs]e:[ \t]*(.*)$", paragraph)
        if files is None or licence is None or not licence[1].strip():
            continue
        places = files[1].replace(",", " ").split()
        if all(place.startswith("debian/") for place in places):
            continue
        if not main or "*" in places:
            others += [main] if main else []
            main = licence[1].strip()
        else:
            others.append(licence[1].strip())
    if not main:
        return of_text(text)
    if classify(main) == "unknown":  # a name of its own: what does its text say?
        body = re.search(rf"(?mi)^licen[cs]e:[ \t]*{re.escape(main)}[ \t]*\n((?:[ \t].*\n?)+)", text)
        main = (of_text(body[1]) if body else "") or main
    severity = _WORST_FIRST.index(classify(main))
    worse = {_WORST_FIRST.index(kind): name for name in sorted(others, reverse=True) if (kind := classify(name)) != "unknown"}
    return " and ".join([main, *(name for level, name in sorted(worse.items()) if level < severity)])


def of_metadata(text: str) -> str:
    """The licence in a Python package's PKG-INFO: expression, classifiers, then the short field."""
    head = text.split("\n\n", 1)[0]
    expression = re.search(r"(?m)^License-Expression: (.+)$", head)
    if expression:
        return expression[1].strip()
    named = [name.strip() for name in _CLASSIFIER.findall(head) if classify(name) != "unknown"]
    if named:
        return " or ".join(sorted(set(named)))
    field = re.search(r"(?m)^License: (.+(?:\n[ \t]+.*)*)", head)
    if field is None or field[1].strip().upper() == "UNKNOWN":
        return ""
    value = field[1].strip()
    return value if len(value) <= 80 and "\n" not in value else of_text(value)


def of_manifest(manifest: Mapping[str, object]) -> str:
    """The licence in an npm package.json, old spellings included."""
    found = manifest.get("license", manifest.get("licenses", ""))
    entries = found if isinstance(found, list) else [found]
    names = [str(entry.get("type", "")) if isinstance(entry, dict) else str(entry or "") for entry in entries]
    value = " or ".join(name for name in names if name)
    return "" if value.lower().startswith("see licen") else value


def of_files(files: Mapping[str, str]) -> str:
    """The licence by what a source archive has at its top: its manifest first, then licence files, then prose about it."""
    stated = ""
    if "package.json" in files:
        with contextlib.suppress(ValueError):
            manifest = json.loads(files["package.json"])
            stated = of_manifest(manifest) if isinstance(manifest, dict) else ""
    elif "pkg-info" in files:
        stated = of_metadata(files["pkg-info"])
    if "mix.exs" in files and (listed := re.search(r"licenses:\s*\[([^\]]*)\]", files["mix.exs"])):
        stated = " and ".join(re.findall(r'"([^"]+)"', listed[1]))
    for name in sorted(files):
        if name.endswith(".cabal") and (field := re.search(r"(?mi)^licen[cs]e:[ \t]*(\S.*)$", files[name])):
            stated = field[1].strip()
    if stated and classify(stated) != "unknown":
        return stated
    for prefixes in (("licen", "copying"), ("copyright", "notice", "pom.xml"), ("readme",)):
        for name in sorted(files):
            if name.startswith(prefixes) and (found := of_text(files[name])):
                return found
    return stated


def of_heads(heads: Iterable[str]) -> str:
    """The licences that the first lines of source files name, if most of those files name one."""
    found = [of_text(head) for head in heads]
    named = sorted(set(filter(None, found)))
    return " and ".join(named) if 2 * sum(map(bool, found)) > len(found) else ""
