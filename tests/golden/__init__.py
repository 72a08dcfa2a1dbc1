"""Golden answers: what recorded questions over pinned trees must answer, byte for byte."""
