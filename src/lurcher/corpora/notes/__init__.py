"""Notes: a vault of Markdown, or a repository's documents, as a corpus."""
