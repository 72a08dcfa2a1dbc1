"""The history of a repository as a corpus: commits are read from git, indexed, given an outcome, and ranked."""
