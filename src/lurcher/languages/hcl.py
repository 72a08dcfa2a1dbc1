"""HCL, the language of Terraform.

Definitions: blocks with labels, under the address by which they are referred to: `aws_instance.web`, `data.aws_ami.ubuntu`,
`module.vpc`, `var.region`, `local.name`.

Imports: the `source` of a module, where it is a folder of the tree.

Resolution: a module is each `.tf` file of its folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    Captures,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    child,
    cut,
    extent,
    line_of,
)
from lurcher.languages.resolution import Target, Tree, folder_of, joined, split

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {"variable": "variable", "output": "variable", "module": "module"}
_ADDRESS = {"variable": "var", "locals": "local"}
"""How a kind of block is called where something refers to it."""


def _labels(block: Node) -> list[Node]:
    """The labels of a block, without their quotes."""
    found = []
    for label in block.named_children[1:]:
        if label.type == "string_lit":
            text = child(label, "template_literal")
            if text is not None:
                found.append(text)
        elif label.type == "identifier":
            found.append(label)
        else:
            break
    return found


def _is_outermost(node: Node) -> bool:
    body = node.parent
    return body is not None and (body.parent is None or body.parent.type == "config_file")


def _block(captures: Captures) -> Iterator[tuple[str, Captures]]:
    block = captures["def"][0]
    word = child(block, "identifier")
    if word is None or not _is_outermost(block):
        return
    kind = (word.text or b"").decode("utf-8", "replace")
    if kind == "locals":
        body = child(block, "body")
        for attribute in body.named_children if body is not None else ():
            name = child(attribute, "identifier") if attribute.type == "attribute" else None
            if name is not None:
                yield "variable", {"def": [attribute], "name": [name], "owner": [word]}
        return
    labels = _labels(block)
    if not labels:
        return
    # A resource is known by its type alone, everything else by the kind of its block too.
    first = labels[0] if kind == "resource" and len(labels) > 1 else word
    owner = extent(first.start_byte, labels[-2].end_byte if len(labels) > 1 else first.end_byte)
    brace = child(block, "block_start")
    body_of = {"body": [brace]} if brace is not None else {}
    yield _KINDS.get(kind, "resource"), {"def": [block], "name": [labels[-1]], "owner": [owner], **body_of}


def _value(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """A file of values has only attributes."""
    attribute = captures["def"][0]
    name = child(attribute, "identifier")
    if name is not None and _is_outermost(attribute):
        yield "variable", {"def": [attribute], "name": [name]}


_WORDS = re.compile(r"[\w-]+")


def _refine(found: Found, text: bytes) -> Found | None:
    """`data "aws_ami` is the address data.aws_ami."""
    if found.owner:
        words = _WORDS.findall(found.owner)
        found.owner = ".".join([_ADDRESS.get(words[0], words[0]), *words[1:]]) if words else ""
    return found


_DEFINITIONS = DefinitionRules(
    patterns=((_block, "(block) @def"), (_value, "(attribute) @def"), (COMMENT, "(comment) @def")),
    leads=frozenset({"comment"}),
    contains_nothing=frozenset({"resource", "variable", "module"}),
    refine=_refine,
)


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found = []
    for node in nodes:
        word, body = child(node, "identifier"), child(node, "body")
        if word is None or body is None or cut(word, text) != "module":
            continue
        for attribute in body.named_children:
            name = child(attribute, "identifier") if attribute.type == "attribute" else None
            if name is not None and cut(name, text) == "source" and attribute.named_child_count == 2:
                spec = cut(attribute.named_children[1], text)
                if spec[:1] == '"' and "$" not in spec:
                    labels = _labels(node)
                    names = (cut(labels[0], text),) if labels else ()
                    found.append(Import(spec.strip('"'), names, line_of(attribute), "import"))
    return found


_IMPORTS = ImportRules(
    words=(b"source",),
    query="(block) @import",
    read=_read_imports,
    line_comments=(b"#", b"//"),
    common=True,
)


class TerraformResolver:
    def __init__(self, tree: Tree) -> None:
        self._folders: dict[str, list[str]] = {}
        for path in tree.paths_of("terraform"):
            if path.endswith(".tf"):
                self._folders.setdefault(folder_of(path), []).append(path)
        self._answers: dict[str, tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        if not found.spec.startswith(("./", "../")):
            return ()
        folder = joined(folder_of(path), found.spec)
        if folder is None:
            return ()
        answer = self._answers.get(folder)
        if answer is None:
            answer = self._answers[folder] = split(self._folders.get(folder, ()))
        return answer


_OCCURRENCES = OccurrenceRules(
    names="identifier",
    places="""
    label: attribute block
    call: function_call
    member: get_attr
    """,
)


LANGUAGES = (
    Language(
        name="terraform",
        extensions=("tf", "tfvars", "hcl"),
        aliases=("tf", "hcl"),
        grammar=("tree_sitter_hcl", "language"),
        optional=True,
        sigil="µ",
        ast_grep="hcl",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="terraform",
        resolver=TerraformResolver,
    ),
)
