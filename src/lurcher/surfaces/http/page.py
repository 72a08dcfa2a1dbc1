"""The files of the page, read once and kept compressed: a name that is not among them leads nowhere."""

from __future__ import annotations

import gzip
import hashlib
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

_TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}  # fmt: skip
_FRONT = "index.html"


class Page:
    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, bytes, str, str]] = {}
        for entry in resources.files("lurcher.surfaces.web").iterdir():
            kind = entry.name.rpartition(".")[2]
            if kind in _TYPES:
                data = entry.read_bytes()
                mark = f'"{hashlib.blake2b(data, digest_size=10).hexdigest()}"'
                self._files[entry.name] = (data, gzip.compress(data, 9, mtime=0), mark, _TYPES[kind])

    @property
    def compressed_bytes(self) -> int:
        return sum(len(entry[1]) for entry in self._files.values())

    def front(self, request: Request) -> Response:
        return self._reply(request, _FRONT)

    def file(self, request: Request) -> Response:
        return self._reply(request, request.path_params["name"])

    def _reply(self, request: Request, name: str) -> Response:
        found = self._files.get(name)
        if found is None:
            from lurcher.surfaces.http.replies import refusal

            return refusal(404, "path", "there is nothing here", "the page is at /")
        data, packed, mark, kind = found
        headers = {"etag": mark, "cache-control": "no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(packed, headers={**headers, "content-encoding": "gzip"}, media_type=kind)
        return Response(data, headers=headers, media_type=kind)
