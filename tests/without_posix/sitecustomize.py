"""Makes this Python one without the modules that only POSIX has, as far as lurcher's own imports go.

Python loads a module of this name at its start, so child processes with this folder on their PYTHONPATH are such Pythons too.
There, what Windows lacks of `os` is removed as well, which the process of the tests itself cannot do without.
"""

import builtins
import os
import sys

MODULES = frozenset({"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "readline", "syslog", "posix", "curses"})
OF_OS = (
    "O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "pread", "pwrite", "getuid", "geteuid", "statvfs", "nice", "fork", "major",
    "minor", "ST_RDONLY",
)  # fmt: skip


def hide_modules():
    """Let imports of those modules fail in lurcher; packages of others and the standard library still get them."""
    original = builtins.__import__

    def find(name, globals=None, locals=None, fromlist=(), level=0):
        if name in MODULES and globals is not None and str(globals.get("__name__", "")).split(".")[0] == "lurcher":
            raise ImportError(f"{name} is hidden", name=name)
        return original(name, globals, locals, fromlist, level)

    builtins.__import__ = find


# Of children only those that run lurcher: others, such as those that run tests for pytest, need all of `os`.
if __name__ == "sitecustomize" and os.environ.get("TESTS_WITHOUT_POSIX") and "lurcher" in " ".join(sys.orig_argv[1:]):
    hide_modules()
    for name in OF_OS:
        if hasattr(os, name):
            delattr(os, name)
