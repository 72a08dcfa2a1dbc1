"""What can be searched: code, history, notes, libraries, documents of other programs."""
