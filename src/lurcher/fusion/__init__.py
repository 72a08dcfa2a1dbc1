"""Pure formulas that merge ranked lists, one per file, each with its citation."""
