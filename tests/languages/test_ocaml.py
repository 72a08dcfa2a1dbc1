"""OCaml: implementations and interfaces of modules."""

from __future__ import annotations

from lurcher.query.validate import resolve_languages
from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "ocaml": Sample(
        source="""
(* words *)
open Printf
open Foo.Bar
include Base
module M = Map.Make(String)
module Inner = struct
  let x = 1
  type t = A | B of int
end
module type S = sig
  type t
  val make : int -> t
end
type color = Red | Green of int
type point = { x : int; mutable y : int }
type 'a alias = 'a list
exception Bad of string
let limit = 10
let rec area x y = x * y
and other z = z
let (a, b) = (1, 2)
let _ = print 1
let ( + ) a b = a
external ext : int -> int = "c_ext"
class shape n = object
  val size = n
  method area = 1
  method private hidden = 2
end
class type st = object method m : int end
""",
        definitions="""
module M
module Inner
variable Inner.x
type Inner.t
enumerator Inner.t.A
enumerator Inner.t.B
interface S
type S.t
function S.make
type color
enumerator color.Red
enumerator color.Green
type point
field point.x
field point.y
type alias
type Bad
variable limit
function area
function other
variable a
variable b
function +
function ext
class shape
field shape.size
method shape.area
-method shape.hidden
interface st
method st.m
""",
        signatures={
            "color": "type color",
            "shape": "class shape n",
            "hidden": "method private hidden",
        },
        imports=[
            (
                "open Printf\nopen Foo.Bar\ninclude Base\n(* open No *)\nmodule M = Map.Make(String)\n",
                [("Printf", (), "import"), ("Foo.Bar", (), "import"), ("Base", (), "include")],
            ),
        ],
    ),
    "ocaml-interface": Sample(
        source="""
(** words *)
val make : int -> t
type t
module M : sig
  val x : int
end
exception Bad
external e : int -> int = "c"
""",
        definitions="""
function make
type t
module M
variable M.x
type Bad
function e
""",
        signatures={
            "make": "val make : int -> t",
            "M": "module M",
        },
        imports=[("open Foo\ninclude Bar.S\n", [("Foo", (), "import"), ("Bar", (), "include")])],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_modules_are_files() -> None:
    files = {
        "bin/main.ml": "open Geo.Shape\nopen Util\nopen Printf\nmodule S = Only\n",
        "lib/geo/shape.ml": "",
        "lib/geo/shape.mli": "",
        "other/shape.ml": "",
        "bin/util.ml": "open Util",
        "bin/only.mli": "",
    }
    assert leads(files, "bin/main.ml") == {"lib/geo/shape.ml": 1, "bin/util.ml": 1, "bin/only.mli": 1}
    assert leads(files, "bin/util.ml") == {}


def test_a_filter_for_ocaml_includes_interfaces() -> None:
    assert resolve_languages(("ocaml",)) == ("ocaml", "ocaml-interface")
