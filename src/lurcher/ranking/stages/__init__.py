"""The stages of the classic ranking, applied in order to fused scores: one per file of this folder.

Each has `apply(context, scores, log)`: it changes unit → score in place and logs each push as a StageWhy.
"""
