"""Elements that a browser finds in a page that a command wrote."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "path", "rect", "line", "circle"}


class Page(HTMLParser):
    """Tags, addresses and text; every tag is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.addresses, self.text = [], [], [], ""
        self.feed(text)
        self.close()

    @property
    def tags(self):
        """Names of all tags."""
        return {tag for tag, _ in self.elements}

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.addresses += [value for name, value in attrs if name in {"src", "href", "data", "action"}]

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID or (self.open and self.open[-1] == tag):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
