"""Changes files of the user: only regular ones inside of the project or the home folder, each replaced in one step.

In JSON with comments and trailing commas one member is added or removed, and every other byte kept; in YAML one entry of a
section. A section between two
marks, in AGENTS.md or in a git hook, is added, renewed or removed without touching anything else. The hook updates the index
after each commit, in the background, and never fails or delays the commit.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher.runtime.process import replace_file

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_DEEPEST = 200


class NotEditable(ValueError):
    """The text cannot be changed safely."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object, from the start of its name to the end of its value."""

    name: str
    start: int
    value: Node
    end: int


@dataclass(frozen=True, slots=True)
class Node:
    start: int
    end: int
    data: Any
    members: tuple[Member, ...] | None = None
    """None unless it is an object."""
    trailing_comma: bool = False

    def member(self, name: str) -> Member | None:
        return next((member for member in self.members or () if member.name == name), None)


def parse(text: str) -> Node:
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    node = _value(text, at, 0)
    if _skip(text, node.end) != len(text):
        raise NotEditable("there is more after the first value")
    return node


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise NotEditable("it is nested too deeply")
    if text.startswith("{", at):
        return _object(text, at, depth)
    if text.startswith("[", at):
        return _array(text, at, depth)
    match = STRING.match(text, at) or _SCALAR.match(text, at)
    if match is None:
        raise NotEditable(f"it is no JSON from line {text.count(chr(10), 0, at) + 1} on")
    try:
        return Node(at, match.end(), json.loads(match.group()))
    except ValueError:
        raise NotEditable("a text in it is broken") from None


def _object(text: str, start: int, depth: int) -> Node:
    members: list[Member] = []
    comma = False
    at = _skip(text, start + 1)
    while not text.startswith("}", at):
        if members and not comma:
            raise NotEditable("a comma is missing")
        key = STRING.match(text, at)
        if key is None:
            raise NotEditable(f"it is no JSON from line {text.count(chr(10), 0, at) + 1} on")
        colon = _skip(text, key.end())
        if not text.startswith(":", colon):
            raise NotEditable("a colon is missing")
        value = _value(text, _skip(text, colon + 1), depth + 1)
        name = json.loads(key.group())
        if any(member.name == name for member in members):
            raise NotEditable(f"'{name}' is in it twice")
        members.append(Member(name, at, value, value.end))
        at = _skip(text, value.end)
        comma = text.startswith(",", at)
        at = _skip(text, at + 1) if comma else at
    return Node(start, at + 1, {member.name: member.value.data for member in members}, tuple(members), comma and bool(members))


def _array(text: str, start: int, depth: int) -> Node:
    items: list[Any] = []
    comma = True
    at = _skip(text, start + 1)
    while not text.startswith("]", at):
        if not comma:
            raise NotEditable("a comma is missing")
        value = _value(text, at, depth + 1)
        items.append(value.data)
        at = _skip(text, value.end)
        comma = text.startswith(",", at)
        at = _skip(text, at + 1) if comma else at
    return Node(start, at + 1, items)


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of keys; missing objects on the way are created."""
    node = parse(text)
    wanted = _merge_value(node.data, path, value)
    for depth, name in enumerate(path):
        if node.members is None:
            raise NotEditable(f"'{'.'.join(path[:depth]) or 'it'}' is no object")
        member = node.member(name)
        if member is None:
            new: Any = value
            for outer in reversed(path[depth + 1 :]):
                new = {outer: new}
            return _check_text(_insert_member(text, node, name, new), wanted)
        node = member.value
    return _check_text(text[: node.start] + _write_value(value, _indent(text, node.start), text) + text[node.end :], wanted)


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without the value at a path; objects that become empty are removed too."""
    nodes = [parse(text)]
    for name in path:
        member = nodes[-1].member(name)
        if member is None:
            return text
        nodes.append(member.value)
    depth = len(path) - 1
    while depth > 0 and len(nodes[depth].members or ()) == 1:
        depth -= 1
    wanted = _remove_value(nodes[0].data, path[: depth + 1])
    return _check_text(_cut_member(text, nodes[depth], path[depth]), wanted)


def _merge_value(data: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    return {**data, path[0]: _merge_value(data.get(path[0], {}), path[1:], value)} if isinstance(data, dict) else data


def _remove_value(data: Any, path: Sequence[str]) -> Any:
    if len(path) == 1:
        return {name: value for name, value in data.items() if name != path[0]}
    return {**data, path[0]: _remove_value(data[path[0]], path[1:])}


def _check_text(text: str, wanted: Any) -> str:
    if parse(text).data != wanted:
        raise NotEditable("it is written in a way that cannot be changed safely")
    return text


def _insert_member(text: str, node: Node, name: str, value: Any) -> str:
    outer = _indent(text, node.start)
    step = _step(text)
    members = node.members or ()
    inner = _indent(text, members[-1].start) if members and _alone(text, members[-1].start) else outer + step
    written = f"{json.dumps(name)}: {_write_value(value, inner, text)}"
    newline = _newline(text)
    if not members:
        comments = text[node.start + 1 : node.end - 1].rstrip()
        return f"{text[: node.start]}{{{comments}{newline}{inner}{written}{newline}{outer}}}{text[node.end :]}"
    last = members[-1].end
    if node.trailing_comma:
        place = _line_end(text, _after_comma(text, last))
        return f"{text[:place]}{newline}{inner}{written},{text[place:]}"
    place = _line_end(text, last)
    return f"{text[:last]},{text[last:place]}{newline}{inner}{written}{text[place:]}"


def _cut_member(text: str, node: Node, name: str) -> str:
    """The text without one member of an object, its comma, and its line if nothing else is on it."""
    members = node.members or ()
    number = next(i for i, member in enumerate(members) if member.name == name)
    member = members[number]
    if len(members) == 1:
        # Nothing but this and perhaps comments: these stay.
        end = _after_comma(text, member.end) if node.trailing_comma else member.end
        before, after = text[node.start + 1 : member.start], text[end : node.end - 1]
        inside = before.rstrip() + after if (before + after).strip() else ""
        return f"{text[: node.start]}{{{inside}}}{text[node.end :]}"
    if number == len(members) - 1 and not node.trailing_comma:
        comma = text.index(",", _skip(text, members[number - 1].end))
        between = text[comma + 1 : member.start].rstrip()
        return text[:comma] + between + text[member.end :]
    end = _after_comma(text, member.end)
    start = member.start
    if _alone(text, start):
        start = text.rfind("\n", 0, start) + 1
        rest = re.compile(r"[ \t]*\r?\n").match(text, end)
        end = rest.end() if rest else end
    return text[:start] + text[end:]


def _after_comma(text: str, at: int) -> int:
    return text.index(",", _skip(text, at)) + 1


def _line_end(text: str, at: int) -> int:
    """The position after a comment at the end of the same line, if there is one."""
    match = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\n]*?\*/[ \t]*)?(?=\r?\n)").match(text, at)
    return match.end() if match else at


def _alone(text: str, at: int) -> bool:
    """Whether only white space comes before it on its line."""
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _step(text: str) -> str:
    """The indentation of one level of the text."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match.group(1) if match else "  "


def has_comments(text: str, path: Sequence[str]) -> bool:
    """Whether a comment is in the value at a path, so that writing it anew would lose it."""
    node = parse(text)
    for name in path:
        member = node.member(name)
        if member is None:
            return False
        node = member.value
    return re.search(r"//|/\*", STRING.sub("", text[node.start : node.end])) is not None


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _write_value(value: Any, indent: str, text: str) -> str:
    lines = json.dumps(value, indent=_step(text), ensure_ascii=False).split("\n")
    return (_newline(text) + indent).join(lines)


# -- YAML ---------------------------------------------------------------------------------------------------------------

_YAML_KEY = re.compile(r"([ ]*)([A-Za-z_][\w-]*|\"[^\"\\]*\"|'[^']*')[ ]*:(?:[ ]+(.*))?$")


def yaml_entry(text: str, path: Sequence[str]) -> dict[str, Any] | None:
    """The entry of a section: `path` is the name of a top-level key and that of a key in it.

    Only what programs write in block style is understood, which is enough for an entry of ours; the rest is not read.
    """
    lines, _, span = _find_yaml(text, path)
    if span is None:
        return None
    entry: dict[str, Any] = {}
    last = ""
    for line in lines[span[0] + 1 : span[1]]:
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if stripped.startswith("- ") and isinstance(entry.get(last), (list, type(None))):
            entry[last] = [*(entry.get(last) or []), _yaml_scalar(stripped[2:])]
            continue
        match = _YAML_KEY.match(line)
        if match is None:
            raise NotEditable("its entry is written in another way")
        last = match.group(2).strip("\"'")
        entry[last] = _yaml_scalar(match.group(3) or "null")
    return entry


def with_yaml_entry(text: str, path: Sequence[str], entry: dict[str, Any]) -> str:
    """The text with the entry, which replaces an earlier one or comes last in its section."""
    lines, section, span = _find_yaml(text, path)
    newline = _newline(text)
    indent = "  "
    if section is not None:
        indent = " " * _yaml_depth(lines, section) or indent
    block = [f"{indent}{path[1]}:"]
    block += [f"{indent * 2}{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items()]
    if span is not None:
        lines[span[0] : span[1]] = block
    elif section is not None:
        lines[section[0]] = re.sub(r":[ ]*(?:\{\}|null|~)", ":", lines[section[0]], count=1)
        lines[section[1] : section[1]] = block
    else:
        lines = [*([] if lines == [""] else lines[:-1] if lines[-1] == "" else lines), f"{path[0]}:", *block, ""]
    made = newline.join(lines)
    if yaml_entry(made, path) != entry:
        raise NotEditable("it is written in a way that cannot be changed safely")
    return made


def without_yaml_entry(text: str, path: Sequence[str]) -> str:
    """The text without the entry, and without its section if nothing else is in that."""
    lines, section, span = _find_yaml(text, path)
    if section is None or span is None:
        return text
    rest = lines[section[0] + 1 : span[0]] + lines[span[1] : section[1]]
    cut = span if any(line.strip() for line in rest) else section
    return _newline(text).join(lines[: cut[0]] + lines[cut[1] :])


Span = tuple[int, int]


def _find_yaml(text: str, path: Sequence[str]) -> tuple[list[str], Span | None, Span | None]:
    """The lines, and of the section and of the entry the first line and the one after the last."""
    lines = text.replace("\r\n", "\n").split("\n")
    if any(line.startswith(("---", "...")) for line in lines[1:]):
        raise NotEditable("it holds several YAML documents")
    outer = (line for line in lines if line[:1] not in ("", " ", "#", "-"))
    if any(_YAML_KEY.match(line) is None for line in outer):
        raise NotEditable("it is not a plain YAML mapping")
    section = _yaml_span(lines, path[0], 0, len(lines), 0)
    if section is None:
        return lines, None, None
    said = lines[section[0]].partition(":")[2].split(" #")[0].strip()
    listed = section[1] < len(lines) and lines[section[1]].startswith("-")
    if said not in ("", "{}", "null", "~") or listed:
        raise NotEditable(f"'{path[0]}' is written in another way")
    depth = _yaml_depth(lines, section)
    return lines, section, _yaml_span(lines, path[1], *section, depth) if depth else None


def _yaml_depth(lines: list[str], section: Span) -> int:
    """The indentation of what is in a section; 0 if nothing is."""
    inside = (line for line in lines[section[0] + 1 : section[1]] if line.lstrip()[:1] not in ("", "#"))
    first = next(inside, "")
    return len(first) - len(first.lstrip())


def _yaml_span(lines: list[str], name: str, start: int, end: int, depth: int) -> Span | None:
    """The lines of a key at an indentation, without the blank lines and comments after it."""

    def is_outer(line: str) -> bool:
        return len(line) - len(line.lstrip()) <= depth

    heads = [
        i
        for i in range(start, end)
        if (match := _YAML_KEY.match(lines[i])) and len(match.group(1)) == depth and match.group(2).strip("\"'") == name
    ]
    if len(heads) > 1:
        raise NotEditable(f"'{name}' is in it twice")
    if not heads:
        return None
    stop = heads[0] + 1
    while stop < end and (not is_outer(lines[stop]) or lines[stop].lstrip()[:1] in ("", "#")):
        stop += 1
    while stop > heads[0] + 1 and is_outer(lines[stop - 1]):
        stop -= 1
    return heads[0], stop


def _yaml_scalar(text: str) -> Any:
    text = text.strip()
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] in ("&", "*", "!", "|", ">"):
        raise NotEditable("its entry is written in another way")
    try:
        return json.loads(text)
    except ValueError:
        if text[:1] in ('"', "[", "{"):
            raise NotEditable("its entry is written in another way") from None
        return text.split(" #")[0].rstrip()


MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """The text of a file before and after; None if it does not exist."""

    path: Path
    before: str | None
    after: str | None
    mode: int | None = None
    within: Path | None = None
    """A file that is removed takes folders along that held nothing else, up to this one."""

    @property
    def nothing(self) -> bool:
        return self.before == self.after


def read(path: Path, within: Path) -> str | None:
    """The text of a file, None if it does not exist; raises NotEditable if we may not change it."""
    folder = path.parent
    while folder != within and folder != folder.parent:
        if folder.is_symlink():
            raise NotEditable(f"{folder.name} is a link")
        folder = folder.parent
    try:
        status = path.lstat()
    except FileNotFoundError:
        _writable(path.parent)
        return None
    except OSError as error:
        raise NotEditable(f"it cannot be read: {error.strerror}") from None
    if stat.S_ISLNK(status.st_mode):
        raise NotEditable("it is a link")
    if not stat.S_ISREG(status.st_mode):
        raise NotEditable("it is not a regular file")
    if status.st_size > MOST_BYTES:
        raise NotEditable("it is larger than 1 MB")
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise NotEditable("it is read-only")
    _writable(path.parent)
    try:
        # Read as bytes, so that line ends stay as they are.
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise NotEditable("it is not UTF-8 text") from None
    except OSError as error:
        raise NotEditable(f"it cannot be read: {error.strerror}") from None


def _writable(folder: Path) -> None:
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise NotEditable(f"the folder {folder.name} cannot be written")


def apply(change: Change) -> None:
    """Replace the file in one step: readers see the old text or the new one."""
    if change.nothing:
        return
    path = change.path
    current = path.read_bytes().decode("utf-8") if path.exists() else None
    if current != change.before:
        raise NotEditable("it has just been changed by another program")
    if change.after is None:
        path.unlink()
        with contextlib.suppress(OSError):
            for folder in path.parents:
                if folder == change.within:
                    break
                folder.rmdir()  # fails for one that holds anything else
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = change.mode if change.mode is not None else path.stat().st_mode & 0o777 if path.exists() else 0o644
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(change.after.encode("utf-8"))
            out.flush()
            os.fsync(out.fileno())
        Path(name).chmod(mode)
        replace_file(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def add_section(text: str, section: str, begin: str, end: str) -> str:
    """The text with the section, which replaces an earlier one or goes to the end."""
    place = _find(text, begin, end)
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([begin, *section.strip("\n").split("\n"), end])
    if place is not None:
        return text[: place[0]] + block + text[place[1] :]
    if not text.strip():
        return block + newline
    gap = newline if text.endswith(("\n", "\r")) else newline * 2
    return text + gap + block + newline


def remove_section(text: str, begin: str, end: str) -> str:
    """The text without the section and the blank line that came with it."""
    place = _find(text, begin, end)
    if place is None:
        return text
    before, after = text[: place[0]], text[place[1] :]
    newline = "\r\n" if "\r\n" in text else "\n"
    after = after.removeprefix(newline)
    if before.endswith(newline * 2) and (not after or after.startswith(newline)):
        before = before.removesuffix(newline)
    return before + after


def _find(text: str, begin: str, end: str) -> tuple[int, int] | None:
    starts, ends = text.count(begin), text.count(end)
    if not starts and not ends:
        return None
    first, last = text.find(begin), text.find(end)
    if starts != 1 or ends != 1 or last < first:
        raise NotEditable(f"the marks {begin} and {end} in it do not match")
    return first, last + len(end)


# -- files that are all ours --------------------------------------------------------------------------------------------

_SEAL = "<!-- written by lurcher init, {}; to keep a change of your own, delete this line -->\n"


def seal(text: str) -> str:
    """The text with a last line by which `check_seal` knows later whether somebody has changed it."""
    return text + _SEAL.format(hashlib.sha256(text.encode()).hexdigest()[:12])


def check_seal(text: str) -> None:
    """Raise NotEditable unless the text is as `seal` made it."""
    body, found, _ = text.rpartition(_SEAL.partition("{}")[0])
    if not found:
        raise NotEditable("it was not written by lurcher init")
    if seal(body) != text:
        raise NotEditable("it was changed since lurcher init wrote it")


# -- the git hook -------------------------------------------------------------------------------------------------------

HOOK_BEGIN, HOOK_END = "# lurcher:begin", "# lurcher:end"
HOOK = """# Brings the index up to date in the background. It does not wait, and what goes wrong here fails no commit.
(
  for name in $(env | sed -n 's/^\\(GIT_[A-Z_]*\\)=.*/\\1/p'); do unset "$name"; done
  if command -v lurcher >/dev/null 2>&1; then
    nohup lurcher index --quiet . </dev/null >/dev/null 2>&1 &
  fi
) </dev/null >/dev/null 2>&1 || :"""
_SHELLS = re.compile(r"#!\s*(?:/usr/bin/env\s+(?:-\S+\s+)?|\S*/)(?:ba|da|z|k)?sh\b")


def find_hook(project: Path) -> Path:
    """The path of the hook; NotEditable where other repositories may share it."""
    found = _git(project, "rev-parse", "--git-path", "hooks/post-commit")
    if found is None:
        raise NotEditable("this is not a git repository")
    path = Path(project, found)
    own = [Path(project).resolve()]
    common = _git(project, "rev-parse", "--git-common-dir")
    if common is not None:
        own.append(Path(project, common).resolve())
    if not any(path.parent.resolve().is_relative_to(folder) for folder in own):
        raise NotEditable(f"core.hooksPath leads to {path.parent}, which other repositories may share")
    return path


def _git(project: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=project, capture_output=True, timeout=10, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n") if done.returncode == 0 else None


def add_hook(text: str | None, path: Path) -> str:
    """The hook with our section, which comes first: any later line of a hook may exit."""
    if text is None or not text.strip():
        return f"#!/bin/sh\n{HOOK_BEGIN}\n{HOOK}\n{HOOK_END}\n"
    if not path.stat().st_mode & stat.S_IXUSR:
        raise NotEditable("it is not executable, so it is switched off")
    first, newline, rest = text.partition("\n")
    if _SHELLS.match(first) is None:
        raise NotEditable("it is not a shell script")
    if HOOK_BEGIN in text or HOOK_END in text:
        return add_section(text, HOOK, HOOK_BEGIN, HOOK_END)
    return f"{first}{newline or chr(10)}{HOOK_BEGIN}\n{HOOK}\n{HOOK_END}\n{rest}"


def remove_hook(text: str) -> str | None:
    """The hook without our section; None if nothing else is in it."""
    rest = remove_section(text, HOOK_BEGIN, HOOK_END)
    return None if rest.strip() in ("#!/bin/sh", "") else rest
