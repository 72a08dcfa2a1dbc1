"""Score units for a plan; each lane knows nothing of the others."""
