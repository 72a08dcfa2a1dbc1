"""Orders of commits: one file per ranking, each with `rank(context) -> PastRanking`."""
