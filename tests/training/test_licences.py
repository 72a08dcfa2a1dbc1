"""Licences are read where packages state them, and only usable ones pass."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.licences import classify, of_debian, of_files, of_heads, of_metadata, of_text

GPL3 = """GNU GENERAL PUBLIC LICENSE Version 3
13. Use with the GNU Affero General Public License. You have permission to link any covered work with a work licensed
under version 3 of the GNU Affero General Public License into a single combined work. The special
requirements of the GNU Affero General Public License, section 13, concerning interaction through a network apply."""


@pytest.mark.parametrize(
    ("licence", "kind"),
    [
        ("MIT", "permissive"),
        ("Apache-2.0 OR MIT", "permissive"),
        ("(MIT OR GPL-3.0-or-later)", "permissive"),
        ("GPL-1+ or Artistic", "permissive"),
        ("MIT and GPL-2+", "copyleft"),
        ("GNU General Public License v3 or later (GPLv3+)", "copyleft"),
        ("Mozilla Public License 2.0 (MPL 2.0)", "copyleft"),
        ("Apache-2.0 WITH LLVM-exception", "permissive"),
        ("LGPL-2.0-only_WITH_Qt-Commercial-exception-1.0", "copyleft"),
        ("The Unlicense (Unlicense)", "permissive"),
        ("UNLICENSED", "refused"),
        ("AGPL-3.0", "refused"),
        ("AGPL-3.0 OR MIT", "permissive"),
        ("MIT and AGPL-3", "refused"),
        ("BUSL-1.1", "refused"),
        ("CC-BY-NC-4.0", "refused"),
        ("CC-BY-4.0", "permissive"),
        ("Elastic-2.0", "refused"),
        ("SEE LICENSE IN terms.txt", "unknown"),
        ("", "unknown"),
    ],
)
def test_an_expression_has_the_best_of_alternatives_and_the_worst_of_what_holds_together(licence: str, kind: str) -> None:
    assert classify(licence) == kind


@settings(deadline=None)
@given(st.lists(st.sampled_from(["MIT", "GPL-2+", "AGPL-3", "whatever"]), min_size=1, max_size=4))
def test_the_order_of_alternatives_does_not_matter(names: list[str]) -> None:
    assert classify(" or ".join(names)) == classify(" or ".join(reversed(names)))
    assert classify(" and ".join(names)) == classify(" and ".join(reversed(names)))


def test_the_gpl_is_not_taken_for_the_agpl_that_its_text_names() -> None:
    assert of_text(GPL3) == "GPL"
    assert of_text("GNU AFFERO GENERAL PUBLIC LICENSE Version 3, with the GNU General Public License") == "AGPL-3.0"


def test_a_debian_copyright_gives_the_main_licence_and_what_is_stricter() -> None:
    text = """Format: https://example.org/copyright-format/1.0/

Files: *
Copyright: somebody
License: Expat

Files: contrib/*
License: GPL-2+

Files: doc/*
License: BSD-3-clause

Files: debian/*
License: AGPL-3
"""
    assert of_debian(text) == "Expat and GPL-2+"


def test_a_licence_with_a_name_of_its_own_is_known_by_its_text() -> None:
    text = """Format: x

Files: *
License: somebodys-own
 Permission is hereby granted, free of charge, to any person
"""
    assert of_debian(text) == "MIT"


def test_an_old_debian_copyright_is_known_by_the_common_licence_it_points_to() -> None:
    assert of_debian("On Debian systems see /usr/share/common-licenses/GPL-2 for the text.") == "GPL-2"
    assert of_debian("Nobody knows.") == ""


def test_python_metadata_prefers_the_expression_to_classifiers_to_the_field() -> None:
    field = "Name: a\nLicense: something\n"
    classifier = "Classifier: License :: OSI Approved :: MIT License\n"
    assert of_metadata(f"{field}{classifier}License-Expression: ISC\n\nbody") == "ISC"
    assert of_metadata(f"{field}{classifier}") == "MIT License"
    assert of_metadata(field) == "something"
    assert of_metadata("Name: a\nLicense: UNKNOWN\n") == ""
    assert of_metadata("Name: a\n\nLicense-Expression: MIT in the description") == ""


def test_top_level_files_are_read_from_manifest_to_readme() -> None:
    manifest = json.dumps({"license": "SEE LICENSE IN LICENSE.md"})
    assert of_files({"package.json": manifest, "license.md": "Permission is hereby granted, free of charge"}) == "MIT"
    old = json.dumps({"licenses": [{"type": "MIT"}, {"type": "Apache-2.0"}]})
    assert of_files({"package.json": old}) == "MIT or Apache-2.0"
    assert of_files({"package.json": "not json", "readme.md": "Under the MIT license."}) == "MIT"
    assert of_files({"a.cabal": "name: a\nlicense:  BSD-3-Clause\n"}) == "BSD-3-Clause"
    assert of_files({"mix.exs": 'licenses: ["Apache-2.0"],'}) == "Apache-2.0"
    assert of_files({"makefile": "all:"}) == ""


def test_source_heads_count_when_most_of_them_agree_to_name_one() -> None:
    assert of_heads(["under the MIT license", "under the MIT license", "int x;"]) == "MIT"
    assert of_heads(["under the MIT license", "int x;", "int y;"]) == ""
    assert of_heads([]) == ""
