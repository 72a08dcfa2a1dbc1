"""Addresses of services as they may be shown: without passwords and keys."""

from __future__ import annotations

import re

_SECRET = re.compile(r"(?<=://)([^/?#@]*?)(:[^/?#]*)?@(?=[^@/?#]*(?:[/?#]|$))")
_PARAMETER = re.compile(r"([?&](?:password|passwd|api[-_]?key|key|token|secret|sslpassword)=)[^&#]*", re.IGNORECASE)


def shown(url: str) -> str:
    """An address without its password or key."""
    hidden = _SECRET.sub(lambda found: f"{found[1]}{':***' if found[2] else ''}@", url)
    return _PARAMETER.sub(r"\1***", hidden)
