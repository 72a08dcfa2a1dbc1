"""What semble's MCP tool `search` sends for questions about trees: a line {"tree", "query"} in, a line of its calls out.

Each call is a list of pieces [text, path, line] that together are the tool's text. The tool has no pages, so a further call
asks for twice as many results; those that an earlier call had are left out of the pieces, as if they had cost nothing.
"""

from __future__ import annotations

import json
import sys

from semble import SembleIndex
from semble.types import ContentType
from semble.utils import format_results

TOP_K = 5
MOST = 80


def main(lines: str) -> None:
    most_lines = None if lines == "whole" else int(lines)
    tree, index = "", None
    for row in sys.stdin:
        asked = json.loads(row)
        if asked["tree"] != tree:
            tree, index = asked["tree"], SembleIndex.from_path(asked["tree"], content=[ContentType.CODE])
        assert index is not None
        print(json.dumps(list(calls(index, asked["query"], most_lines))), flush=True)


def calls(index, query, most_lines):
    count, had = TOP_K, 0
    while count <= MOST:
        results = index.search(query, top_k=count, max_snippet_lines=most_lines)
        sent = format_results(query, results, most_lines, index.sources)
        yield list(pieces(sent, had))
        if len(results) < count:
            return
        count, had = 2 * count, len(results)


def pieces(sent, had):
    text = json.dumps(sent)
    begin = text.index('"results": [') + len('"results": [')
    yield text[:begin], None, None
    for number, result in enumerate(sent["results"]):
        if number < had:
            continue
        whole = json.dumps(result)
        assert whole in text
        head = whole[: whole.index('"content": "') + len('"content": "')] if "content" in result else whole
        yield head, None, None
        for line, row in enumerate(result.get("content", "").splitlines(keepends=True), result["start_line"]):
            yield json.dumps(row)[1:-1], result["file_path"], line
        yield '"}, ', None, None
    yield "]}", None, None


if __name__ == "__main__":
    main(*sys.argv[1:])
