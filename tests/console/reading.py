"""Pages as tests read them."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """The tags and the text of a page, checked for balance, ids of their own, and labels of something."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(html)
        assert self.open == []
        ids = [attrs["id"] for _, attrs in self.tags if "id" in attrs]
        assert len(ids) == len(set(ids))
        assert {attrs["for"] for attrs in self.all("label") if "for" in attrs} <= set(ids)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def words(self):
        """The text, with plain spaces."""
        return " ".join("".join(self.text).split())

    def all(self, tag):
        """The attributes of each tag of a kind."""
        return [attrs for found, attrs in self.tags if found == tag]


def words(response):
    """The text of a page, tags becoming spaces."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", response.text)).split())
