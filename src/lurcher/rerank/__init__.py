"""Rerankers: models that read query and text together reorder the first hits. One file per reranker."""
