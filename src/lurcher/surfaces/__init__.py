"""The surfaces: each maps one way of asking onto the engine, and errors once, at its edge."""
