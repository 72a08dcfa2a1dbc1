"""What is published: which wheels are built, what is in the source archive, and the kernel on other systems."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tools import check_install, cross_compile

ROOT = Path(__file__).resolve().parents[2]
WANTED = {
    "linux": {f"{python}-{libc}linux_{machine}" for python in ("cp310", "cp311") for libc in ("many", "musl")
              for machine in ("x86_64", "aarch64")},
    "macos": {f"{python}-macosx_{machine}" for python in ("cp310", "cp311") for machine in ("x86_64", "arm64")},
    "windows": {"cp310-win_amd64", "cp311-win_amd64"},
}  # fmt: skip


@pytest.mark.skipif(find_spec("cibuildwheel") is None, reason="needs cibuildwheel")
@pytest.mark.parametrize("system", WANTED)
def test_one_wheel_of_the_stable_abi_and_one_for_3_10_are_built_per_platform(system: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cibuildwheel", "--platform", system, "--print-build-identifiers", str(ROOT)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(done.stdout.split()) == WANTED[system]


@pytest.mark.slow
@pytest.mark.skipif(cross_compile.find_zig() is None, reason="needs ziglang")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="the stable ABI has buffers since 3.11")
@pytest.mark.parametrize("name", cross_compile.TARGETS)
def test_the_kernel_compiles_and_links_for_every_system_without_a_warning(name: str, tmp_path: Path) -> None:
    zig = cross_compile.find_zig()
    assert zig is not None
    assert cross_compile.compile_kernel(zig, cross_compile.TARGETS[name], tmp_path / name).stat().st_size > 100_000


@pytest.mark.slow
@pytest.mark.skipif(cross_compile.find_zig() is None, reason="needs ziglang")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="the stable ABI has buffers since 3.11")
def test_a_warning_fails_the_cross_compilation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "unused.c").write_text("static int unused(void) { return 1; }\n")
    shutil.copy(ROOT / "setup.py", tmp_path)
    monkeypatch.setattr(cross_compile, "HERE", tmp_path)
    with pytest.raises(cross_compile.CompileError, match="unused"):
        cross_compile.compile_kernel(
            cross_compile.find_zig() or [], cross_compile.TARGETS["aarch64-linux-gnu"], tmp_path / "out"
        )


def test_a_module_for_another_machine_is_noticed(tmp_path: Path) -> None:
    elf = b"\x7fELF" + bytes(14) + (62).to_bytes(2, "little") + cross_compile.ENTRY.encode()
    (tmp_path / "kernel").write_bytes(elf)
    cross_compile.check_format(tmp_path / "kernel", cross_compile.TARGETS["x86_64-linux-musl"])
    with pytest.raises(cross_compile.CompileError, match="machine 62"):
        cross_compile.check_format(tmp_path / "kernel", cross_compile.TARGETS["aarch64-linux-gnu"])


def test_an_installation_that_works_passes_its_check() -> None:
    assert check_install.check("") == []


def test_an_installation_with_another_kernel_than_promised_fails_its_check() -> None:
    assert check_install.check("another")[0].endswith(", not another")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("build") is None, reason="needs build, and the network")
def test_the_source_archive_builds_without_git_and_has_the_kernel(tmp_path: Path) -> None:
    """In a copy that is no repository, with a PATH on which there is no git."""
    copied = tmp_path / "copy"
    copied.mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copied)
    for name in ("src", "kernel"):
        shutil.copytree(ROOT / name, copied / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info"))
    done = subprocess.run(
        [sys.executable, "-m", "build", "--sdist", "--outdir", str(tmp_path / "dist"), str(copied)],
        capture_output=True, text=True, check=False, env={"PATH": "", "HOME": str(tmp_path)},
    )  # fmt: skip
    if "Could not find a version" in done.stdout + done.stderr:
        pytest.skip("setuptools cannot be fetched")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    with tarfile.open(next((tmp_path / "dist").glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    wanted = {str(path.relative_to(ROOT)) for path in (ROOT / "kernel").rglob("*.[ch]")}
    assert wanted <= names
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
