"""kotlin: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "kotlin": Sample(
        source="""
package a.b

@Entity("x")
data class Shape(val a: Int) : Base() {
    val size: Int = 1
    private fun hidden(a: Map<String, Int> = mapOf("}" to 1)): Int { return 1 }
    fun short() = 1
    companion object {
        const val LIMIT = 1
        fun make() {}
    }
    constructor(a: String) : this(1) {}
}
interface Visitor {
    fun visit()
}
enum class Kind {
    A,
    B;
    fun label() {}
}
object Registry {
    fun add() {}
}
fun String.shout(a: Int): Int = 1
fun <T> List<T>?.second() {}
val top = 1
typealias Names = List<String>
""",
        definitions="""
class Shape
field Shape.a
field Shape.size
-method Shape.hidden
method Shape.short
constant Shape.LIMIT
method Shape.make
constructor Shape.constructor
interface Visitor
method Visitor.visit
enum Kind
enumerator Kind.A
enumerator Kind.B
method Kind.label
module Registry
method Registry.add
method String.shout
method List.second
variable top
type Names
""",
        signatures={
            "hidden": 'private fun hidden(a: Map<String, Int> = mapOf("}" to 1)): Int',
            "second": "fun <T> List<T>?.second()",
        },
        others=[
            ("val a = 1\nclass B { val c = 2\n fun d() { val e = 3 } }\n", ["variable a", "class B", "field c", "method d"]),
        ],
        imports=[
            (
                "package a\nimport b.C\nimport b.*\nimport b.d as e\n"
                "class X\nfun String.f() {}\nval v = 1\ntypealias T = Int\n",
                [
                    ("a", ("X", "f", "v", "T"), "package"),
                    ("b.C", ("C",), "import"),
                    ("b", ("*",), "import"),
                    ("b.d", ("d",), "import"),
                ],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_kotlin_functions_are_found_where_they_are_declared_and_see_java() -> None:
    files = {
        "k/text.kt": "package a.text\nfun String.shout() = this\nval limit = 1\n",
        "k/other.kt": "package a.text\nclass Other\n",
        "j/Old.java": "package a.old; class Old {}",
        "use.kt": "package u\nimport a.text.shout\nimport a.text.limit as l\nimport a.old.Old\nimport a.text.gone\n",
    }
    assert leads(files, "use.kt") == {"k/text.kt": 1, "j/Old.java": 1}


def test_a_name_that_nobody_declares_may_be_in_a_file_that_is_broken() -> None:
    files = {
        "k/fine.kt": "package a\nclass Fine\n",
        "k/Broken.kt": "package a\nclass One {\n  fun f() = ((\n",
        "use.kt": "package u\nimport a.Hidden\nimport a.Fine\nimport b.Hidden\n",
        "Old.java": "package o; import a.BrokenKt;",
    }
    assert leads(files, "use.kt") == {"k/fine.kt": 1, "k/Broken.kt": 0.5}
    assert leads(files, "Old.java") == {"k/Broken.kt": 1}
    del files["k/Broken.kt"]
    assert leads(files, "use.kt") == {"k/fine.kt": 1}
