"""From a query to a plan: its intent, its weighted terms, its pattern, and the files that may answer."""
