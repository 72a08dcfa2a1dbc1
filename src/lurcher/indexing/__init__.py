"""From a source to a new generation of the index: build, update, watch."""
