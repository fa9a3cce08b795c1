"""Links between the pages that were built: python docs/check_links.py docs/_build/html."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

GENERATED = ("genindex.html", "search.html", "_static", "_modules")
"""Sphinx's own pages, and sources, are not read; links to them are checked."""


class Page(HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the links and the ids of a tag."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.add(value)


def broken(root: Path) -> list[str]:
    """Return the links of the pages under ``root`` to files or anchors that are not there."""
    pages = {path.resolve(): Page(path) for path in root.rglob("*.html")}
    found = []
    for path, page in pages.items():
        if path.relative_to(root.resolve()).parts[0] in GENERATED:
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path
            )
            anchors = pages[target].anchors if target in pages else {parts.fragment}
            if not target.exists() or unquote(parts.fragment) not in anchors:
                found.append(f"{path.relative_to(root.resolve())}: {link}")
    return sorted(found)


if __name__ == "__main__":
    wrong = broken(Path(sys.argv[1]))
    print("\n".join(wrong) or "all links between pages have their targets")
    sys.exit(bool(wrong))
