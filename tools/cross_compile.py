"""Compiles and links the kernel for other systems with PyPI's `ziglang`, every warning an error, to see that it can be done.

    pip install ziglang
    python tools/cross_compile.py [--out DIR] [TARGET…]

Headers are those of the Python that runs this. What differs between systems in them is `pyconfig.h`, of which this writes what
Python's headers ask for; for Windows it also writes the import library of `python3.dll`. So nothing is downloaded. What comes
out can be loaded by a Python of the target; wheels for publication are built on the target's own system (docs/packaging.md).
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parents[1]
STRICT = ("-Wall", "-Wextra", "-Werror")
LIMITED = "0x030B0000"
ENTRY = "PyInit__kernel"


class Target(NamedTuple):
    """A system, how its files begin, and what the module is called there."""

    triple: str
    kind: str
    machine: int
    name: str

    @property
    def windows(self) -> bool:
        return self.kind == "PE"


# Machine numbers are those of the formats: e_machine of ELF, cputype of Mach-O, Machine of COFF.
TARGETS = {
    target.triple: target
    for target in (
        Target("aarch64-linux-gnu", "ELF", 183, "_kernel.abi3.so"),
        Target("x86_64-linux-musl", "ELF", 62, "_kernel.abi3.so"),
        Target("aarch64-linux-musl", "ELF", 183, "_kernel.abi3.so"),
        Target("aarch64-macos", "Mach-O", 0x0100000C, "_kernel.abi3.so"),
        Target("x86_64-macos", "Mach-O", 0x01000007, "_kernel.abi3.so"),
        Target("x86_64-windows-gnu", "PE", 0x8664, "_kernel.pyd"),
    )
}


class CompileError(Exception):
    """What the compiler or linker said."""


def write_headers(folder: Path, target: Target) -> list[str]:
    """Copies Python's headers without the part that is for this machine, writes that for the target, and returns -I flags."""
    include = folder / "include"
    shutil.copytree(sysconfig.get_path("include"), include, ignore=shutil.ignore_patterns("pyconfig*.h"))
    sizes = {
        "SHORT": 2, "INT": 4, "LONG": 4 if target.windows else 8, "LONG_LONG": 8, "VOID_P": 8, "SIZE_T": 8, "TIME_T": 8,
        "FLOAT": 4, "DOUBLE": 8, "WCHAR_T": 2 if target.windows else 4, "FPOS_T": 8 if target.kind != "ELF" else 16,
        "OFF_T": 4 if target.windows else 8, "PID_T": 4, "UINTPTR_T": 8, "_BOOL": 1, "PTHREAD_T": 8,
        "LONG_DOUBLE": 8 if target.triple == "aarch64-macos" else 16,
    }  # fmt: skip
    lines = [f"#define SIZEOF_{name} {size}" for name, size in sizes.items()]
    have = ["STDINT_H", "INTTYPES_H", "LONG_LONG", "STDDEF_H", "STDARG_PROTOTYPES", "SYS_STAT_H", "SYS_TYPES_H", "STAT_TV_NSEC"]
    if target.windows:
        # As CPython's own for Windows has it; no import library is named by a pragma, since this writes and names one.
        lines += ["#define MS_WINDOWS", "#define MS_WIN64", "#define MS_WIN32", "#define NT_THREADS", "#define Py_NO_LINK_LIB"]
        lines += ["#define HAVE_DECLSPEC_DLL 1", '#define PLATFORM "win32"']
        lines += ["#include <stdio.h>", "#include <io.h>", "#define Py_ENABLE_SHARED 1"]
        have += ["SSIZE_T"]
    else:
        have += ["UNISTD_H", "SSIZE_T", "SYS_TIME_H", "SYS_SELECT_H", "PTHREAD_H", "CLOCK_GETTIME", "DYNAMIC_LOADING"]
        lines += ["#define TIME_WITH_SYS_TIME 1"]
    lines += [f"#define HAVE_{name} 1" for name in have]
    lines += ["#define STDC_HEADERS 1", "#define WITH_THREAD 1"]
    (include / "pyconfig.h").write_text("#ifndef Py_PYCONFIG_H\n#define Py_PYCONFIG_H\n" + "\n".join(lines) + "\n#endif\n")
    return ["-I", str(include), "-I", str(HERE / "kernel")]


def flags_of_setup() -> list[str]:
    """The flags with which setup.py compiles on systems other than Windows: those that are checked here."""
    for node in ast.parse((HERE / "setup.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "UNIX":
            flags: list[str] = ast.literal_eval(node.value)
            return flags
    raise CompileError("setup.py has no list UNIX")


def compile_kernel(zig: list[str], target: Target, folder: Path) -> Path:
    """The linked module below a folder; CompileError with everything that was said."""
    folder.mkdir(parents=True, exist_ok=True)
    flags = [*write_headers(folder, target), *flags_of_setup(), *STRICT, f"-DPy_LIMITED_API={LIMITED}"]
    if target.windows:
        flags = [flag for flag in flags if flag != "-pthread"]
    elif target.kind == "ELF":
        flags.append("-fPIC")
    driver = [*zig, "cc", "-target", target.triple]
    sources = sorted((HERE / "kernel").rglob("*.c"))
    objects = [folder / f"{source.parent.name}-{source.stem}.o" for source in sources]
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        said = list(pool.map(
            lambda pair: run([*driver, *flags, "-c", str(pair[0]), "-o", str(pair[1])]), zip(sources, objects, strict=True),
        ))  # fmt: skip
    problems = [text for text in said if text]
    if problems:
        raise CompileError("\n".join(problems))
    linked = folder / target.name
    extra = {"ELF": ["-lm", "-s"], "Mach-O": ["-Wl,-undefined,dynamic_lookup"], "PE": []}[target.kind]
    if target.windows:
        extra += [str(import_library(zig, objects, folder)), "-s"]
    text = run([*driver, "-shared", *map(str, objects), *extra, "-o", str(linked)])
    if text:
        raise CompileError(text)
    check_format(linked, target)
    return linked


def import_library(zig: list[str], objects: list[Path], folder: Path) -> Path:
    """An import library of python3.dll with the names that the objects use of it."""
    names = sorted({name for path in objects for name in undefined_names(path.read_bytes())})
    wanted = [name.removeprefix("__imp_") for name in names if name.removeprefix("__imp_").startswith(("Py", "_Py"))]
    definitions, library = folder / "python3.def", folder / "python3.lib"
    definitions.write_text("LIBRARY python3.dll\nEXPORTS\n" + "".join(f"    {name}\n" for name in dict.fromkeys(wanted)))
    text = run([*zig, "dlltool", "-m", "i386:x86-64", "-d", str(definitions), "-l", str(library)])
    if text:
        raise CompileError(text)
    return library


def undefined_names(data: bytes) -> list[str]:
    """Names that an object of COFF uses and does not define."""
    _, _, _, table, count, _, _ = struct.unpack_from("<HHIIIHH", data, 0)
    strings = table + 18 * count
    found, number = [], 0
    while number < count:
        raw, _, section, _, _, more = struct.unpack_from("<8sIhHBB", data, table + 18 * number)
        if section == 0:
            start = strings + struct.unpack("<I", raw[4:])[0]
            name = raw.rstrip(b"\0") if raw[:4] != b"\0\0\0\0" else data[start : data.index(b"\0", start)]
            found.append(name.decode("ascii"))
        number += 1 + more
    return found


def check_format(path: Path, target: Target) -> None:
    """CompileError unless a file is for the target and has the function that Python calls."""
    data = path.read_bytes()
    if data[:4] == b"\x7fELF":
        kind, machine = "ELF", struct.unpack_from("<H", data, 18)[0]
    elif data[:4] == b"\xcf\xfa\xed\xfe":
        kind, machine = "Mach-O", struct.unpack_from("<I", data, 4)[0]
    elif data[:2] == b"MZ":
        kind, machine = "PE", struct.unpack_from("<H", data, struct.unpack_from("<I", data, 60)[0] + 4)[0]
    else:
        kind, machine = "unknown", 0
    if (kind, machine) != (target.kind, target.machine):
        raise CompileError(f"{path.name} is {kind} for machine {machine}, not {target.kind} for {target.machine}")
    if ENTRY.encode() not in data:
        raise CompileError(f"{path.name} does not export {ENTRY}")


def run(command: list[str]) -> str:
    """What a command said if it failed or warned, else nothing."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip()
    return said or ("" if done.returncode == 0 else f"{command[0]} ended with {done.returncode}")


def find_zig() -> list[str] | None:
    """The command of the cross compiler: the package's, else one on the PATH."""
    done = subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True, check=False)
    if done.returncode == 0:
        return [sys.executable, "-m", "ziglang"]
    found = shutil.which("zig")
    return [found] if found else None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="compile the kernel for other systems, every warning an error")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all unless told")
    parser.add_argument("--out", type=Path, help="keep the modules there, one folder per target")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"unknown target {unknown[0]}; known: {', '.join(TARGETS)}")
    if sys.version_info < (3, 11):
        parser.error("the stable ABI has buffers since Python 3.11: run this with a newer one")
    zig = find_zig()
    if zig is None:
        parser.error("there is no cross compiler: pip install ziglang")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.targets or TARGETS:
            try:
                made = compile_kernel(zig, TARGETS[name], Path(scratch) / name)
            except CompileError as error:
                failed += 1
                print(f"{name:20} failed\n{error}")
                continue
            print(f"{name:20} ok, {TARGETS[name].kind}, {made.stat().st_size:,} bytes, no warnings", flush=True)
            if options.out:
                (options.out / name).mkdir(parents=True, exist_ok=True)
                shutil.copy2(made, options.out / name / made.name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
