"""Read a page as a browser would, and complain about what it would forgive."""

from html.parser import HTMLParser

#: Elements that have no end tag.
VOID = {"meta", "br", "hr", "img", "input", "link"} | {
    *("area", "base", "col", "embed", "source", "track", "wbr"),
}
#: All elements that a report is made of, by what they are for.
FRAME = {"html", "head", "meta", "title", "style", "script", "body"}
SECTIONS = {"header", "main", "section", "footer", "div", "details", "summary"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5"}
TEXT = {"p", "a", "b", "span", "pre", "code", "button"}
LISTS = {"ul", "li", "dl", "dt", "dd"}
TABLES = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
PICTURES = {"figure", "figcaption", "svg", "g", "path", "circle", "rect", "text", "desc"}
TAGS = FRAME | SECTIONS | HEADINGS | TEXT | LISTS | TABLES | PICTURES


class Page(HTMLParser):
    """The elements of a page, its words, scripts and styles."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        #: Pairs of a tag and its attributes.
        self.elements = []
        #: Tags that have begun and not ended.
        self.open = []
        self.words = []
        self.scripts = []
        self.styles = []
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
        if inside == "script":
            self.scripts.append(data)
        elif inside == "style":
            self.styles.append(data)
        else:
            self.words.append(data)

    def all(self, tag=None, kind=None):
        """Return the attributes of elements of a tag, or of a class, or of all."""
        found = []
        for name, attributes in self.elements:
            classes = (attributes.get("class") or "").split()
            if tag in (None, name) and (kind is None or kind in classes):
                found.append(attributes)
        return found

    @property
    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())
