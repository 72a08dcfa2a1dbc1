"""Vue and Svelte: what their scripts define, on the lines on which they stand."""

from __future__ import annotations

import time

import pytest

from lurcher.chunking.code import parse
from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "vue": Sample(
        source="""
<template>
  <div @click="go">{{ title }}</div>
</template>

<script lang="ts">
import { ref } from 'vue'
import Button from './Button.vue'
// words
export default { name: 'Card' }
export function area(x: number): number { return x }
</script>

<script setup lang="ts">
const title = ref('x')
function go() { return 1 }
</script>

<style scoped>
.a { color: red; }
</style>
""",
        definitions="""
function area
variable title
function go
""",
        signatures={
            "area": "export function area(x: number): number",
            "go": "function go()",
        },
        imports=[
            (
                "<script>\nimport { ref } from 'vue'\nimport Button from './Button.vue'\n</script>\n",
                [("vue", ("ref",), "import"), ("./Button.vue", ("default",), "import")],
            ),
        ],
    ),
    "svelte": Sample(
        source="""
<script context="module">
  export const LIMIT = 10;
</script>
<!-- <script>const hidden = 1</script> -->
<script>
  import Button from './Button.svelte';
  export let name;
  function greet() { return name; }
</script>

<h1 on:click={greet}>{name}</h1>
""",
        definitions="""
constant LIMIT
variable name
function greet
""",
        signatures={
            "greet": "function greet()",
            "LIMIT": "export const LIMIT = 10",
        },
        imports=[
            ("<script>\n  import Button from './Button.svelte';\n</script>\n", [("./Button.svelte", ("default",), "import")]),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_definitions_and_imports_have_the_line_numbers_of_the_file() -> None:
    for language, sample in SAMPLES.items():
        text = sample.source.encode()
        found = parse(text, language)
        lines = sample.source.split("\n")
        for entry in found.definitions:
            assert entry.name in lines[entry.start_line - 1]
            assert text[entry.start_byte : entry.end_byte].decode().split("\n")[0] in lines[entry.start_line - 1]
        for imported in found.imports:
            assert imported.spec in lines[imported.line - 1]
        assert b"".join(text[chunk.start_byte : chunk.end_byte] for chunk in found.chunks) == text
        assert [chunk.start_line for chunk in found.chunks] == [
            text.count(b"\n", 0, chunk.start_byte) + 1 for chunk in found.chunks
        ]


def test_components_and_modules_import_each_other() -> None:
    files = {
        "src/App.vue": "<script setup lang=\"ts\">\nimport Card from './Card.vue'\nimport { go } from './go'\n</script>\n",
        "src/Card.vue": "<template/>\n",
        "src/go.ts": "import App from './App.vue'\n",
        "src/Page.svelte": "<script>\nimport './Part.svelte'\n</script>\n",
        "src/Part.svelte": "",
    }
    assert leads(files, "src/App.vue") == {"src/Card.vue": 1, "src/go.ts": 1}
    assert leads(files, "src/go.ts") == {"src/App.vue": 1}
    assert leads(files, "src/Page.svelte") == {"src/Part.svelte": 1}


@pytest.mark.parametrize(
    "text",
    [b"<script>", b"<script", b"<script>x = 1", b"<!-- <script>", b"</script><script></script>", b"<script lang='",
     b"<script/>", b"<script>\n</script>", b"<script>a = 1</script><script>b = 2</script>", b"\xff<script>\xff</script>\xff"],
)  # fmt: skip
def test_damaged_markup_is_cut_whole(text: bytes) -> None:
    found = parse(text, "vue")
    assert b"".join(text[chunk.start_byte : chunk.end_byte] for chunk in found.chunks) == text


@pytest.mark.parametrize("piece", [b"<script ", b"<script>", b'<script a="', b"<!--", b"<script></script>", b"<script>\n"])
def test_markup_that_never_ends_takes_no_time(piece: bytes) -> None:
    begun = time.process_time()
    parse(piece * (900_000 // len(piece)), "vue")
    assert time.process_time() - begun < 2


def test_scripts_on_one_line_are_cut_once() -> None:
    text = b"<script>const a = 1</script> <script>const b = 2</script>\n<p>text</p>\n<script>const c = 3</script>"
    parsed = parse(text, "svelte", 40)
    spans = [(span.start_byte, span.end_byte) for span in parsed.chunks]
    assert spans[0][0] == 0 and spans[-1][1] == len(text)
    assert all(first < last for first, last in spans)
    assert [last for _, last in spans[:-1]] == [first for first, _ in spans[1:]]
