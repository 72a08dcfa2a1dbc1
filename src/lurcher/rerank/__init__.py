"""The second look: models that read question and text together reorder the first hits. One file per reranker."""
