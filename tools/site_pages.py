"""Makes the site of the pages as they stand in the repository; mkdocs calls it (`hooks` in mkdocs.yml).

Pages link to each other by their paths in the repository, so that they can be read there too. Here README.md becomes the first
page, the pages of docs/ stand at the top, and those of other folders keep their place. What is no page, such as a source file,
is no part of the site: a link to it leads to the repository if `repo_url` is set, else its path is shown.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
OTHER_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md", "training/README.md")
"""Pages outside of docs/ that the site has, those of them that exist."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s:#]+)(#[^()\s]*)?\)")
_FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A folder in the navigation (`adr/`) stands for its pages in order; headings have the anchors that GitHub gives them."""
    config.nav = _expand(config.nav or [], Path(config.docs_dir))
    config.mdx_configs["toc"]["slugify"] = lambda heading, _: anchor_of(heading)
    return config


def _expand(nav: list[Any], docs: Path) -> list[Any]:
    out: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            out.append({title: _expand(below, docs) if isinstance(below, list) else below for title, below in entry.items()})
        elif entry.endswith("/"):
            pages = sorted(path.name for path in (docs / entry).glob("*.md"))
            out += [entry + name for name in sorted(pages, key=lambda name: (name != "README.md", name))]
        else:
            out.append(entry)
    return out


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in OTHER_PAGES:
        if (ROOT / path).is_file():
            files.append(File.generated(config, place_of(path), content=(ROOT / path).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    place = page.file.src_uri
    path = next((other for other in OTHER_PAGES if place_of(other) == place), f"docs/{place}")

    def moved(match: re.Match[str]) -> str:
        picture, label, target, anchor = match.group(1, 2, 3, 4)
        repository_path = normpath((PurePosixPath(path).parent / target).as_posix())
        for candidate in map(place_of, (repository_path, f"{repository_path}/README.md")):
            if files.get_file_from_path(candidate) is not None:
                return f"{picture}[{label}]({relpath(candidate, PurePosixPath(place).parent.as_posix())}{anchor or ''})"
        if not (ROOT / repository_path).exists():
            return match.group()  # mkdocs reports it
        if config.repo_url:
            return f"[{label}]({config.repo_url.rstrip('/')}/blob/HEAD/{repository_path}{anchor or ''})"
        return label if PurePosixPath(repository_path).name in label else f"{label} (`{repository_path}`)"

    out, end = [], 0
    for fence in _FENCE.finditer(markdown):
        out += [_LINK.sub(moved, markdown[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*out, _LINK.sub(moved, markdown[end:])])


def place_of(path: str) -> str:
    """Where the site has a page of the repository."""
    return "index.md" if path == "README.md" else path.removeprefix("docs/")


def anchor_of(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
