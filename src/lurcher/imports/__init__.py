"""Which file imports which: out of syntax trees, resolved as each ecosystem resolves."""
