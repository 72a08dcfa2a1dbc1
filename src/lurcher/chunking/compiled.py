"""Definitions, comments and chunks of a parsed file, by the kernel; definitions.py and tiling.py do the same in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.chunking.lines import cut_lines
from lurcher.languages.base import Captures, DefinitionRules
from lurcher.languages.definitions import KernelRules, Range
from lurcher.runtime.kernel import native
from lurcher.types import Definition, Span

if TYPE_CHECKING:
    from tree_sitter import Node

def read(
    root: Node, matches: list[tuple[int, Captures]], text: bytes, target: int, rules: DefinitionRules, for_kernel: KernelRules
) -> tuple[tuple[Span, ...], tuple[Definition, ...], tuple[Range, ...]]:
    """The chunks of a text that is not empty, its definitions in order of position, and its comments."""
    kernel = native()
    assert kernel is not None
    ruler = kernel.Ruler(text)
    definitions, comments = kernel.extract(matches, for_kernel[0], ruler, for_kernel[1])
    small = ruler.size(0, len(text)) <= target
    cuts = [0] if small else kernel.cuts(root, ruler, target, rules.leads, rules.divided, definitions, cut_lines)
    return ruler.spans(cuts, Span), definitions, comments
