"""The files of a tree: asked of git in a work tree, found by a walk elsewhere."""

from __future__ import annotations

import time

from lurcher.sources.files import FilesSettings, Listing, circumstances
from lurcher.sources.git.worktree import list_work_tree
from lurcher.sources.roots import Root
from lurcher.sources.walk import walk


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
        listing = list_work_tree(root.place, settings, started, about)
        if listing is not None:
            return listing
        about = ""  # git may well answer the next time: nothing here is to be relied on
    return walk(root.place, settings, started, about)
