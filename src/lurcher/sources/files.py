"""The files of a tree: asked from git in a work tree, walked elsewhere."""

from __future__ import annotations

import os
import subprocess

from lurcher.sources import git, ignore
from lurcher.sources.listing import Entry, FilesSettings, Listing
from lurcher.sources.roots import Root
from lurcher.sources.sieve import Sieve, is_utf8

__all__ = ["Entry", "FilesSettings", "Listing", "list_files"]

_RULES = ".lurcherignore"


def list_files(root: Root, settings: FilesSettings) -> Listing:
    """Every file of the root that may be searched, whatever part of it was asked for.

    In a work tree git decides what is ignored; `.lurcherignore` files (gitignore syntax, nested ones too) then take
    away more or, with `!` lines, bring back what git or the built-in names leave out. Patterns hold for entries as in
    git: the deepest file's last match decides, and nothing below an excluded folder comes back. A nested
    `.lurcherignore` counts if git does not ignore it. When git fails, the tree is walked.
    """
    listing = _from_git(root, settings) if root.git else None
    if listing is None:
        from lurcher.sources.walk import walk

        listing = walk(str(root.path), settings)
    return listing


def _from_git(root: Root, settings: FilesSettings) -> Listing | None:
    # Two processes: the index alone comes within milliseconds and its files are looked at while the other one still
    # searches for untracked files. The second also repeats the tracked ones, so that a file which `git add` moves from
    # one list to the other in between cannot be missed.
    first = git.start(root.path, "ls-files", "-z", "-c")
    second = git.start(root.path, "ls-files", "-z", "-co", "--exclude-standard")
    try:
        return _sift(root, settings, first, second)
    finally:
        for process in (first, second):
            if process is not None and process.poll() is None:
                git.stop(process)


def _sift(
    root: Root,
    settings: FilesSettings,
    first: subprocess.Popen[bytes] | None,
    second: subprocess.Popen[bytes] | None,
) -> Listing | None:
    status, output = git.finish(first)
    if status:
        return None
    base = str(root.path)
    # A conflicted path is in the index up to three times.
    tracked = dict.fromkeys(_names(output)[0])
    rules = _rules(base, tracked, output)
    sieve = Sieve(base, settings, rules)
    sieve.take(tracked, tracked=True)
    status, output = git.finish(second)
    if status:
        return None
    paths, bad_names = _names(output)
    others = [path for path in paths if path not in tracked]
    complete = _rules(base, paths, output)
    if complete.keys() != rules.keys():  # an untracked nested one: rare enough to begin again
        sieve = Sieve(base, settings, complete)
        sieve.take(tracked, tracked=True)
    nested = [path for path in others if path[-1] == "/"]  # repositories inside the work tree
    if nested:
        others = [path for path in others if path[-1] != "/"]
        sieve.skipped["submodule"] = sieve.skipped.get("submodule", 0) + len(nested)
    sieve.take(others)
    if any(patterns.reincludes for patterns in complete.values()):
        status, output = git.finish(git.start(root.path, "ls-files", "-z", "-o", "-i", "--exclude-standard"))
        if status:
            return None
        sieve.take((path for path in _names(output)[0] if path[-1] != "/"), ignored=True)
    if bad_names:
        sieve.skipped["undecodable-name"] = bad_names
    return sieve.listing("git")


def _names(output: bytes) -> tuple[list[str], int]:
    """The paths in git's answer, and how many were left out because they are not UTF-8."""
    try:
        return output.decode().split("\0")[:-1], 0
    except UnicodeDecodeError:
        names = output.decode("utf-8", "surrogateescape").split("\0")[:-1]
        good = [name for name in names if is_utf8(name)]
        return good, len(names) - len(good)


def _rules(base: str, paths: list[str] | dict[str, None], output: bytes) -> dict[str, ignore.Patterns]:
    """The `.lurcherignore` files by folder; git's raw answer tells cheaply that there is none."""
    found: dict[str, ignore.Patterns] = {}
    own = ignore.load(f"{base}/{_RULES}")
    if own is not None:
        found[""] = own
    if b"/.lurcherignore\0" in output:
        for path in paths:
            if path.endswith(f"/{_RULES}") and (nested := ignore.load(os.path.join(base, path))) is not None:
                found[path[: -len(_RULES) - 1]] = nested
    return found
