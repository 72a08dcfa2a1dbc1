"""From a ranking to an answer: the excerpt of each hit, a page within a token budget, and the cursor of the next page."""
