"""What all servers that models run on have in common: when they are asked, how many at a time, and how they are doing."""
