"""Go, Rust, C and Swift: modules as folders, as files, and along include paths."""

from __future__ import annotations

import json

import pytest

from tests.imports.trees import leads


def test_go_packages_are_the_files_of_a_folder() -> None:
    files = {
        "go.mod": "module example.com/app // the app\n\ngo 1.22\nreplace (\n\texample.com/fork v1.0.0 => ./third/fork\n)\n",
        "main.go": 'package main\nimport (\n\t"fmt"\n\t"example.com/app/util"\n)\n'
        'import "example.com/fork"\nimport "example.com/app/tool"\nimport "example.com/apple"',
        "util/a.go": "package util",
        "util/b.go": "package util",
        "util/a_test.go": "package util",
        "util/sub/c.go": "package sub",
        "third/fork/go.mod": "module example.com/fork",
        "third/fork/f.go": "package fork",
        "tool/go.mod": "module example.com/app/tool",
        "tool/t.go": 'package tool\nimport "example.com/app"',
        "vendor/gone.org/x/x.go": "package x",
        "util/v.go": 'package util\nimport "gone.org/x"',
    }
    third = round(1 / 3, 3)
    assert leads(files, "main.go") == {
        "util/a.go": third,
        "util/b.go": third,
        "util/v.go": third,
        "third/fork/f.go": 1,
        "tool/t.go": 1,
    }
    assert leads(files, "tool/t.go") == {"main.go": 1}
    assert leads(files, "util/v.go") == {"vendor/gone.org/x/x.go": 1}


@pytest.mark.parametrize(
    "broken", ["", "module", "module (", "replace =>", "replace a => ../../..", "\0", "module \nmodule \n("]
)
def test_a_broken_go_mod_changes_nothing(broken: str) -> None:
    assert leads({"go.mod": broken, "a.go": 'package a\nimport "x/b"\nimport "./b"', "b/b.go": "package b"}, "a.go") == {
        "b/b.go": 1
    }


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
