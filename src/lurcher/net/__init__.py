"""Requests to configured servers: one HTTP client with a total deadline, and a circuit breaker."""
