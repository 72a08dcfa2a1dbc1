"""c: definitions, imports, and where they lead."""

from __future__ import annotations

import json

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "c": Sample(
        source="""
#ifndef SHAPE_H
#define SHAPE_H
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LIMIT 10
typedef struct shape { int a; } shape_t;
typedef struct { int a; } point_t;
typedef int (*callback)(int);
struct node { struct node *next; int a[3], b : 1; int (*visit)(int); };
enum color { RED, GREEN = 2 };
union value { int i; };
int declared(struct node *n);
char **matrix(void) { return 0; }
static int hidden(int a) { int local = 1; return local; }
int counter = 0;
static const char *names[] = {"a"};
#endif
""",
        definitions="""
macro MAX
constant LIMIT
type shape_t
struct shape
field shape.a
struct point_t
field point_t.a
type callback
struct node
field node.next
field node.a
field node.b
field node.visit
enum color
enumerator color.RED
enumerator color.GREEN
struct value
field value.i
function declared
function matrix
-function hidden
variable counter
-variable names
""",
        signatures={
            "matrix": "char **matrix(void)",
            "MAX": "#define MAX(a, b)",
        },
        others=[
            ("int *table[3], count = 1, area(void);\n", ["function area", "variable count", "variable table"]),
            ("char *a(void), **b(void);\nvoid f(void) { int local; }\n", ["function a", "function b", "function f"]),
            ("struct used *shape;\nenum used level(struct used s);\n", ["variable shape", "function level"]),
            ("typedef struct { int x; } A, *B, C[2];\n", ["struct A", "type B", "type C", "field x"]),
            ("typedef int (*F)(int);\ntypedef union u { int x; } U;\n", ["type F", "type U", "struct u", "field x"]),
        ],
        imports=[
            (
                '#include "x.h"\n#ifdef A\n# include <y/z.h>\n#endif\n#include MACRO\n',
                [("x.h", (), "quote"), ("y/z.h", (), "angle")],
            ),
        ],
    ),
    "cpp": Sample(
        source="""
namespace geo::flat {
class Shape : public Base {
 public:
  Shape();
  ~Shape() {}
  virtual double area(int x) const = 0;
  static int count();
  bool operator==(const Shape& other) const;
};
template <typename T> struct Box { T get() { return v; } T v; };
enum class Color { Red };
using Name = std::string;
template <typename T> concept Small = true;
}
int geo::Shape::area(int x) { return 1; }
Shape::Shape() : x(1) {}
template <typename T> T& Box<std::vector<T>>::get() { return v; }
bool operator<(Shape a, Shape b) { return true; }
class API_EXPORT Exported { void run() {} };
static int hidden() { return 1; }
constexpr int LIMIT = 1;
#define SQUARE(x) ((x) * (x))
""",
        definitions="""
module geo.flat
class geo.flat.Shape
constructor geo.flat.Shape.Shape
method geo.flat.Shape.~Shape
method geo.flat.Shape.area
method geo.flat.Shape.count
method geo.flat.Shape.operator==
struct geo.flat.Box
method geo.flat.Box.get
field geo.flat.Box.v
enum geo.flat.Color
enumerator geo.flat.Color.Red
type geo.flat.Name
type geo.flat.Small
method geo.Shape.area
constructor Shape.Shape
method Box.get
function operator<
class Exported
method Exported.run
-function hidden
constant LIMIT
macro SQUARE
""",
        signatures={
            "Box": "template <typename T> struct Box",
        },
        others=[
            ("class API Widget { int size; };\nint &size();\n", ["class Widget", "function size"]),
            ("struct S { struct T *t; virtual int &f() = 0; int g; };\n", ["struct S", "field t", "method f", "field g"]),
        ],
        imports=[
            ('extern "C" {\n#include "b.h"\n}\n#include_next <n.h>\n', [("b.h", (), "quote"), ("n.h", (), "angle")]),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_includes_beside_the_file_then_along_inferred_paths() -> None:
    files = {
        "src/net/a.c": '#include "a.h"\n#include "util.h"\n#include <lib/api.h>\n#include <stdio.h>\n#include "../top.h"\n'
        '#include "deep/only.h"\n',
        "src/net/a.h": "",
        "src/util.h": "",
        "include/lib/api.h": "",
        "compat/stdio.h": "",
        "src/top.h": "",
        "x/y/deep/only.h": "",
        "tests/a.h": "",
        "tests/t.c": '#include "a.h"\n#include "util.h"\n#include "gone.h"\n',
    }
    wanted = {"src/net/a.h": 1, "src/util.h": 1, "include/lib/api.h": 1, "src/top.h": 1, "x/y/deep/only.h": 0.7}
    assert leads(files, "src/net/a.c") == wanted
    assert leads(files, "tests/t.c") == {"tests/a.h": 1, "src/util.h": 1}


def test_of_several_headers_the_nearest_is_taken_with_less_confidence() -> None:
    files = {
        "a/src/x.c": '#include "config.h"',
        "a/include/config.h": "",
        "b/include/config.h": "",
        "c.c": "#include <config.h>",
    }
    assert leads(files, "a/src/x.c") == {"a/include/config.h": 0.8}
    assert leads(files, "c.c") == {"a/include/config.h": 0.4, "b/include/config.h": 0.4}


def test_a_compilation_database_decides() -> None:
    commands = [{"directory": "/home/me/proj/build", "file": "../b/x.c", "command": "cc -I../odd -I /usr/include -c ../b/x.c"}]
    files = {"b/x.c": "#include <h.h>", "include/h.h": "", "odd/h.h": "", "compile_commands.json": json.dumps(commands)}
    files["compile_commands.json"] = (
        files["compile_commands.json"].replace("../b/x.c", "/home/me/proj/b/x.c").replace("../odd", "/home/me/proj/odd")
    )
    assert leads(files, "b/x.c") == {"odd/h.h": 1}
    for broken in ("", "{", "{}", "[1, {}]", '[{"file": 1}]', '[{"file": "/b/x.c", "directory": "/", "command": "\'"}]'):
        files["compile_commands.json"] = broken
        assert leads(files, "b/x.c") == {"include/h.h": 0.8}
