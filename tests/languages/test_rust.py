"""rust: definitions, imports, and where they lead."""

from __future__ import annotations

import pytest

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "rust": Sample(
        source="""
//! Crate words.
pub const LIMIT: usize = 10;
static mut COUNT: u8 = 0;

/// Shape words.
#[derive(Debug)]
// between
#[serde(rename = "x")]
pub struct Shape<'a> { name: &'a str }

enum Kind { A, B { size: u8 } }
pub trait Area { type Unit; fn area(&self) -> f64; }

impl<'a> Shape<'a> {
    pub fn new() -> Self { todo!() }
    fn hidden(&self) {}
}

impl<'a> Area for &'a mut geometry::Shape<'a> { type Unit = f64; fn area(&self) -> f64 { 1.0 } }

pub mod inner { pub fn deep() {} }
mod elsewhere;
macro_rules! square { ($x:expr) => { $x * $x } }
pub(crate) type Pair = (u8, u8);
""",
        definitions="""
constant LIMIT
-constant COUNT
struct Shape
-field Shape.name
-enum Kind
enumerator Kind.A
enumerator Kind.B
field Kind.B.size
trait Area
type Area.Unit
method Area.area
method Shape.new
-method Shape.hidden
type Shape.Unit
method Shape.area
module inner
function inner.deep
macro square
type Pair
""",
        signatures={
            "Shape": "pub struct Shape<'a>",
            "new": "pub fn new() -> Self",
        },
        imports=[
            ("mod a; pub mod b { mod c; }", [("a", ("a",), "mod"), ("b/c", ("c",), "mod")]),
            ('#[cfg(x)]\n#[path = "p.rs"]\nmod a;', [("p.rs", ("a",), "mod-path")]),
            (
                "use crate::a::{self, b::c as d, e::*};",
                [("crate::a", ("a",), "use"), ("crate::a::b::c", ("c",), "use"), ("crate::a::e", ("*",), "use")],
            ),
            (
                "mod t { use super::*; use super::super::x; mod u { use super::y; } }",
                [("self", ("*",), "use"), ("super::x", ("x",), "use"), ("self::t::y", ("y",), "use")],
            ),
            ("extern crate foo as bar; use r#type::x;", [("foo", (), "crate"), ("type::x", ("x",), "use")]),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


RUST = {
    "Cargo.toml": "[workspace]\nmembers = ['core', 'app']\n",
    "core/Cargo.toml": "[package]\nname = 'my-core'\nedition = '2021'\n",
    "core/src/lib.rs": 'pub mod net;\nmod util;\npub use net::Client;\n#[path = "odd/place.rs"] mod odd;',
    "core/src/net/mod.rs": "mod tcp;\nuse crate::util::Helper;\nuse super::odd::x;\nuse self::tcp::Stream;\nuse std::io;",
    "core/src/net/tcp.rs": "use super::Client;\nuse super::super::util;\nmod tests { use super::*; use crate::odd; }",
    "core/src/util.rs": "",
    "core/src/odd/place.rs": "mod near;",
    "core/src/odd/near.rs": "use super::super::util;",
    "core/tests/it.rs": "mod common;\nuse my_core::net::tcp::Stream;\n",
    "core/tests/common/mod.rs": "",
    "app/Cargo.toml": "[package]\nname = 'app'\nedition = '2021'\n[dependencies]\nheart = { package = 'my-core' }\n",
    "app/src/main.rs": "use heart::net::{Client, tcp};\nextern crate heart;\nuse ::my_core::util;\nuse serde::De;",
}


def test_rust_modules_and_crates() -> None:
    assert leads(RUST, "core/src/lib.rs") == dict.fromkeys(
        ["core/src/net/mod.rs", "core/src/util.rs", "core/src/odd/place.rs"], 1
    )
    assert leads(RUST, "core/src/net/mod.rs") == dict.fromkeys(
        ["core/src/net/tcp.rs", "core/src/util.rs", "core/src/odd/place.rs"], 1
    )
    assert leads(RUST, "core/src/net/tcp.rs") == dict.fromkeys(
        ["core/src/net/mod.rs", "core/src/util.rs", "core/src/odd/place.rs"], 1
    )
    assert leads(RUST, "core/src/odd/place.rs") == {"core/src/odd/near.rs": 1}
    assert leads(RUST, "core/src/odd/near.rs") == {"core/src/util.rs": 1}
    assert leads(RUST, "core/tests/it.rs") == {"core/tests/common/mod.rs": 1, "core/src/net/tcp.rs": 1}
    wanted = ["core/src/net/mod.rs", "core/src/net/tcp.rs", "core/src/lib.rs", "core/src/util.rs"]
    assert leads(RUST, "app/src/main.rs") == dict.fromkeys(wanted, 1)


def test_rust_paths_of_2015_begin_at_the_root() -> None:
    files = {"Cargo.toml": "[package]\nname = 'x'\n", "src/lib.rs": "mod a; mod b;", "src/a.rs": "use b::T;", "src/b.rs": ""}
    assert leads(files, "src/a.rs") == {"src/b.rs": 1}
    files["Cargo.toml"] += "edition = '2021'\n"
    assert leads(files, "src/a.rs") == {}


@pytest.mark.parametrize(
    "broken", ["", "[[", "package = 1", "[package]\nname = 3", "[package]\nname='x'\n[lib]\npath=1\n[[bin]]\npath='../..'"]
)
def test_a_broken_cargo_manifest_changes_nothing(broken: str) -> None:
    files = {"Cargo.toml": broken, "src/lib.rs": "mod a;", "src/a.rs": "use crate::T; use super::super::super::x;"}
    assert leads(files, "src/lib.rs") == {"src/a.rs": 1}
    assert leads(files, "src/a.rs") == {"src/lib.rs": 1}


def test_rust_modules_that_place_each_other_do_not_loop() -> None:
    files = {"a.rs": '#[path="b.rs"] mod b; use crate::x;', "b.rs": '#[path="a.rs"] mod a; use super::super::super::y;'}
    assert set(leads(files, "a.rs")) == {"b.rs"}
