"""php: definitions, imports, and where they lead."""

from __future__ import annotations

import json

import pytest

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "php": Sample(
        source="""
<?php
namespace Geo\\Flat;

/** words */
#[Entity('x')]
final class Shape extends Base {
    const LIMIT = 1;
    private int $size = 1;
    public function __construct(private int $a) {}
    abstract protected static function area(): int;
    private function hidden() {}
}
interface Drawable { public function draw(); }
trait Colored {}
enum Kind: string { case A = 'a'; }
function top(int $a) { }
const ZERO = 0;
define('ONE', 1);
""",
        definitions="""
module Geo.Flat
class Geo.Flat.Shape
constant Geo.Flat.Shape.LIMIT
-field Geo.Flat.Shape.size
constructor Geo.Flat.Shape.__construct
-field Geo.Flat.Shape.a
method Geo.Flat.Shape.area
-method Geo.Flat.Shape.hidden
interface Geo.Flat.Drawable
method Geo.Flat.Drawable.draw
trait Geo.Flat.Colored
enum Geo.Flat.Kind
enumerator Geo.Flat.Kind.A
function Geo.Flat.top
constant Geo.Flat.ZERO
constant Geo.Flat.ONE
""",
        signatures={
            "Shape": "final class Shape extends Base",
        },
        imports=[
            (
                "<?php namespace A; use B\\C; use D\\{E, F\\G as H}; use function I\\j; class K { use L; }",
                [
                    ("A", ("K",), "package"),
                    ("B\\C", ("C",), "use"),
                    ("D\\E", ("E",), "use"),
                    ("D\\F\\G", ("G",), "use"),
                    ("I\\j", ("j",), "function"),
                ],
            ),
            (
                "<?php require 'a.php'; include_once(__DIR__ . '/b.php'); require $x;",
                [("a.php", (), "include"), ("/b.php", (), "here")],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_php_by_composer_then_by_declaration() -> None:
    composer = {
        "autoload": {"psr-4": {"App\\": "src/", "App\\Deep\\": ["deep"]}, "psr-0": {"Old\\": "old"}},
        "autoload-dev": {"psr-4": {"T\\": "t"}},
    }
    files = {
        "composer.json": json.dumps(composer),
        "src/A.php": "<?php namespace App; class A {}",
        "deep/B.php": "",
        "old/Old/C.php": "",
        "t/D.php": "",
        "lib/many.php": "<?php namespace Lib; function f() {} class X {} class Y {}",
        "inc/i.php": "<?php",
        "src/U.php": "<?php use App\\A; use App\\Deep\\B; use Old\\C; use T\\D; use Lib\\{X, Y}; use function Lib\\f;"
        "require __DIR__ . '/../inc/i.php'; include 'lib/many.php';",
    }
    wanted = ["src/A.php", "deep/B.php", "old/Old/C.php", "t/D.php", "lib/many.php", "inc/i.php"]
    assert leads(files, "src/U.php") == dict.fromkeys(wanted, 1)


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", '{"autoload": 1}', '{"autoload": {"psr-4": []}}', '{"autoload": {"psr-4": {"A\\\\": {"x": 1}}}}']
)
def test_a_broken_composer_file_changes_nothing(broken: str) -> None:
    files = {"composer.json": broken, "x/a.php": "<?php namespace A; class B {}", "u.php": "<?php use A\\B;"}
    assert leads(files, "u.php") == {"x/a.php": 1}
