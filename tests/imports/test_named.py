"""Java, Kotlin, Scala, C#, PHP, Ruby: names in packages and namespaces, and load paths."""

from __future__ import annotations

import json

import pytest

from tests.imports.trees import leads


def test_java_classes_packages_and_statics() -> None:
    files = {
        "m/src/a/b/C.java": "package a.b; public class C { static class D {} } class Helper {}",
        "m/src/a/b/E.java": "package a.b; class E {}",
        "m/src/x/U.java": "package x; import a.b.C; import a.b.Helper; import java.util.List;",
        "m/src/x/V.java": "package x; import static a.b.C.D; import a.b.C.D;",
        "m/src/x/W.java": "package x; import a.b.*; import a.b.Gone;",
    }
    assert leads(files, "m/src/x/U.java") == {"m/src/a/b/C.java": 1}
    assert leads(files, "m/src/x/V.java") == {"m/src/a/b/C.java": 1}
    assert leads(files, "m/src/x/W.java") == {"m/src/a/b/C.java": 0.5, "m/src/a/b/E.java": 0.5}


def test_of_two_classes_with_one_name_the_nearer_is_taken() -> None:
    files = {f"{module}/src/a/C.java": "package a; class C {}" for module in ("one", "two")}
    files |= {"one/src/b/U.java": "package b; import a.C;", "three/U.java": "package c; import a.C;"}
    assert leads(files, "one/src/b/U.java") == {"one/src/a/C.java": 0.8}
    assert leads(files, "three/U.java") == {"one/src/a/C.java": 0.5, "two/src/a/C.java": 0.5}


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


def test_scala_imports_may_begin_in_the_packages_around() -> None:
    files = {
        "a.scala": "package lib.core\nclass A\nobject B { val x = 1 }\n",
        "p.scala": "package lib\npackage object util { def f = 1 }\n",
        "use.scala": "package lib.app\nimport core.A\nimport core.B._\nimport util.f\nimport _root_.lib.core.{A => C}\n",
    }
    assert leads(files, "use.scala") == {"a.scala": 1, "p.scala": 1}


def test_csharp_namespaces_and_types() -> None:
    files = {
        "A.cs": "namespace N.M { public class A {} }",
        "B.cs": "namespace N.M; struct B {}",
        "E.cs": "namespace N.M.Empty {}",
        "U.cs": "using N.M; using System; using N;",
        "S.cs": "using static N.M.A; using Z = N.M.B; using Y = N.Gone;",
    }
    assert leads(files, "U.cs") == {"A.cs": 0.5, "B.cs": 0.5}
    assert leads(files, "S.cs") == {"A.cs": 1, "B.cs": 1}


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


def test_ruby_load_paths() -> None:
    files = {
        "lib/gem.rb": "require 'gem/version'\nautoload :Core, 'gem/core'\nrequire 'json'\n",
        "lib/gem/version.rb": "",
        "lib/gem/core.rb": "",
        "app/models/user.rb": "require_relative '../jobs/mail'\nrequire_relative './gone'\n",
        "app/jobs/mail.rb": "",
        "spec/user_spec.rb": "require 'spec_helper'\nrequire 'user'\nload 'Rakefile'\nrequire './lib/gem'\nrequire '/etc/x'",
        "spec/spec_helper.rb": "",
        "Rakefile": "require 'bundler'\nload 'lib/gem.rb'\n",
    }
    assert leads(files, "lib/gem.rb") == {"lib/gem/version.rb": 1, "lib/gem/core.rb": 1}
    assert leads(files, "app/models/user.rb") == {"app/jobs/mail.rb": 1}
    assert leads(files, "spec/user_spec.rb") == {"spec/spec_helper.rb": 1, "app/models/user.rb": 1, "Rakefile": 1}
    assert leads(files, "Rakefile") == {"lib/gem.rb": 1}


def test_ruby_gems_of_one_tree_prefer_their_own() -> None:
    files = {f"{gem}/lib/shared.rb": "" for gem in ("one", "two")} | {"two/test/t.rb": "require 'shared'"}
    assert leads(files, "two/test/t.rb") == {"two/lib/shared.rb": 0.8}
