"""csharp: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "csharp": Sample(
        source="""
using System;
namespace Geo.Flat
{
    [Serializable]
    public class Shape : Base
    {
        public const int Limit = 2;
        private int x = 1;
        public string Name { get; set; }
        public event EventHandler Changed;
        public Shape(int a) { }
        [Fact(Skip = "]")] public async Task<int> Run<T>(int a) where T : class => 1;
        private void Hidden() { int Local() { return 1; } }
    }
    public interface IShape { void Draw(); }
    public enum Kind { A }
    public struct Point { }
    public record Pair(int A);
    public delegate void Handler(int a);
}
""",
        definitions="""
module Geo.Flat
class Geo.Flat.Shape
constant Geo.Flat.Shape.Limit
-field Geo.Flat.Shape.x
field Geo.Flat.Shape.Name
field Geo.Flat.Shape.Changed
constructor Geo.Flat.Shape.Shape
method Geo.Flat.Shape.Run
-method Geo.Flat.Shape.Hidden
function Geo.Flat.Shape.Hidden.Local
interface Geo.Flat.IShape
method Geo.Flat.IShape.Draw
enum Geo.Flat.Kind
enumerator Geo.Flat.Kind.A
struct Geo.Flat.Point
class Geo.Flat.Pair
field Geo.Flat.Pair.A
type Geo.Flat.Handler
""",
        signatures={
            "Run": "public async Task<int> Run<T>(int a) where T : class",
            "Name": "public string Name",
        },
        others=[
            ("class A { int width, height; }\n", ["class A", "field height", "field width"]),
        ],
        imports=[
            (
                "using A; using static B.C; using X = D.E<int>; namespace N.M { class T {} namespace O { struct S {} } }",
                [
                    ("A", (), "using"),
                    ("B.C", (), "static"),
                    ("D.E", (), "alias"),
                    ("N.M", ("T",), "package"),
                    ("N.M.O", ("S",), "package"),
                ],
            ),
            ("namespace N; using (var x = y) {} class T {}", [("N", ("T",), "package")]),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_csharp_namespaces_and_types() -> None:
    files = {
        "A.cs": "namespace N.M { public class A {} }",
        "B.cs": "namespace N.M; struct B {}",
        "E.cs": "namespace N.M.Empty {}",
        "U.cs": "using N.M; using System; using N;",
        "S.cs": "using static N.M.A; using Z = N.M.B; using Y = N.Gone;",
    }
    assert leads(files, "U.cs") == {"A.cs": 0.5, "B.cs": 0.5}
    assert leads(files, "S.cs") == {"A.cs": 1, "B.cs": 1}
