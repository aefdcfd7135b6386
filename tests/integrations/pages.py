"""Programs, exported variables and settings on the pages about integrations."""

from tests.docs.documentation import DOCS, blocks_of

PAGES = sorted((DOCS / "integrations").glob("*.md"))
LARGER = {"other-clients"}
"""Pages about clients that the tests do not install."""


def blocks():
    """All of them, page by page."""
    for path in PAGES:
        yield from blocks_of(path)


def programs():
    """Return the programs of clients that are there when the tests run."""
    return [
        block
        for block in blocks()
        if block.title.endswith((".py", ".cjs", ".mjs")) and block.page.stem not in LARGER
    ]


def exports(page):
    """Variables that a page exports for the application; not those for evenkeel and LiteLLM's proxy."""
    lines = [
        line
        for block in blocks()
        if block.page.stem == page and block.language == "sh"
        for line in block.text.splitlines()
    ]
    pairs = (line.removeprefix("export ").split("=", 1) for line in lines if line.startswith("export "))
    return {
        name: value.partition(" ")[0]
        for name, value in pairs
        if not name.startswith(("EVENKEEL_", "LITELLM_"))
    }


def settings_text(page):
    """The page's `evenkeel.yaml`, if it has one."""
    return next(
        (block.text for block in blocks() if block.page.stem == page and block.title == "evenkeel.yaml"), None
    )
