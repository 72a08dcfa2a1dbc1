"""`lurcher hook`: answers the hooks of Claude Code and Codex, which send JSON on standard input and wait for the answer.

Before a prompt, the places that match it best. Once in a session each, before a grep for words and before a large file is read
whole: what lurcher has for it. An answer only adds text to what the agent knows. Nothing is ever blocked: the exit status is 0,
and there is no output, when there is no index, nothing fits, the input is odd, or time is up.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from lurcher.engine import Engine

_MOST_INPUT = 1_000_000
_MOST_QUERY = 4000
_SECONDS = 2.0
"""After this long the agent goes on without us. An answer takes 50 ms of processor time; this is for a machine that is busy."""
_LIMIT, _BUDGET = 6, 400
"""Hits, and their tokens."""
_LARGE = 40_000
"""Bytes of a file that is not read whole without a word."""
_KEEP_DAYS = 2
_GREPS = ("grep", "egrep", "rg", "ag", "ack")
_SHOWS = ("cat", "bat", "nl")
_PIPED = "|"
_WORD = 3
"""Letters of the shortest word worth a search."""


def run_hook(parsed: Namespace) -> int:
    from threading import Thread

    Thread(target=_give_up, daemon=True).start()
    try:
        import json

        event = json.loads(sys.stdin.buffer.read(_MOST_INPUT))
        text = _answer(event) if isinstance(event, dict) else ""
        if text:
            name = event["hook_event_name"]
            print(json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}), flush=True)
    except Exception:
        pass  # a hook that fails would only disturb the agent
    os._exit(0)  # without waiting for threads


def _give_up() -> None:
    time.sleep(_SECONDS)
    os._exit(0)


def _answer(event: dict[str, Any]) -> str:
    name, folder = event.get("hook_event_name"), event.get("cwd")
    if not isinstance(folder, str) or not os.path.isdir(folder):
        return ""
    if name == "UserPromptSubmit":
        prompt = event.get("prompt")
        if not isinstance(prompt, str) or prompt.lstrip()[:1] in ("/", "!", "#") or len(_words(prompt)) < 3:
            return ""
        found = _places(prompt[:_MOST_QUERY], folder)
        return f"Places that may matter for this prompt, ranked by lurcher (path:lines  symbol):\n{found}" if found else ""
    asked = event.get("tool_input")
    if name != "PreToolUse" or not isinstance(asked, dict):
        return ""
    tool, session = event.get("tool_name"), str(event.get("session_id"))
    if tool == "Read":
        return _suggest_outline(asked, folder, session)
    shown = _shown_file(tool, asked)
    if shown:
        return _suggest_outline({"file_path": shown}, folder, session)
    query = _grep_query(tool, asked, folder)
    if not _is_telling(query) or _was_said("grep", session):
        return ""
    found = _places(query, folder)
    if not found:
        return ""
    return f"For this grep, lurcher's search tool (or: lurcher search) ranks these places first (path:lines  symbol):\n{found}"


def _words(text: str) -> list[str]:
    """Words of a text, without what is special in a regular expression."""
    plain = "".join(c if c.isalnum() else " " for c in text.replace("\\b", " ").replace("\\w", " ").replace("\\s", " "))
    return [word for word in plain.split() if len(word) >= _WORD]


def _is_telling(query: str) -> bool:
    """Whether a search has more to go by than one word: two, or a name of several parts."""
    words = _words(query)
    return len(words) > 1 or any(word[1:] not in (word[1:].lower(), word[1:].upper()) for word in words)


def _shown_file(tool: object, asked: dict[str, Any]) -> str:
    """The file that a command of the shell shows whole; empty if it is another command."""
    command = asked.get("command")
    if tool != "Bash" or not isinstance(command, str) or len(command) > _MOST_QUERY:
        return ""
    program, _, rest = command.strip().partition(" ")
    if program not in _SHOWS or any(c in rest for c in "|<>;&$`*\n"):
        return ""
    import shlex

    try:
        files = [part for part in shlex.split(rest) if not part.startswith("-")]
    except ValueError:
        return ""
    return files[0] if len(files) == 1 else ""


def _grep_query(tool: object, asked: dict[str, Any], folder: str) -> str:
    """The words that a grep looks for; empty if it is no grep, or one for which grep is better: in a file that is known."""
    if tool == "Grep":
        pattern, place = asked.get("pattern"), asked.get("path")
        if not isinstance(pattern, str) or (isinstance(place, str) and os.path.isfile(os.path.join(folder, place))):
            return ""
        return " ".join(_words(pattern[:_MOST_QUERY]))
    command = asked.get("command")
    if tool != "Bash" or not isinstance(command, str) or len(command) > _MOST_QUERY:
        return ""
    import shlex

    try:
        parts = shlex.split(command)
    except ValueError:
        return ""
    if parts[:2] == ["git", "grep"]:
        parts = parts[1:]
    if not parts or os.path.basename(parts[0]) not in (*_GREPS, "grep"):
        return ""
    plain = [part for part in parts[1 : parts.index(_PIPED) if _PIPED in parts else len(parts)] if not part.startswith("-")]
    if any(os.path.isfile(os.path.join(folder, part)) for part in plain[1:]):
        return ""
    return " ".join(_words(plain[0])) if plain else ""


def _suggest_outline(asked: dict[str, Any], folder: str, session: str) -> str:
    path = asked.get("file_path")
    if not isinstance(path, str) or asked.get("offset") or asked.get("limit"):
        return ""
    path = os.path.join(folder, path)
    size = os.stat(path).st_size if os.path.isfile(path) else 0
    if size < _LARGE or _was_said("read", session):
        return ""
    return (
        f"This file has {size // 1000} kB, about {size // 4000},000 tokens. The outline tool of lurcher (or: lurcher outline) "
        f"lists its symbols with lines, and its search tool finds the lines for a question; then read only those."
    )


def _places(query: str, folder: str) -> str:
    """The best places for a query, one per line; empty without an index that is there already."""
    engine = _open(folder)
    if engine is None:
        return ""
    with engine:
        # From the index as it is: comparing it with the tree, or writing, is not for who waits for a prompt.
        answer = engine.search(
            query, limit=_LIMIT, budget=_BUDGET, context="none", refresh=False, check=False, reasons=False, links=False
        )
    return "\n".join(f"{hit.path}:{hit.start_line}-{hit.end_line}  {hit.symbol or ''}".rstrip() for hit in answer.hits)


def _open(folder: str) -> Engine | None:
    from lurcher.engine import Engine

    engine = Engine.open(folder)
    if not all(project.has_index() for project in engine.projects):
        engine.close()
        return None
    return engine


def _was_said(what: str, session: str) -> bool:
    """Whether this suggestion was made in this session before; from now on it was. If that cannot be noted, it counts as made.
    """
    import hashlib

    from lurcher.config.user_files import state_folder

    name = f"{what}-{hashlib.sha256(session.encode('utf-8', 'replace')).hexdigest()[:16]}"
    try:
        folder = state_folder() / "hooks"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / name).touch(0o600, exist_ok=False)
        oldest = time.time() - 86400 * _KEEP_DAYS
        for path in folder.iterdir():
            if path.lstat().st_mtime < oldest:
                path.unlink()
    except OSError:
        return True
    return False
