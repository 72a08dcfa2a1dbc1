"""swift: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "swift": Sample(
        source="""
/// words
@objc public final class Shape: Base {
    private let size: Int = 1
    public var name: String { return "" }
    public init(a: Int) { }
    @discardableResult static func make<T>(a: T) -> Int where T: P { return 1 }
    fileprivate func hidden() {}
}
struct Point { }
enum Kind { case a, b; case c(x: Int); func label() {} }
protocol Drawable { func draw(); var z: Int { get } }
extension Shape: Drawable { func draw() {} }
typealias Name = String
func top() {}
let limit = 1
actor Worker {}
""",
        definitions="""
class Shape
-field Shape.size
field Shape.name
constructor Shape.init
method Shape.make
-method Shape.hidden
struct Point
enum Kind
enumerator Kind.a
enumerator Kind.b
enumerator Kind.c
method Kind.label
interface Drawable
method Drawable.draw
field Drawable.z
method Shape.draw
type Name
function top
variable limit
class Worker
""",
        signatures={
            "make": "static func make<T>(a: T) -> Int where T: P",
        },
        others=[
            ("let a = 1, b = 2\nfunc f() -> Int { let c = 1 }\n", ["variable a", "variable b", "function f"]),
        ],
        imports=[
            (
                "import Foo\n@testable import Bar\nimport struct Baz.Qux\n",
                [("Foo", (), "import"), ("Bar", (), "import"), ("Baz", ("Qux",), "import")],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_swift_modules_are_targets() -> None:
    targets = '.target(name: "Core"), .target(name: "Odd", path: "Else/Where"), .testTarget(name: "T")'
    package = f'let package = Package(name: "P", targets: [{targets}])'
    files = {
        "Package.swift": package,
        "Sources/Core/a.swift": "import Odd\nimport Foundation",
        "Sources/Core/in/b.swift": "",
        "Else/Where/c.swift": "",
        "Tests/T/t.swift": "@testable import Core",
    }
    assert leads(files, "Tests/T/t.swift") == {"Sources/Core/a.swift": 0.5, "Sources/Core/in/b.swift": 0.5}
    assert leads(files, "Sources/Core/a.swift") == {"Else/Where/c.swift": 1}
    files["Package.swift"] = "let package = Package((((("
    assert leads(files, "Tests/T/t.swift") == {"Sources/Core/a.swift": 0.5, "Sources/Core/in/b.swift": 0.5}
