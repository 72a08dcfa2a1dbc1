"""Questions about files and the tree, not for units of text: what depends on this, what is in here, is there such a name.

Each file answers one of them from a snapshot; nothing here ranks.
"""
