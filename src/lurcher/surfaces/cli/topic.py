"""`lurcher help`: the topics, one of them, or the help of a command."""

from __future__ import annotations

from lurcher.errors import UsageError
from lurcher.surfaces.cli.flags import COMMANDS, build_parser
from lurcher.surfaces.cli.help_topics import TOPICS


def show(name: str | None) -> None:
    if name is None:
        print("lurcher help TOPIC, where the topic is one of these or a command:\n")
        width = max(map(len, TOPICS))
        for topic, (title, _) in TOPICS.items():
            print(f"  {topic:<{width}}  {title}")
        print(f"\ncommands: {', '.join(command.name for command in COMMANDS)}")
    elif name in TOPICS:
        title, text = TOPICS[name]
        print(f"{name}: {title}\n\n{text}")
    elif any(command.name == name for command in COMMANDS):
        build_parser().parse_args([name, "--help"])
    else:
        import difflib

        near = difflib.get_close_matches(name, [*TOPICS, *(command.name for command in COMMANDS)], 2)
        raise UsageError(f"there is no help on '{name}'", f"did you mean {' or '.join(near)}?" if near else "see: lurcher help")
