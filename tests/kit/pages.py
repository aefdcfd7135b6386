"""HTML pages as tests read them."""

import re
from html import unescape
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "hr", "input", "path", "rect", "line", "circle"}


class Page(HTMLParser):
    """Elements and text of a page, checked for balance, ids of their own, and labels of something."""

    def __init__(self, html):
        super().__init__()
        self.open, self.elements, self.text = [], [], ""
        self.feed(html)
        self.close()
        assert self.open == []
        ids = [attrs["id"] for _, attrs in self.elements if "id" in attrs]
        assert len(ids) == len(set(ids))
        assert {attrs["for"] for attrs in self.all("label") if "for" in attrs} <= set(ids)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID or (self.open and self.open[-1] == tag):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    @property
    def tags(self):
        """Names of all tags."""
        return {tag for tag, _ in self.elements}

    @property
    def addresses(self):
        """Places that the page loads or leads to."""
        names = ("src", "href", "data", "action")
        return [attrs[name] for _, attrs in self.elements for name in names if name in attrs]

    def words(self):
        """The text, with plain spaces."""
        return " ".join(self.text.split())

    def all(self, tag):
        """The attributes of each tag of a kind."""
        return [attrs for found, attrs in self.elements if found == tag]


def form_token(client, path):
    """The token that a form of a page sends along."""
    fields = Page(client.get(path).text).all("input")
    return next(field["value"] for field in fields if field.get("name") == "_csrf_token")


def words(response):
    """The text of a page, tags becoming spaces."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", response.text)).split())
