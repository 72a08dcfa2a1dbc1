"""Orders units: `default` and `classic`, each made of pieces in `evidence/` or `stages/`."""
