"""Dart: bodies that are siblings of signatures, variables without a node, packages by their pubspec."""

from __future__ import annotations

from lurcher.chunking.code import parse
from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "dart": Sample(
        source="""
library app.core;
import 'dart:async';
import 'package:app/src/util.dart' as util show a, b;
import '../x.dart' deferred as x hide y;
export 'src/public.dart';
part 'model.g.dart';
part of 'other.dart';

/// Words.
const int limit = 10;
final String _name = 'x';
var a = 1, b = 2;
typedef Callback = void Function(int a);
enum Color { red, green; int get value => 1; }
abstract class Shape<T> extends Base with Mix implements I {
  static const int sides = 4;
  final String name;
  int? _hidden, other;
  Shape(this.name);
  Shape.named(this.name) : super();
  factory Shape.make() => Circle();
  double area(int x);
  @override
  Future<void> run() async { var local = 1; }
  int get size => 1;
  set size(int v) {}
  static Shape of(String s) { return null; }
  bool operator ==(Object o) => true;
}
mixin Walk on Shape { void walk() {} }
extension Ext on String { int twice() => 2; }
extension type Id(int value) { }
void main(List<String> args) { print('x'); }
int get top => 1;
""",
        definitions="""
constant limit
-variable _name
variable a
variable b
type Callback
enum Color
enumerator Color.red
enumerator Color.green
method Color.value
class Shape
field Shape.sides
field Shape.name
-field Shape._hidden
field Shape.other
constructor Shape.Shape
constructor Shape.named
constructor Shape.make
method Shape.area
method Shape.run
method Shape.size
method Shape.size
method Shape.of
method Shape.==
trait Walk
method Walk.walk
extension Ext
method Ext.twice
type Id
function main
function top
""",
        signatures={
            "main": "void main(List<String> args)",
            "run": "Future<void> run()",
            "make": "factory Shape.make()",
            "Callback": "typedef Callback = void Function(int a)",
        },
        imports=[
            (
                "import 'dart:async';\nimport 'package:app/src/util.dart' as util show a, b;\n"
                "import '../x.dart' deferred as x hide y;\n"
                "export 'src/public.dart';\npart 'model.g.dart';\npart of 'other.dart';\n// import 'no.dart';\n",
                [
                    ("dart:async", (), "import"),
                    ("package:app/src/util.dart", ("a", "b"), "import"),
                    ("../x.dart", (), "import"),
                    ("src/public.dart", (), "export"),
                    ("model.g.dart", (), "include"),
                ],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_relative_files_and_packages() -> None:
    files = {
        "pubspec.yaml": "name: app\n",
        "lib/a.dart": "import 'src/b.dart';\nimport 'package:app/src/c.dart';\nimport 'package:other/x.dart';\n",
        "lib/src/b.dart": "",
        "lib/src/c.dart": "part '../p.dart';\n",
        "lib/p.dart": "",
        "tool/pubspec.yaml": "name: 'tool'\n",
        "tool/lib/t.dart": "import 'package:app/a.dart';\n",
    }
    assert leads(files, "lib/a.dart") == {"lib/src/b.dart": 1, "lib/src/c.dart": 1}
    assert leads(files, "lib/src/c.dart") == {"lib/p.dart": 1}
    assert leads(files, "tool/lib/t.dart") == {"lib/a.dart": 1}


def test_a_function_reaches_to_the_end_of_its_body() -> None:
    source = "class A {\n  @override\n  int f() {\n    return 1;\n  }\n}\n"
    (function,) = [entry for entry in parse(source.encode(), "dart").definitions if entry.name == "f"]
    assert (function.start_line, function.end_line) == (2, 5)
