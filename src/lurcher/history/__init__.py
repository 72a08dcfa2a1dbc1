"""The past of a repository: its commits read from git, indexed, judged by what became of them, and ranked."""
