"""Vectors out of term counts: the term table (`table`), what a unit's vector is made of (`static`), which model is in use."""
