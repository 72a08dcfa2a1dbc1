"""The optional part of the build: `lurcher._kernel`, in C. Everything else stands in pyproject.toml.

Where it cannot be built, it is left out, and the reference in Python does its work. LURCHER_BUILD_KERNEL=no leaves it out on
purpose, which makes a wheel for any platform; =require makes a failure an error.
"""

import os
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

WANTED = os.environ.get("LURCHER_BUILD_KERNEL", "auto")
# The stable ABI has buffers since 3.11, and a free-threaded Python has no stable ABI.
STABLE = sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED")
# Python's own flags ask for debug information, which is three quarters of the file; only PyInit__kernel has to be visible.
UNIX = ["-std=c11", "-D_DEFAULT_SOURCE", "-pthread", "-O3", "-ffp-contract=off", "-g0", "-fvisibility=hidden"]
STRIPPED = {"win32": [], "darwin": ["-Wl,-S,-x"]}.get(sys.platform, ["-s"])

kernel = Extension(
    "lurcher._kernel",
    sources=sorted(str(path) for path in Path("kernel").rglob("*.c")),
    depends=sorted(str(path) for path in Path("kernel").rglob("*.h")),
    include_dirs=["kernel"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
    extra_compile_args=["/std:c11"] if sys.platform == "win32" else UNIX,
    extra_link_args=STRIPPED,
    libraries=[] if sys.platform == "win32" else ["m"],
    py_limited_api=STABLE,
    optional=WANTED != "require",
)

setup(
    ext_modules=[] if WANTED == "no" else [kernel],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE and WANTED != "no" else {},
)
