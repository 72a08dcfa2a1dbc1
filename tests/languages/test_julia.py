"""Julia: functions in both forms, types, and modules by name."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "julia": Sample(
        source='''
module Geo
# words
using LinearAlgebra, Statistics
import Base: show, length
import JSON
using .Inner: a, b
include("util.jl")
export area
"""
Doc words.
"""
const LIMIT = 10
global count = 0
abstract type Shape end
primitive type Byte 8 end
struct Circle{T} <: Shape
    radius::T
    name
    Circle(r) = new(r, "x")
end
mutable struct Box
    w::Int
end
function area(c::Circle{T}, x=1; k=2) where T
    local y = 1
    return 1
end
area(b::Box) = b.w
Base.show(io::IO, c::Circle) = print(io)
macro twice(ex)
    ex
end
baremodule Bare end
@enum Color red green
f = x -> x
end
''',
        definitions="""
module Geo
constant Geo.LIMIT
variable Geo.count
type Geo.Shape
type Geo.Byte
struct Geo.Circle
field Geo.Circle.radius
field Geo.Circle.name
constructor Geo.Circle.Circle
struct Geo.Box
field Geo.Box.w
function Geo.area
function Geo.area
function Geo.Base.show
macro Geo.twice
module Geo.Bare
enum Geo.Color
enumerator Geo.Color.red
enumerator Geo.Color.green
variable Geo.f
""",
        signatures={
            "twice": "macro twice(ex)",
            "LIMIT": "const LIMIT = 10",
            "show": "Base.show(io::IO, c::Circle)",
        },
        imports=[
            (
                "using LinearAlgebra, Statistics\nimport Base: show, length\nimport JSON\nusing .Inner: a, b\n"
                'include("util.jl")\n# include("no.jl")\n',
                [
                    ("LinearAlgebra", (), "import"),
                    ("Statistics", (), "import"),
                    ("Base", ("show", "length"), "import"),
                    ("JSON", (), "import"),
                    (".Inner", ("a", "b"), "import"),
                    ("util.jl", (), "include"),
                ],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_included_files_packages_and_modules() -> None:
    files = {
        "src/Geo.jl": 'module Geo\ninclude("shapes/circle.jl")\nusing .Inner\nusing LinearAlgebra\nend\n',
        "src/shapes/circle.jl": "",
        "src/Inner.jl": "",
        "test/runtests.jl": "using Geo\nusing Test\n",
    }
    assert leads(files, "src/Geo.jl") == {"src/shapes/circle.jl": 1, "src/Inner.jl": 1}
    assert leads(files, "test/runtests.jl") == {"src/Geo.jl": 1}
