"""From a query to a plan: what kind of question it is, the terms to look for, the files that may answer."""
