"""Who uses a definition: the occurrences of its name, and which of them mean it."""
