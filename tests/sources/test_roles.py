"""What part a file plays, by its path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.sources.roles import (
    BARREL,
    EXAMPLE,
    GENERATED,
    LEGACY,
    NAMES,
    SETUP,
    STUB,
    TEST,
    TRANSLATION,
    VENDORED,
    VERSIONED,
    find_embedded,
    roles,
    version_of,
)


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("tests/test_client.py", TEST), ("src/client_test.go", TEST), ("web/router.spec.ts", TEST),
        ("UserServiceTest.java", TEST),
        ("pkg/__tests__/a.js", TEST), ("examples/hello.py", EXAMPLE), ("docs/guide.rst", EXAMPLE),
        ("lib/libc/stdlib/malloc.3", EXAMPLE), ("man/Pod.3pm", EXAMPLE), ("regress/sys/kern/a.c", TEST),
        ("drm/gem/selftests/huge_pages.c", TEST), ("gcc/testsuite/g++.dg/a.C", TEST),
        ("src/compat/a.py", LEGACY), ("pkg/__init__.py", BARREL), ("web/index.ts", BARREL),
        ("types/a.d.ts", STUB), ("a.pyi", STUB), ("setup.py", SETUP), (".github/workflows/ci.yml", SETUP),
        ("api/user.pb.go", GENERATED), ("proto/user_pb2.py", GENERATED), ("lib/model.g.dart", GENERATED),
        ("pkg/zz_generated.deepcopy.go", GENERATED), ("po/de.po", TRANSLATION), ("conf/locale/de/formats.py", TRANSLATION),
        ("config/locales/pt-BR.yml", TRANSLATION), ("web/strings_zh_CN.properties", TRANSLATION),
        ("dist/axios.js", GENERATED), ("packages/core/dist/esm/index.d.ts", GENERATED),
        ("vendor/lib/a.c", VENDORED), ("third_party/x.py", VENDORED), ("api/v2/users.py", VERSIONED),
    ],
)  # fmt: skip
def test_the_path_determines_the_role(path: str, role: int) -> None:
    assert roles(path) & role


@pytest.mark.parametrize(
    "path", ["src/client.py", "contest.py", "latest/index_of.go", "attest.rs", "video/v.py", "testament.c", "src/i18n/load.ts",
             "i18n/lib/api.ts", "src/locale.py", "generated_code.go", "src/regress.py", "src/3", "a.10", "lib/mod.3d",
             "dist/install.py", "src/dist/mod.go", "lib/dist.js"]
)
def test_ordinary_files_have_no_role(path: str) -> None:
    assert roles(path) == 0


def test_roles_add_up() -> None:
    assert roles("vendor/tests/__init__.py") & (VENDORED | TEST | BARREL) == VENDORED | TEST | BARREL


def test_the_version_of_a_path_is_that_of_its_first_version_folder() -> None:
    assert version_of("api/v2/v3/x.py") == ("api", 2)
    assert version_of("v1/x.py") == ("", 1)
    assert version_of("api/x.py") is None
    assert version_of("api/v2.py") is None


@given(st.text(max_size=40))
def test_any_path_has_roles_that_fit_the_table(path: str) -> None:
    assert 0 <= roles(path) < 1 << 16
    assert roles(path) & ~sum(NAMES) == 0
    version_of(path)


def test_a_folder_with_its_own_licence_and_build_system_is_embedded() -> None:
    licences = ["LICENSE", "gnu/gcc/COPYING", "gnu/gcc/libcpp/COPYING", "pkg/a/LICENSE"]
    builds = ["gnu/gcc/configure", "gnu/gcc/libcpp/configure.ac", "tools/configure.in", "pkg/a/configure.py"]
    assert find_embedded(licences, builds) == ["gnu/gcc"]


def test_a_package_that_is_built_like_its_project_is_not_embedded() -> None:
    assert find_embedded(["LICENSE", "core/LICENSE"], ["CMakeLists.txt", "core/CMakeLists.txt"]) == []
