"""What goes wrong in the server, as errors that say what was tried and what to do."""

from __future__ import annotations

import psycopg
from psycopg import errors

from lurcher.errors import StoreError


def scrubbed(message: str, password: str) -> str:
    """The first line of a message, without the password should it be in there."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "no reason was given")
    return line.replace(password, "***") if password else line


def explained(error: psycopg.Error, place: str, password: str = "") -> StoreError:
    told = scrubbed(error.diag.message_primary or str(error), password)
    if isinstance(error, errors.QueryCanceled):
        return StoreError(
            f"the store at {place} did not answer in time: {told}",
            "raise store.seconds, or: lurcher doctor",
            passing=True,
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(
            f"the store at {place} does not allow it: {told}", "docs/postgres.md has the rights that a role needs"
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreError(f"the store at {place} can only be read: {told}", "name the primary server, not a replica")
    if isinstance(error, errors.DiskFull):
        return StoreError(f"the store at {place} is full: {told}", "make room on the server")
    return StoreError(
        f"the store at {place} failed: {told}", "run: lurcher doctor", passing=isinstance(error, psycopg.OperationalError)
    )
