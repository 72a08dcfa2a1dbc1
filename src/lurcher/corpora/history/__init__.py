"""The past of a repository as a corpus: commits read from git, indexed, judged by what became of them, ranked."""
