"""Documents from elsewhere, which installed packages gather: tickets, a wiki, minutes of meetings."""
