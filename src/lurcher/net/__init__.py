"""Requests to configured servers: an HTTP client with a total deadline, retries with growing pauses, and a circuit breaker."""
