"""Evidence that a file answers a question: one kind per file of this folder.

Each has `score(context) -> array`, one number per file, 0 where it has nothing to say, and may leave a note for `why`.
"""
