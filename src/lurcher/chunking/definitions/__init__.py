"""What each language's grammar calls a definition: one module per language family, found by name."""

from __future__ import annotations

from importlib import import_module

from lurcher.chunking.definitions.spec import Spec

_FAMILIES = {"javascript": "ecmascript", "typescript": "ecmascript", "tsx": "ecmascript", "cpp": "c"}


def spec_for(language: str) -> Spec:
    """The specification of a language that has a grammar."""
    module = import_module(f"{__name__}.{_FAMILIES.get(language, language)}")
    spec: Spec = module.SPECS[language]
    return spec
