"""Every language file declares what it must, is documented, is in the table, and has a test file with samples."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lurcher.languages.base import KINDS, Language
from lurcher.languages.detect import LANGUAGES, Entry, load_language
from lurcher.languages.grammar import grammar_of
from tests.languages.samples import samples
from tools import language_table

REPOSITORY = Path(__file__).parents[2]
FILES = language_table.language_files()
NO_TEST = {"plain"}
"""Files of languages that are cut by lines: there is nothing to be found in them."""


@pytest.mark.parametrize("file", FILES)
def test_a_language_file_declares_what_it_must(file: str) -> None:
    languages = FILES[file]
    assert languages
    for language in languages:
        assert isinstance(language, Language)
        assert language.name == language.name.lower()
        assert language.extensions or language.filenames or language.interpreters, "nothing tells its files"
        assert (language.definitions is not None) == (language.grammar is not None), "a grammar is there for definitions"
        assert language.imports is None or language.grammar is not None
        assert (language.resolver is not None) == bool(language.ecosystem)
        assert language.resolver is None or language.imports is not None or language.script
        assert (language.scripts is not None) == language.script
        assert not (language.script and language.grammar)
        assert load_language(language.name) is language


@pytest.mark.parametrize("file", sorted(set(FILES) - NO_TEST))
def test_a_language_file_has_a_test_file_with_a_sample_of_each_language(file: str) -> None:
    path = Path(__file__).parent / f"test_{file}.py"
    assert path.exists(), f"write {path.relative_to(REPOSITORY)}"
    for language in FILES[file]:
        sample = samples()[language.name]
        assert sample.source
        assert sample.definitions.strip()
        assert bool(sample.imports) == (language.imports is not None or language.script), (
            f"{path.name} has no sample of imports"
        )


def test_languages_of_one_ecosystem_share_a_resolver() -> None:
    by_ecosystem: dict[str, set[object]] = {}
    for languages in FILES.values():
        for language in languages:
            if language.ecosystem:
                by_ecosystem.setdefault(language.ecosystem, set()).add(language.resolver)
    assert {ecosystem for ecosystem, resolvers in by_ecosystem.items() if len(resolvers) > 1} == set()


def test_imports_are_of_known_kinds() -> None:
    """An index holds the numbers of kinds."""
    found = {kind for sample in samples().values() for _, imports in sample.imports for _, _, kind in imports}
    assert found <= set(KINDS)


def test_the_tables_are_made_of_the_language_files() -> None:
    command = [sys.executable, str(REPOSITORY / "tools" / "language_table.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_an_entry_of_the_table_has_the_fields_of_a_language() -> None:
    """So that who reads `LANGUAGES` finds there what the language file says."""
    for name, entry in LANGUAGES.items():
        language = load_language(name)
        assert [field for field in Entry.__slots__ if field not in ("file", "decides")] == [
            field for field in Entry.__slots__ if hasattr(language, field)
        ]
        assert all(getattr(entry, field) == getattr(language, field) for field in Entry.__slots__ if hasattr(language, field))


def test_the_package_of_each_grammar_is_a_dependency_or_in_the_extra() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    required, _, optional = text.partition("[project.optional-dependencies]")
    extra = next((line for line in optional.splitlines() if line.startswith("languages = ")), "")
    for name, entry in LANGUAGES.items():
        if entry.grammar is not None:
            package = entry.grammar[0].replace("_", "-")
            assert f'"{package}>=' in (extra if entry.optional else required), f"{package} for {name}"


@pytest.mark.parametrize("language", sorted(name for name, entry in LANGUAGES.items() if entry.grammar))
def test_each_grammar_can_be_loaded(language: str) -> None:
    assert grammar_of(language) is not None


def test_detecting_a_language_imports_no_language_file() -> None:
    question = "from lurcher.languages.detect import detect; detect('a.py', b''); detect('b.rs', b'fn')"
    code = f"import sys; {question}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = {name.removeprefix("lurcher.languages.") for name in done.stdout.split() if name.startswith("lurcher.languages.")}
    assert loaded == {"detect", "table"}
