"""From a query to a plan: what kind of question it is, which terms to look for, which files may answer."""
