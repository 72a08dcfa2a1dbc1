"""Orders units. `default` sums the pieces of `evidence/`, `classic` applies `stages/`; the others serve one mode each."""
