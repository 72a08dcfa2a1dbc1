"""Rankings of commits: one module per ranking, each with `rank(context) -> HistoryRanking`."""
