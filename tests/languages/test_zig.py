"""zig: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check

SAMPLES = {
    "zig": Sample(
        source="""
const std = @import("std");
/// words
pub const Shape = struct {
    a: u32,
    const limit = 1;
    pub fn init(a: u32) Shape { return .{ .a = a }; }
    fn hidden() void {}
};
const Kind = enum { a };
const Value = union(enum) { a: u32 };
pub const Failure = error{A};
pub var count: u32 = 1;
pub fn main() !void { const Local = struct { fn deep() void {} }; }
""",
        definitions="""
struct Shape
field Shape.a
-constant Shape.limit
method Shape.init
-method Shape.hidden
-enum Kind
enumerator Kind.a
-struct Value
field Value.a
enum Failure
enumerator Failure.A
variable count
function main
-struct main.Local
-method main.Local.deep
""",
        signatures={
            "init": "pub fn init(a: u32) Shape",
        },
        others=[
            (
                "fn f() void { const x = g(struct {}); const T = struct { const y = 2; }; }\n",
                ["function f", "struct T", "constant y"],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)
