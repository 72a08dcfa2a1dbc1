"""Definitions, comments and chunks of a parsed file, found by the kernel; extract.py and tiling.py are what it equals."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from lurcher.chunking.definitions.extract import Range, qualify
from lurcher.chunking.definitions.signature import after_annotations, signature
from lurcher.chunking.definitions.spec import ATTRIBUTE, COMMENT, OPEN_SCOPE, SCOPE, WRAP, Captures, Spec
from lurcher.chunking.lines import cut_lines
from lurcher.runtime.kernel import native
from lurcher.types import Definition, Span

if TYPE_CHECKING:
    from tree_sitter import Node

Rules = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The head of each pattern, and a language's rules as the kernel takes them."""


def rules_of(spec: Spec) -> Rules:
    kernel = native()
    assert kernel is not None
    split = re.compile(spec.qualifiers).split if spec.qualifiers else None
    return tuple(head for head, _ in spec.patterns), (
        COMMENT, WRAP, ATTRIBUTE, SCOPE, OPEN_SCOPE, spec.refine, spec.exported, partial(qualify, split) if split else None,
        spec.methods_in, spec.constructors, spec.contains_nothing, spec.signature_at_wrapper, spec.constructor_is_class,
        spec.merge_equations, spec.annotations, kernel.Found, Definition, signature, after_annotations,
    )  # fmt: skip


def read(
    root: Node, matches: list[tuple[int, Captures]], text: bytes, target: int, spec: Spec, rules: Rules
) -> tuple[tuple[Span, ...], tuple[Definition, ...], tuple[Range, ...]]:
    """The chunks of a text that is not empty, its definitions in order of position, and its comments."""
    kernel = native()
    assert kernel is not None
    ruler = kernel.Ruler(text)
    definitions, comments = kernel.extract(matches, rules[0], ruler, rules[1])
    small = ruler.size(0, len(text)) <= target
    cuts = [0] if small else kernel.cuts(root, ruler, target, spec.leads, spec.divided, definitions, cut_lines)
    return ruler.spans(cuts, Span), definitions, comments
