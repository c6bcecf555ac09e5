"""Read a page as a browser would, and complain about what it would forgive."""

from html.parser import HTMLParser

VOID = {
    "meta",
    "br",
    "hr",
    "img",
    "input",
    "link",
    "area",
    "base",
    "col",
    "embed",
    "source",
    "track",
    "wbr",
}
#: All that a report is made of: anything else came in with the data.
TAGS = {
    "html", "head", "meta", "title", "style", "body", "a", "header", "div", "h1", "h2", "h3", "h4",
    "h5", "p", "button", "main", "section", "svg", "g", "path", "circle", "rect", "text", "desc",
    "figure", "figcaption", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li",
    "dl", "dt", "dd", "pre", "code", "details", "summary", "span", "b", "footer", "script",
}  # fmt: skip


class Page(HTMLParser):
    """The elements of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.words = [], [], []
        self.scripts, self.styles = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), (tag, names)
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open[-1] == tag, tag
        self.open.pop()

    def handle_data(self, data):
        inside = self.open[-1] if self.open else ""
        {"script": self.scripts, "style": self.styles}.get(inside, self.words).append(data)

    def all(self, tag=None, kind=None):
        return [
            a for t, a in self.elements
            if (tag is None or t == tag) and (kind is None or kind in (a.get("class") or "").split())
        ]  # fmt: skip

    @property
    def ids(self):
        return [a["id"] for _, a in self.elements if "id" in a]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())
