"""Scores an engine on labelled questions: datasets → harness → runs → report."""

from lurcher.evaluation.harness import Searcher, evaluate
from lurcher.evaluation.report import Comparison, compare, format_comparison, format_report
from lurcher.evaluation.runs import Run, load_run, save_run

__all__ = [
    "Comparison",
    "Run",
    "Searcher",
    "compare",
    "evaluate",
    "format_comparison",
    "format_report",
    "load_run",
    "save_run",
]
