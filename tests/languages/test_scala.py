"""scala: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "scala": Sample(
        source="""
package a.b

@tag sealed trait Shape[A] extends Base {
  def area(a: Int): Int
  val size = 1
  private def hidden = 2
  type Unit = Int
}
case class Point(a: Int) {
  def norm: Int = { val local = 1; local }
}
object Registry {
  def add() =
    1

  /** words of remove */
  def remove(a: Int) = 1
  implicit val ordering: Int = 3
}
given ord: Ord[Int] with { def compare = 1 }
enum Color { case Red, Green }
class Box(val a: Int, b: Int)
extension (s: String) def shout: Int = 1
def top(a: Int) = 1
""",
        definitions="""
trait Shape
method Shape.area
field Shape.size
-method Shape.hidden
type Shape.Unit
class Point
field Point.a
method Point.norm
module Registry
method Registry.add
method Registry.remove
field Registry.ordering
variable ord
function ord.compare
enum Color
enumerator Color.Red
enumerator Color.Green
class Box
field Box.a
method String.shout
function top
""",
        signatures={
            "norm": "def norm: Int",
        },
        others=[
            ("trait A { val a, b: Int\n def f = { val c = 1 } }\n", ["trait A", "field a", "field b", "method f"]),
        ],
        imports=[
            (
                "package a.b\npackage c\nimport x.{Y, Z => W, _}\nimport p.q, r.S\nclass K",
                [
                    ("a.b", ("K",), "package"),
                    ("a.b.c", ("K",), "package"),
                    ("x.Y", ("Y",), "import"),
                    ("x.Z", ("Z",), "import"),
                    ("x", ("*",), "import"),
                    ("p.q", ("q",), "import"),
                    ("r.S", ("S",), "import"),
                ],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_scala_imports_may_begin_in_the_packages_around() -> None:
    files = {
        "a.scala": "package lib.core\nclass A\nobject B { val x = 1 }\n",
        "p.scala": "package lib\npackage object util { def f = 1 }\n",
        "use.scala": "package lib.app\nimport core.A\nimport core.B._\nimport util.f\nimport _root_.lib.core.{A => C}\n",
    }
    assert leads(files, "use.scala") == {"a.scala": 1, "p.scala": 1}
