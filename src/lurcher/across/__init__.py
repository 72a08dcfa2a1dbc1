"""One answer out of several sources."""
