"""Notes: a vault of Markdown, or a repository's documents. They are units of the same index as code, cut by headings."""
