"""bash: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check

SAMPLES = {
    "bash": Sample(
        source="""
#!/bin/bash
LIMIT=10
readonly name=x
build() {
  local inner=1
}
function _clean { echo; }
""",
        definitions="""
constant LIMIT
variable name
function build
-function _clean
""",
        signatures={
            "build": "build()",
        },
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)
