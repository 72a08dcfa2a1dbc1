"""ecmascript: definitions, imports, and where they lead."""

from __future__ import annotations

import json

import pytest

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

_JAVASCRIPT = """
import x from "x";
const fs = require("fs");
const LIMIT = 10;
exports.parse = function (text) {};
exports.version = "1.0";
Foo.limit = 1;
module.exports.fs = require("fs");
module.exports = function main(a) {};
app.use = function use(fn) {};
Foo.prototype.bar = function () {};
const arrow = async (a) => a + 1;
const table = { run() {}, stop: () => 1, count: 3 };
export default class Shape extends Base {
  constructor(a) { super(); }
  static area() {}
  #secret() {}
  handler = () => {};
  static limit = 1;
}
export function* walk() { function inner() {} }
const Anonymous = class { m() {} };
"""

_JAVASCRIPT_EXPECTED = """
constant LIMIT
function parse
variable version
field Foo.limit
function main
method app.use
method Foo.bar
function arrow
variable table
method table.run
method table.stop
class Shape
constructor Shape.constructor
method Shape.area
-method Shape.#secret
method Shape.handler
field Shape.limit
function walk
-function walk.inner
class Anonymous
method Anonymous.m
"""

_TYPESCRIPT = (
    _JAVASCRIPT
    + """
export interface Reader<T> { read(n: number): T; size: number }
export type Id = string | number;
enum Color { Red, Green = 2, "dark" }
export type Size = { width: number };
@Component({ a: 1 })
export abstract class Store {
  constructor(private disk: Disk, readonly name: string, plain: number) {}
  private load(): void {}
  abstract save(x: Id): void;
}
namespace A.B { export function inside(): void {} }
declare module "ext" { }
declare function ambient(a: number): void;
"""
)

_TYPESCRIPT_EXPECTED = (
    _JAVASCRIPT_EXPECTED
    + """
interface Reader
method Reader.read
field Reader.size
type Id
enum Color
enumerator Color.Red
enumerator Color.Green
enumerator Color.dark
type Size
field Size.width
class Store
constructor Store.constructor
-field Store.disk
field Store.name
-method Store.load
method Store.save
module A.B
function A.B.inside
module ext
function ambient
"""
)

SAMPLES = {
    "javascript": Sample(
        source=_JAVASCRIPT,
        definitions=_JAVASCRIPT_EXPECTED,
        signatures={
            "use": "app.use = function use(fn)",
            "arrow": "const arrow = async (a) =>",
            "Shape": "export default class Shape extends Base",
        },
        imports=[
            ("import a, {b as c} from './x'", [("./x", ("default", "b"), "import")]),
            ("import * as n from 'n'; import './s'", [("n", ("*",), "import"), ("./s", (), "import")]),
            ("export {q as r} from './w'; export * from './v'", [("./w", ("q",), "export"), ("./v", ("*",), "export")]),
            ("const {t, u: k} = require('./u'), v = require(`./t`)", [("./u", ("t", "u"), "require"), ("./t", (), "require")]),
            ("const a = require('./a').name", [("./a", ("name",), "require")]),
            (
                "await import('./d'); import('./e').then(f); import(`./${x}`); require(y)",
                [("./d", (), "dynamic"), ("./e", (), "dynamic")],
            ),
            ("export const from = './x'; const s = \"import './y'\" // require('./z')", []),
        ],
    ),
    "typescript": Sample(
        source=_TYPESCRIPT,
        definitions=_TYPESCRIPT_EXPECTED,
        signatures={
            "Store": "export abstract class Store",
            "read": "read(n: number): T",
        },
        others=[
            ("class A { f = () => 1; g = 2; h = function () {} }", ["class A", "method f", "field g", "method h"]),
        ],
        imports=[
            ("import type {A} from './a'; import fs = require('fs')", [("./a", ("A",), "import"), ("fs", ("*",), "require")]),
            ("export * as ns from './v'; let t: import('./t').T", [("./v", ("*",), "export"), ("./t", ("T",), "dynamic")]),
        ],
    ),
    "tsx": Sample(
        source=_TYPESCRIPT + "export const View = (p: Props) => <div onClick={() => 1}>{p.a}</div>;\n",
        definitions=_TYPESCRIPT_EXPECTED + "function View\n",
        imports=[
            ("import {A} from './a'; const b = <A href='import' />", [("./a", ("A",), "import")]),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_relative_imports_with_and_without_suffix() -> None:
    files = {
        "src/a.ts": "import './b'; import './c.js'; import './dir'; import '../top'; import './style.css'; import '.'",
        "src/b.tsx": "",
        "src/c.ts": "",
        "src/dir/index.ts": "",
        "top.js": "",
        "src/style.css": "",
        "src/index.ts": "",
    }
    assert leads(files, "src/a.ts") == dict.fromkeys(["src/b.tsx", "src/c.ts", "src/dir/index.ts", "top.js", "src/index.ts"], 1)


def test_what_runs_comes_before_what_declares() -> None:
    files = {
        "a.js": "require('./b'); require('./c.js')",
        "b.js": "",
        "b.d.ts": "",
        "c.js": "",
        "c.ts": "",
        "d.ts": "import './b'; import './c.js'",
    }
    assert leads(files, "a.js") == {"b.js": 1, "c.js": 1}
    assert leads(files, "d.ts") == {"b.js": 1, "c.ts": 1}


def test_a_file_beats_a_folder_of_the_same_name() -> None:
    assert leads({"a.ts": "import './b'", "b.ts": "", "b/index.ts": ""}, "a.ts") == {"b.ts": 1}


TSCONFIG = """{
  // aliases
  "extends": "./config/base", /* which has the rest */
  "compilerOptions": {"paths": {"@/*": ["./src/*"], "exact": ["./src/x.ts"], "@/deep/*": ["./deep/*", "./src/*"],},},
}"""


def test_tsconfig_paths_with_comments_and_trailing_commas() -> None:
    files = {
        "tsconfig.json": TSCONFIG,
        "config/base.json": '{"compilerOptions": {"baseUrl": ".."}}',
        "src/x.ts": "",
        "src/y.ts": "",
        "deep/z.ts": "",
        "lib/w.ts": "",
        "app/a.ts": "import '@/y'; import 'exact'; import '@/deep/z'; import 'lib/w'; import '@/no'; import 'react'",
    }
    assert leads(files, "app/a.ts") == dict.fromkeys(["src/y.ts", "src/x.ts", "deep/z.ts", "lib/w.ts"], 1)


def test_configurations_that_extend_each_other_in_all_ways_end() -> None:
    extends = ["./t0.json", "./t1.json", "./t2.json", "./t3.json", "./t4.json"] * 50
    files = {f"t{number}.json": json.dumps({"extends": extends}) for number in range(5)}
    files |= {"tsconfig.json": json.dumps({"extends": extends}), "a.ts": "import 'b'; import './c'", "c.ts": ""}
    assert leads(files, "a.ts") == {"c.ts": 1}


def test_a_very_deep_folder_has_a_configuration_too() -> None:
    deep = "/".join("d" * 2_000)
    files = {"tsconfig.json": '{"compilerOptions": {"baseUrl": "."}}', f"{deep}/a.ts": "import 'b'", "b.ts": ""}
    assert leads(files, f"{deep}/a.ts") == {"b.ts": 1}


def test_the_nearest_tsconfig_counts_and_references_are_followed() -> None:
    files = {
        "tsconfig.json": '{"compilerOptions": {"paths": {"~/*": ["./base/*"]}}}',
        "web/tsconfig.json": '{"files": [], "references": [{"path": "./tsconfig.app.json"}]}',
        "web/tsconfig.app.json": '{"compilerOptions": {"paths": {"~/*": ["./src/*"]}}}',
        "base/a.ts": "",
        "web/src/a.ts": "",
        "web/main.ts": "import '~/a'",
        "main.ts": "import '~/a'",
    }
    assert leads(files, "web/main.ts") == {"web/src/a.ts": 1}
    assert leads(files, "main.ts") == {"base/a.ts": 1}


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "{",
        "[]",
        "null",
        '"x"',
        '{"compilerOptions": 3}',
        '{"compilerOptions": {"paths": [], "baseUrl": {}}}',
        "{'a': 1}",
        '{"extends": "./tsconfig.json"}',
        '{"extends": [1, "./gone"], "references": {"path": 1}}',
        '{"compilerOptions": {"paths": {"*": 1}}}',
        "[" * 100_000,
        '{"a": "\\',
        "/*",
    ],
)
def test_a_broken_tsconfig_or_package_changes_nothing(broken: str) -> None:
    files = {
        "tsconfig.json": broken,
        "package.json": broken,
        "a.ts": "import './b'; import 'c'; import '#d'",
        "b.ts": "",
        "c.js": "",
    }
    assert leads(files, "a.ts") == {"b.ts": 1}


def test_packages_of_a_workspace_by_name() -> None:
    exports = {
        ".": {"types": "./index.d.ts", "browser": "./dist/browser.js", "default": "./src/main.ts"},
        "./parts/*": {"import": "./dist/parts/*.mjs"},
        "./one": "./src/one.ts",
        "./hidden": None,
    }
    files = {
        "package.json": '{"workspaces": ["packages/*"]}',
        "packages/lib/package.json": json.dumps({"name": "@my/lib", "exports": exports, "imports": {"#inner": "./src/one.ts"}}),
        "packages/lib/index.d.ts": "",
        "packages/lib/dist/browser.js": "",
        "packages/lib/src/main.ts": "import '#inner'",
        "packages/lib/src/one.ts": "",
        "packages/lib/src/parts/p.ts": "",
        "packages/old/package.json": '{"name": "old", "main": "lib/start.js"}',
        "packages/old/src/start.ts": "",
        "packages/old/x/y.js": "",
        "app/a.ts": "import '@my/lib'; import '@my/lib/one'; import '@my/lib/parts/p'; import 'old'; import 'old/x/y'",
    }
    assert leads(files, "app/a.ts") == {
        "packages/lib/src/main.ts": 1,
        "packages/lib/src/one.ts": 1,
        "packages/lib/src/parts/p.ts": 0.9,
        "packages/old/src/start.ts": 0.9,
        "packages/old/x/y.js": 1,
    }
    assert leads(files, "packages/lib/src/main.ts") == {"packages/lib/src/one.ts": 1}


def test_a_package_that_nobody_lists_is_less_certain() -> None:
    files = {
        "fixtures/react/package.json": '{"name": "react"}',
        "fixtures/react/index.js": "",
        "src/a.js": "import 'react'",
        "package.json": "{}",
    }
    assert leads(files, "src/a.js") == {"fixtures/react/index.js": 0.5}
    files["package.json"] = '{"devDependencies": {"react": "file:fixtures/react"}}'
    assert leads(files, "src/a.js") == {"fixtures/react/index.js": 1}


def test_paths_out_of_the_tree_and_odd_ones_lead_nowhere() -> None:
    files = {
        "a.js": "import '../../x'; import '/abs'; import 'node:fs'; import 'https://x/y.js'; import '.../z'; import '?raw'",
        "x.js": "",
        "abs.js": "",
    }
    assert leads(files, "a.js") == {}
