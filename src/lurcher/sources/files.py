"""The files of a tree: asked from git in a work tree, walked elsewhere."""

from __future__ import annotations

import os
import time

from lurcher.quick import blake2b
from lurcher.sources import git
from lurcher.sources.listing import Entry, FilesSettings, Listing
from lurcher.sources.roots import Root

__all__ = ["Entry", "FilesSettings", "Listing", "circumstances", "list_files"]


def list_files(root: Root, settings: FilesSettings) -> Listing:
    """Every file of the root that may be searched, whatever part of it was asked for.

    In a work tree git decides what is ignored; `.lurcherignore` files (gitignore syntax, nested ones too) then take
    away more or, with `!` lines, bring back what git or the built-in names leave out. Patterns hold for entries as in
    git: the deepest file's last match decides, and nothing below an excluded folder comes back. A nested
    `.lurcherignore` counts if git does not ignore it. When git fails, the tree is walked.
    """
    started = time.time_ns()
    about = circumstances(root, settings)
    if root.git:
        from lurcher.sources.worktree import list_work_tree

        listing = list_work_tree(root.place, settings, started, about)
        if listing is not None:
            return listing
        about = ""  # git may well answer the next time: nothing here is to be relied on
    from lurcher.sources.walk import walk

    return walk(root.place, settings, started, about)


def circumstances(root: Root, settings: FilesSettings) -> str:
    """A digest of what decides about a listing besides the tree: settings, environment, and what the user may read."""
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    decisive = repr((root.git, settings, user, git.bearing()))
    return blake2b(os.fsencode(decisive), digest_size=16).hexdigest()
