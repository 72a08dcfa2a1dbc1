"""What a server does, and what is counted."""

from __future__ import annotations

from lurcher.runtime.light import dataclass
from lurcher.settings import setting


@dataclass(frozen=True)
class SavingsSettings:
    """What `lurcher stats` shows."""

    count: bool = setting(True, "Servers count, on this machine only, how many tokens their answers saved agents.")


@dataclass(frozen=True)
class ServeSettings:
    """`lurcher serve`. A project's own file cannot set these."""

    host: str = setting("127.0.0.1", "The address to listen on; any but this machine's own needs a token.")
    port: int = setting(7433, "The port to listen on; 0: any that is free.", low=0, high=65_535)
    token: str = setting("", "What a client has to send; at least 16 characters.")
    hosts: str = setting("", "Further names by which the server may be called, separated by spaces.")
    editor: str = setting("vscode://file/{path}:{line}", "The address that opens a line in your editor; empty: none.")
