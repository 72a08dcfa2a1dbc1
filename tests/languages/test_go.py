"""go: definitions, imports, and where they lead."""

from __future__ import annotations

import pytest

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "go": Sample(
        source="""
package main

const Limit = 10
const low, High = 1, 2

var (
	first, second int
	_ Reader = (*Tree[int])(nil)
)

type Tree[K any] struct {
	root *K
	Left, Right struct{ depth int }
	Base
}

type Reader interface {
	Read(p []byte) (int, error)
}

type (
	ID    = string
	names []string
)

func (t *Tree[K]) Insert(key K) bool { return true }
func (Tree[K]) size() int { return 0 }
func main() {}
""",
        definitions="""
constant Limit
constant High
-constant low
-variable first
-variable second
struct Tree
-field Tree.root
field Tree.Left
field Tree.Right
-field Tree.Left.depth
interface Reader
method Reader.Read
type ID
-type names
method Tree.Insert
-method Tree.size
-function main
""",
        signatures={
            "Insert": "func (t *Tree[K]) Insert(key K) bool",
            "Tree": "type Tree[K any] struct",
        },
        others=[
            ("package x\nconst t,err\nvar a, b = 1, 2\n", ["constant err", "constant t", "variable a", "variable b"]),
        ],
        imports=[
            (
                'package p\nimport "a"\nimport (\n\tb "x/b"\n\t. "y"\n\t`r`\n)',
                [("a", (), "import"), ("x/b", (), "import"), ("y", ("*",), "import"), ("r", (), "import")],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_go_packages_are_the_files_of_a_folder() -> None:
    files = {
        "go.mod": "module example.com/app // the app\n\ngo 1.22\nreplace (\n\texample.com/fork v1.0.0 => ./third/fork\n)\n",
        "main.go": 'package main\nimport (\n\t"fmt"\n\t"example.com/app/util"\n)\n'
        'import "example.com/fork"\nimport "example.com/app/tool"\nimport "example.com/apple"',
        "util/a.go": "package util",
        "util/b.go": "package util",
        "util/a_test.go": "package util",
        "util/sub/c.go": "package sub",
        "third/fork/go.mod": "module example.com/fork",
        "third/fork/f.go": "package fork",
        "tool/go.mod": "module example.com/app/tool",
        "tool/t.go": 'package tool\nimport "example.com/app"',
        "vendor/gone.org/x/x.go": "package x",
        "util/v.go": 'package util\nimport "gone.org/x"',
    }
    third = round(1 / 3, 3)
    assert leads(files, "main.go") == {
        "util/a.go": third,
        "util/b.go": third,
        "util/v.go": third,
        "third/fork/f.go": 1,
        "tool/t.go": 1,
    }
    assert leads(files, "tool/t.go") == {"main.go": 1}
    assert leads(files, "util/v.go") == {"vendor/gone.org/x/x.go": 1}


@pytest.mark.parametrize(
    "broken", ["", "module", "module (", "replace =>", "replace a => ../../..", "\0", "module \nmodule \n("]
)
def test_a_broken_go_mod_changes_nothing(broken: str) -> None:
    assert leads({"go.mod": broken, "a.go": 'package a\nimport "x/b"\nimport "./b"', "b/b.go": "package b"}, "a.go") == {
        "b/b.go": 1
    }
