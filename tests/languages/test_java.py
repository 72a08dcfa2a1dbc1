"""java: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "java": Sample(
        source="""
package a.b;

@Entity(name = "x(")
public class Shape<T> extends Base {
    public static final int LIMIT = 10;
    private String name, title;
    public Shape(int a) {}
    @Override
    @Named("a")
    public <R> List<R> area(int a) throws IOException { return null; }
    private void hidden() {}
    enum Kind { A, B }
    interface Visitor { void visit(Shape s); }
}

record Point(int x, int y) { Point { check(); } }
@interface Marker { String value() default "x"; }
""",
        definitions="""
class Shape
constant Shape.LIMIT
-field Shape.name
-field Shape.title
constructor Shape.Shape
method Shape.area
-method Shape.hidden
enum Shape.Kind
enumerator Shape.Kind.A
enumerator Shape.Kind.B
interface Shape.Visitor
method Shape.Visitor.visit
class Point
field Point.x
field Point.y
constructor Point.Point
interface Marker
method Marker.value
""",
        signatures={
            "area": "public <R> List<R> area(int a) throws IOException",
            "Marker": "@interface Marker",
        },
        imports=[
            (
                "package a.b; import c.D; import c.*; import static c.D.e; class X {} interface Y {}",
                [("a.b", ("X", "Y"), "package"), ("c.D", ("D",), "import"), ("c", ("*",), "import"), ("c.D", ("e",), "static")],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_java_classes_packages_and_statics() -> None:
    files = {
        "m/src/a/b/C.java": "package a.b; public class C { static class D {} } class Helper {}",
        "m/src/a/b/E.java": "package a.b; class E {}",
        "m/src/x/U.java": "package x; import a.b.C; import a.b.Helper; import java.util.List;",
        "m/src/x/V.java": "package x; import static a.b.C.D; import a.b.C.D;",
        "m/src/x/W.java": "package x; import a.b.*; import a.b.Gone;",
    }
    assert leads(files, "m/src/x/U.java") == {"m/src/a/b/C.java": 1}
    assert leads(files, "m/src/x/V.java") == {"m/src/a/b/C.java": 1}
    assert leads(files, "m/src/x/W.java") == {"m/src/a/b/C.java": 0.5, "m/src/a/b/E.java": 0.5}


def test_of_two_classes_with_one_name_the_nearer_is_taken() -> None:
    files = {f"{module}/src/a/C.java": "package a; class C {}" for module in ("one", "two")}
    files |= {"one/src/b/U.java": "package b; import a.C;", "three/U.java": "package c; import a.C;"}
    assert leads(files, "one/src/b/U.java") == {"one/src/a/C.java": 0.8}
    assert leads(files, "three/U.java") == {"one/src/a/C.java": 0.5, "two/src/a/C.java": 0.5}
