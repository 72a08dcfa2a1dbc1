"""Makes the pictures of docs/web.md: `python -m tests.surfaces.web.pictures REPOSITORY`, with a checkout of aiohttp."""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.surfaces.http.conftest import serving
from tests.surfaces.web.conftest import CHROMIUM

IMAGES = Path(__file__).resolve().parents[3] / "docs/images"
MOST_BYTES = 150_000
PICTURES = {
    "hits": ("/?q=how+are+redirects+followed", "light", ".facets .group"),
    "history": ("/?q=connector+timeout&in=history&outcome=reverted&outcome=hotfixed", "light", ".facets .group"),
    "file": ("/?file=aiohttp/client.py&line=762&q=redirects", "light", ".heat.h7"),
    "references": ("/?file=aiohttp/client.py&line=258&column=7&ref=aiohttp/client.py:258:7", "light", ".references .resolved"),
    "graph": ("/?file=aiohttp/client.py&tab=graph", "light", ".node.centre"),
    "dark": ("/?q=cookie+jar&in=all", "dark", ".facets .group"),
}
TO_WEBP = """async (source) => { const image = new Image(); image.src = source; await image.decode();
  const canvas = document.createElement("canvas"); canvas.width = image.width; canvas.height = image.height;
  canvas.getContext("2d").drawImage(image, 0, 0); return canvas.toDataURL("image/webp", 0.86); }"""


def main(repository: Path) -> None:
    IMAGES.mkdir(exist_ok=True)
    with serving(repository) as served, sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (address, theme, ready) in PICTURES.items():
            page = browser.new_page(viewport={"width": 1360, "height": 820}, color_scheme=theme)  # type: ignore[arg-type]
            page.goto(served.url.rstrip("/") + address)
            page.wait_for_selector(ready, state="attached", timeout=60_000)
            page.wait_for_timeout(2500)
            save(browser, page.screenshot(), IMAGES / f"{name}.webp")
            page.close()
        browser.close()


def save(browser: Any, png: bytes, target: Path) -> None:
    page = browser.new_page()
    found: str = page.evaluate(TO_WEBP, "data:image/png;base64," + base64.b64encode(png).decode())
    data = base64.b64decode(found.partition(",")[2])
    assert len(data) < MOST_BYTES, f"{target.name} has {len(data)} bytes"
    target.write_bytes(data)
    page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
