"""From a ranking to an answer: what each hit shows, a page within a token budget, and the cursor of the next page."""
