"""A page as a parser of HTML sees it."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags, attributes and text of a page as a parser of HTML sees them."""

    def __init__(self, html: str) -> None:
        """Parse a page."""
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.words: list[str] = []
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice on {tag}: {names}"
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag in self.raw:
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.raw:
            self.raw[self._inside][-1] += data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)
