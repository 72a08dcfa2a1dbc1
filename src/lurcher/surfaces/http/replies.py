"""Answers and errors as HTTP responses: JSON as the command line prints it, and the status of each error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from lurcher.errors import (
    ConfigError,
    DeadlineExceeded,
    IndexBuilding,
    IndexLocked,
    LurcherError,
    MissingExtra,
    ModelError,
    PathError,
    RootGone,
    ServerError,
    UsageError,
)
from lurcher.surfaces.wording import Wording

JSON = "application/json"


class Busy(LurcherError):
    """Too many questions at once, or no index yet: the client should try again in a moment."""

    code = "busy"

    def __init__(self, message: str, hint: str = "ask again in a moment", code: str = "busy", seconds: int = 1) -> None:
        super().__init__(message, hint)
        self.code = code
        self.seconds = seconds


def encode(value: Any) -> bytes:
    """The bytes that `--json` prints."""
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def status_of(error: LurcherError) -> int:
    if isinstance(error, (Busy, IndexBuilding, IndexLocked, RootGone)):
        return 503
    if isinstance(error, DeadlineExceeded):
        return 504
    if isinstance(error, PathError):
        return 404
    if isinstance(error, (UsageError, ConfigError)):
        return 400
    if isinstance(error, (MissingExtra, ModelError)):
        return 501
    return 502 if isinstance(error, ServerError) else 500


def error_reply(error: LurcherError, wording: Wording) -> Response:
    seconds = getattr(error, "seconds", 1)
    headers = {"retry-after": str(seconds)} if status_of(error) == 503 else {}
    shown = wording.render_json(error.to_dict())
    shown["message"] = " ".join(shown["message"].split())  # a path may contain line breaks
    return Response(encode({"error": shown}), status_of(error), headers, JSON)


def error_response(status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode({"error": {"code": code, "message": message, "hint": hint}}), status, headers, JSON)
